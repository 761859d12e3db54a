"""A small configuration of Slurm to change and break in tests, and the recorded ones."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from tests.shared import shared_file
from traces.cluster.notes import Remark, TextFile

SLURM_CONF = """\
ClusterName=small   # its name
SlurmctldHost=head
SchedulerType=sched/backfill
SchedulerParameters=bf_continue,bf_window=2880,max_job_bf=50,bf_licenses,default_queue_depth=50 # 100 was too slow
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
PriorityMaxAge=7-0
PriorityWeightAge=1000
PriorityFavorSmall=NO
AccountingStorageEnforce=associations,limits,qos
DefMemPerCPU=2000
Licenses=matlab:10,ansys
Prolog=/etc/slurm/prolog.sh
ColourOfJobs=blue
Include nodes.conf
PartitionName=DEFAULT MaxTime=1-0 State=UP
PartitionName=batch Nodes=thin default=yes \\
    AllowGroups=ALL \\
    PriorityTier=2 TRESBillingWeights="CPU=1.0,Mem=0.5G,GRES/gpu=8"
PartitionName=gpu Nodes=g[1-2],f1 MaxTime=04:00:00 Shared=EXCLUSIVE Priority=5 DefMemPerCPU=4000
PartitionName=all Nodes=ALL OverSubscribe=YES:4 AllowQos=high QOS=part LLN=YES Hidden=YES
"""
NODES_CONF = """\
NodeName=DEFAULT CPUs=16 Sockets=2 CoresPerSocket=8 RealMemory=64000
NodeName=n[01-04] Feature=ib,thin Weight=10
NodeName=g[1-2] Gres=gpu:2 CPUs=32 CoresPerSocket=16 Colour=red
NodeName=f1 Procs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 Features=fat State=DRAIN MemSpecLimit=4000
NodeSet=thin Feature=thin
DownNodes=n04 State=DOWN Reason="bad disk [root@2024-03-01T08:00:00]"
"""
GRES_CONF = "AutoDetect=off\nNodeName=g[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-1] Cores=0-15\n"
TOPOLOGY_CONF = (
    "SwitchName=leaf1 Nodes=n[01-06]\nSwitchName=leaf2 Nodes=g[1-2],f1\nSwitchName=top Switches=leaf[1-2] LinkSpeed=9\n"
)
DUMP = """\
# To edit this file start with a cluster line
Cluster - 'small':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='physics':Organization='uni':Fairshare=60:GrpTRES=cpu=32,mem=100G:MaxWallDurationPerJob=1440
Parent - 'physics'
Account - 'lab':Description='lab':Fairshare=parent:MaxJobs=5
Parent - 'lab'
User - 'ada':DefaultAccount='lab':Fairshare=3:QOS='high,normal'
User - 'bob':DefaultAccount='lab':Fairshare=1:Partition='gpu':GrpTRESRunMins=cpu=100
"""
QOS = """\
Name|Priority|GraceTime|Preempt|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|MinTRES
normal|0|00:00:00||cluster|||1.000000||||||
high|100|00:00:10|normal|requeue|DenyOnLimit,NoDecay|0.1|2.000000|gres/gpu=3|node=2|1-00:00:00|cpu=64,gres/gpu:a100=1|4|cpu=2
"""
RESERVATIONS = """\
ReservationName=maint StartTime=2024-03-05T06:00:00 EndTime=2024-03-05T18:00:00 Duration=12:00:00
   Nodes=n[01-04],g[1-2],f1 NodeCnt=7 CoreCnt=128 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES,ALL_NODES
   TRES=cpu=128
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

ReservationName=course StartTime=2024-03-04T09:00:00 EndTime=2024-03-04T12:00:00 Duration=03:00:00
   Nodes=g1 NodeCnt=1 CoreCnt=32 Features=(null) PartitionName=gpu Flags=WEEKLY
   TRES=cpu=32
   Users=ada,bob Groups=(null) Accounts=-guests Licenses=matlab:2 State=INACTIVE
"""
FILES = {
    "slurm.conf": SLURM_CONF, "nodes.conf": NODES_CONF, "gres.conf": GRES_CONF, "topology.conf": TOPOLOGY_CONF, "sacctmgr.dump": DUMP,
    "qos.txt": QOS, "reservations.txt": RESERVATIONS,
}  # fmt: skip


def text_file(name: str, text: str) -> TextFile:
    """A file of a configuration."""
    return TextFile(name, text)


def written(folder: Path, changes: dict[str, str | None] | None = None) -> list[Path]:
    """The files of the small configuration in a folder, with some of them changed, or left out with None."""
    paths = []
    for name, text in {**FILES, **(changes or {})}.items():
        if text is not None:
            path = folder / name
            path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
            paths.append(path)
    return paths


def kinds_of(remarks: tuple[Remark, ...] | list[Remark], kind: str) -> dict[str, str]:
    """Effect by key of the remarks of a kind."""
    return {remark.key: remark.effect for remark in remarks if remark.kind == kind}


def recorded_runs() -> Iterator[tuple[str, list[Path]]]:
    """Name and files of each recorded run of Slurm."""
    for folder in sorted(shared_file("golden", "slurm").iterdir()):
        yield folder.name, [path for path in (folder / "run1").iterdir() if "log" not in path.name]
