"""What scontrol shows: settings, partitions, nodes and reservations."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import RESERVATIONS, kinds_of, text_file
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration import shown
from traces.slurm.configuration.gres import GresLines
from traces.slurm.configuration.nodes import nodes_of_parts
from traces.slurm.configuration.partitions import partitions_of_parts
from traces.slurm.configuration.parts import SlurmParts

CONFIG = """\
Configuration data as of 2024-03-01T08:00:00
KillWait                = 30 sec
SlurmctldHost[0]        = head(10.0.0.1)
SLURM_VERSION           = 23.02.7

Cgroup Support Configuration:
ConstrainCores          = yes
"""
NODES = """\
NodeName=n1 Arch=x86_64 CoresPerSocket=8
   CPUAlloc=3 CPUEfctv=16 CPUTot=16 CPULoad=0.50
   AvailableFeatures=ib,thin
   ActiveFeatures=ib
   Gres=gpu:a100:2(S:0-1)
   NodeAddr=n1 NodeHostName=n1 Version=23.02.7
   OS=Linux 5.14 x=1
   RealMemory=64000 AllocMem=0 FreeMem=60000 Sockets=2 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=10 Owner=N/A MCS_label=N/A
   Partitions=batch
   BootTime=2024-02-01T00:00:00 SlurmdStartTime=2024-02-01T00:10:00
   CfgTRES=cpu=16,mem=64000M,billing=16
   Reason=bad disk = 1 [root@2024-03-01T08:00:00]

NodeName=n2 Arch=x86_64 CoresPerSocket=8 CPUTot=16 Gres=(null) RealMemory=64000 Sockets=2 State=IDLE ThreadsPerCore=1 Weight=1 Shade=dark
"""
PARTITIONS = """\
PartitionName=batch
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=n[1-2]
   PriorityJobFactor=1 PriorityTier=3 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=32 TotalNodes=2 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu=32,mem=128000M,node=2,billing=32
"""


def test_settings_and_version() -> None:
    settings, version = shown.read_shown_config(text_file("config.txt", CONFIG))
    assert version == "23.02.7" and "constraincores" not in settings
    assert (settings["killwait"].value, settings["killwait"].line) == ("30", 2) and "slurmctldhost" in settings


def test_nodes_and_partitions() -> None:
    parts, notes = SlurmParts(), Notes()
    shown.add_shown_nodes(parts, text_file("nodes.txt", NODES), notes)
    shown.add_shown_partitions(parts, text_file("partitions.txt", PARTITIONS), notes)
    first, second = nodes_of_parts(parts, GresLines(), "UTC", notes)
    assert (first.cpus, first.memory_mib, first.gpus, first.features, first.weight) == (
        16,
        64000,
        {"a100": 2},
        ("ib", "thin"),
        10,
    )
    assert [(absence.begin_s, absence.state) for absence in first.absences] == [(1709280000, "drain")]
    assert (second.gpus, second.absences, second.sockets) == ({}, (), 2)
    (partition,) = partitions_of_parts(parts, (first, second), notes)
    assert (partition.nodes, partition.is_default, partition.tier, partition.max_time_s) == (
        (),
        True,
        3,
        86400,
    )
    assert (partition.default_memory_mib, partition.max_nodes, partition.preempt_mode, partition.qos) == (
        None,
        None,
        "",
        "",
    )
    assert kinds_of(notes.remarks, "unknown").keys() == {"Shade"} and not kinds_of(notes.remarks, "not modelled")


def test_reservations() -> None:
    notes = Notes()
    nodes = ("n01", "n02", "n03", "n04", "g1", "g2", "f1")
    file = text_file("reservations.txt", RESERVATIONS)
    maint, course = shown.read_shown_reservations(file, nodes, "Europe/Berlin", notes)
    assert (maint.nodes, maint.begin_s, maint.flags, maint.users) == (
        (),
        1709614800,
        ("maint", "spec_nodes", "all_nodes"),
        ("root",),
    )
    assert (course.nodes, course.users, course.accounts, course.repeats) == (("g1",), ("ada", "bob"), (), "weekly")
    assert kinds_of(notes.remarks, "not modelled").keys() == {"Accounts", "Licenses"}
    none = text_file("reservations.txt", "No reservations in the system\n")
    assert shown.read_shown_reservations(none, nodes, "UTC", notes) == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Nodes=g1", "Nodes=g9", r"r:8: expected nodes of the cluster, but g9 is none,"),
        (
            "StartTime=2024-03-05T06:00:00",
            "StartTime=soon",
            r"r:1: expected a time such as 2024-03-01T08:00:00 as StartTime",
        ),
        ("EndTime=2024-03-05T18:00:00", "", r"r:1: expected a reservation with endtime"),
        (
            "   TRES=cpu=128",
            "   what is this",
            r"r:3: expected records that begin with ReservationName=, found 'what is this'",
        ),
    ],
)
def test_bad_reservations(old: str, new: str, message: str) -> None:
    file = text_file("r", RESERVATIONS.replace(old, new, 1))
    nodes = ("n01", "n02", "n03", "n04", "g1", "g2", "f1")
    with pytest.raises(ConfigurationError, match=message):
        shown.read_shown_reservations(file, nodes, "UTC", Notes())
