"""The configuration of the bundled clusters, as their administrators would collect it."""

from __future__ import annotations

from collections.abc import Iterator

from traces.synthetic.sites import SITE_GROUPS, SITES, USERS

_QMGR = """\
create queue express
set queue express queue_type = Execution
set queue express Priority = 150
set queue express resources_max.walltime = 01:00:00
set queue express max_run = [u:PBS_GENERIC=4]
set queue express enabled = True
set queue express started = True
create queue day
set queue day queue_type = Execution
set queue day Priority = 60
set queue day resources_max.walltime = 12:00:00
set queue day enabled = True
set queue day started = True
create queue long
set queue long queue_type = Execution
set queue long Priority = 40
set queue long resources_max.walltime = 72:00:00
set queue long max_run_res.ncpus = [o:PBS_ALL=576]
set queue long enabled = True
set queue long started = True
set server scheduling = True
set server default_queue = day
set server max_run_res.ncpus = [u:PBS_GENERIC=384]
set server backfill_depth = 10
set server resources_default.walltime = 01:00:00
set server job_sort_formula = "queue_priority + eligible_time / 600"
"""
_SCHED = """\
create sched default
set sched default scheduling = True
set sched default preempt_order = S
set sched default preempt_queue_prio = 150
set sched default preempt_prio = "express_queue, normal_jobs"
"""
_SCHED_CONFIG = """\
round_robin: False all
by_queue: False all
strict_ordering: True all
fair_share: False all
resources: "ncpus, mem, arch, host, vnode"
"""
_RESOURCE_GROUP = "".join(f"{group} {number} root 10\n" for number, group in enumerate(SITE_GROUPS, 60))
_PBS_NODE = """\
{name}
     Mom = {name}
     pbs_version = 23.06.06
     state = free
     resources_available.host = {name}
     resources_available.mem = {memory}gb
     resources_available.ncpus = 24
     sharing = default_shared
"""
_SLURM_CONF = """\
ClusterName=larch
SlurmctldHost=larch-head
SchedulerType=sched/backfill
SchedulerParameters=bf_continue,bf_window=2880,bf_resolution=600,bf_interval=120,bf_max_job_test=100,default_queue_depth=50
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
PriorityDecayHalfLife=7-0
PriorityCalcPeriod=00:05:00
PriorityMaxAge=3-0
PriorityWeightAge=4000
PriorityWeightFairshare=5000
PriorityWeightJobSize=500
PriorityWeightPartition=3000
PriorityWeightQOS=4000
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
GresTypes=gpu
DefMemPerCPU=3500
NodeName=c[01-36] CPUs=32 Sockets=2 CoresPerSocket=16 RealMemory=128000 Weight=10
NodeName=m[01-02] CPUs=32 Sockets=2 CoresPerSocket=16 RealMemory=1024000 Weight=30
NodeName=g[01-02] CPUs=32 Sockets=2 CoresPerSocket=16 RealMemory=256000 Gres=gpu:a100:4 Weight=50
PartitionName=batch Nodes=c[01-36],m[01-02] Default=YES MaxTime=2-0 State=UP PriorityJobFactor=10
PartitionName=short Nodes=c[01-36],m[01-02],g[01-02] MaxTime=01:00:00 State=UP PriorityJobFactor=100
PartitionName=highmem Nodes=m[01-02] MaxTime=2-0 State=UP PriorityJobFactor=30
PartitionName=gpu Nodes=g[01-02] MaxTime=2-0 State=UP PriorityJobFactor=30
"""
_GRES_CONF = "AutoDetect=off\nNodeName=g[01-02] Name=gpu Type=a100 File=/dev/nvidia[0-3]\n"
_QOS = """\
Name|Priority|GraceTime|Preempt|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|MinTRES
normal|0|00:00:00||cluster|||1.000000||||cpu=640,gres/gpu=6||
urgent|100|00:00:00||cluster|||2.000000||||cpu=128|4|
"""
SHARES = (30, 20, 20, 10, 10, 10)
"""Of the accounts."""


def site_files(name: str) -> dict[str, str]:
    """The text of each configuration file of a site by its name."""
    if SITES[name].scheduler == "pbs":
        nodes = "\n".join(_PBS_NODE.format(name=node, memory=memory) for node, memory in _birch_nodes())
        return {
            "qmgr.txt": _QMGR,
            "qmgr_sched.txt": _SCHED,
            "sched_config": _SCHED_CONFIG,
            "resource_group": _RESOURCE_GROUP,
            "pbsnodes.txt": nodes,
        }
    return {"slurm.conf": _SLURM_CONF, "gres.conf": _GRES_CONF, "sacctmgr.dump": _accounts(), "qos.txt": _QOS}


def _birch_nodes() -> Iterator[tuple[str, int]]:
    yield from ((f"b{number:03}", 96) for number in range(1, 37))
    yield from ((f"f{number:03}", 768) for number in range(1, 5))


def _accounts() -> str:
    lines = ["Cluster - 'larch':Fairshare=1:QOS='normal'", "Parent - 'root'"]
    for group, shares in zip(SITE_GROUPS, SHARES, strict=True):
        lines.append(f"Account - '{group}':Description='{group}':Organization='larch':Fairshare={shares}")
    for place, group in enumerate(SITE_GROUPS):
        lines.append(f"Parent - '{group}'")
        for user in range(place, USERS, len(SITE_GROUPS)):
            lines.append(
                f"User - 'u{user + 1:02}':DefaultAccount='{group}':Fairshare=1:QOS='normal,urgent':DefaultQOS='normal'"
            )
    return "\n".join(lines) + "\n"
