"""Tests of traces/slurm/configuration: nodes, partitions, settings, shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.traces.slurm.configuration.slurm_configurations import RESERVATIONS, SLURM_CONF, kinds_of, text_file
from traces.cluster.description import Absence, Node, Partition, Setting
from traces.cluster.notes import ConfigurationError, Entry, Notes
from traces.slurm.configuration import shown
from traces.slurm.configuration.lines import conf_lines
from traces.slurm.configuration.nodes import GresLines, local_second, nodes_of_parts
from traces.slurm.configuration.partitions import partitions_of_parts
from traces.slurm.configuration.parts import Attributes, SlurmParts, slurm_key
from traces.slurm.configuration.settings import assumed_settings, merged_settings, scheduler_values
from traces.slurm.configuration.slurm_conf import read_slurm_conf

# nodes: Nodes as Slurm counts their cores, CPUs and memory.


def nodes_of(text: str, notes: Notes | None = None) -> tuple[Node, ...]:
    notes = notes or Notes()
    parts = read_slurm_conf(text_file("slurm.conf", text), lambda path: None, notes)
    return nodes_of_parts(parts, GresLines(), "Europe/Berlin", notes)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("CPUs=36 Sockets=2 CoresPerSocket=18 ThreadsPerCore=2", {"cores": 36, "cpus": 36, "threads_per_core": 2, "sockets": 2}),
        ("CPUs=72 Sockets=2 CoresPerSocket=18 ThreadsPerCore=2", {"cores": 36, "cpus": 72, "threads_per_core": 2, "sockets": 2}),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=4", {"cores": 16, "sockets": 4}),
        ("CPUs=24 ThreadsPerCore=2", {"cores": 12, "cpus": 24, "threads_per_core": 2}),
        ("CPUs=16 CoreSpecCount=2", {"cores": 14}),
        ("Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=1", {"cores": 15, "cpus": 30, "threads_per_core": 2, "sockets": 2}),
        ("CPUs=4 Gres=gpu:a:2,mps:200 TmpDisk=500", {"cores": 4, "gpus": {"a": 2}, "resources": {"mps": 200, "tmpdisk": 500}}),
        ("CPUs=4 MemSpecLimit=100", {"cores": 4, "memory_mib": 900}),
        ("CPUs=4 State=DRAIN", {"cores": 4, "absences": (Absence(0, None, "drain"),)}),
    ],
)  # fmt: skip
def test_processors_and_resources(line: str, fields: dict[str, Any]) -> None:
    expected = Node(**{"name": "n1", "memory_mib": 1000, "cores": 1} | fields)
    assert nodes_of(f"NodeName=n[1-2] RealMemory=1000 {line}\n") == (expected, replace(expected, name="n2"))


def test_what_is_not_said_is_assumed() -> None:
    notes = Notes()
    nodes = nodes_of(
        "NodeName=n1\nNodeName=n2 CPUs=5 Sockets=2 CoresPerSocket=4 RealMemory=1\nNodeName=f[1-9] State=FUTURE\n", notes
    )
    assert [(node.cpus, node.memory_mib) for node in nodes] == [(1, 0), (8, 1)]
    assert kinds_of(notes.remarks, "assumed")["CPUs"] == "8 CPUs, from sockets, cores and threads, where 5 do not fit"
    assert kinds_of(notes.remarks, "not modelled") == {"State": "9 nodes would come later; they are left out"}


def test_down_nodes() -> None:
    text = 'NodeName=n[1-2] CPUs=1\nDownNodes=n2 State=DOWN Reason="disk [root@2024-03-01T08:00:00]"\n'
    assert nodes_of(text)[1].absences == (Absence(1709276400, None, "down"),)
    assert local_second(Entry("f", 1, "k", "2024-03-01T08:00:00"), "UTC") == 1709280000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NodeName=n1 CPUs=four\n", r"slurm.conf:1: expected a whole number from 0 as CPUs, found 'four'"),
        ("NodeName=n1 CPUs=1 RealMemory=x\n", r"slurm.conf:1: expected a size such as 64000"),
        (
            "NodeName=n1 CPUs=2 CoreSpecCount=2\n",
            r"slurm.conf:1: expected fewer cores than the node has as CoreSpecCount",
        ),
        ("NodeName=n1\nDownNodes=n3\n", r"slurm.conf:2: expected nodes of NodeName lines, but n3 is none"),
    ],
)
def test_bad_nodes(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        nodes_of(text)
    with pytest.raises(ConfigurationError, match="a time such as 2024-03-01T08:00:00"):
        local_second(Entry("f", 1, "k", "noon"), "UTC")


# partitions: Partitions: old and new spellings, what holds from the cluster, and faults.

NODES = (Node("n1", 1, features=("ib",)), Node("n2", 1), Node("g1", 1), Node("z1", 1))


def partitions_of(text: str, notes: Notes | None = None) -> tuple[Partition, ...]:
    notes = notes or Notes()
    parts = read_slurm_conf(text_file("slurm.conf", f"NodeName=n[1-2],g1,f1\n{text}\n"), lambda path: None, notes)
    return partitions_of_parts(parts, NODES, notes)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("Nodes=ALL Priority=7", {"nodes": (), "tier": 7, "factor": 7}),
        ("Priority=7 PriorityTier=2", {"tier": 2, "factor": 7}),
        ("MaxTime=UNLIMITED DefaultTime=1:00:00", {"default_time_s": 3600}),
        ("Shared=FORCE:2 Default=YES", {"oversubscribe": "force", "is_default": True, "extra": {"oversubscribe_jobs": 2}}),
        ("OverSubscribe=EXCLUSIVE State=DOWN", {"oversubscribe": "exclusive", "state": "down"}),
        ("AllowAccounts=a,b DenyQos=c QOS=part", {"allow_accounts": ("a", "b"), "deny_qos": ("c",), "qos": "part"}),
        ("MinNodes=2 MaxNodes=4 MaxCPUsPerNode=8", {"min_nodes": 2, "max_nodes": 4, "max_cpus_per_node": 8}),
        ("DefMemPerCPU=5 DefMemPerGPU=9", {"default_memory_mib": 5, "extra": {"default_memory_mib_per_gpu": 9}}),
        ("JobDefaults=DefCpuPerGPU=3,DefMemPerGPU=9", {"default_cpus_per_gpu": 3, "default_memory_mib": 9, "default_memory_per": "gpu"}),
        ("MaxMemPerNode=8G GraceTime=30", {"max_memory_mib": 8192, "max_memory_per": "node", "grace_s": 30}),
        ("PreemptMode=REQUEUE", {"preempt_mode": "requeue"}),
        ("TRESBillingWeights=CPU=2", {"billing": {"cpu": 2.0}}),
    ],
)  # fmt: skip
def test_keys_of_partitions(line: str, fields: dict[str, Any]) -> None:
    nodes = "" if "Nodes=ALL" in line else "Nodes=n1"
    (partition,) = partitions_of(f"PartitionName=p {nodes} {line}")
    assert partition == Partition(**{"name": "p", "nodes": ("n1",)} | fields)


def test_what_the_cluster_says_holds() -> None:
    text = "DefMemPerNode=100\nMaxMemPerCPU=0\nPreemptMode=CANCEL\nNodeSet=s Feature=ib Nodes=g1\n"
    notes = Notes()
    first, second = partitions_of(
        f"{text}PartitionName=a Nodes=s,n2 PreemptMode=CANCEL\nPartitionName=b Nodes=f1\nPartitionName=c Nodes=n1,f1 DefMemPerNode=7",
        notes,
    )
    assert (first.nodes, first.default_memory_mib, first.default_memory_per, first.preempt_mode) == (
        ("n1", "g1", "n2"),
        100,
        "node",
        "",
    )
    assert (second.name, second.nodes, second.default_memory_mib, second.max_memory_mib) == ("c", ("n1",), 7, None)
    assert kinds_of(notes.remarks, "not modelled") == {"PartitionName": "the partition has no nodes, and is left out"}
    assert kinds_of(notes.remarks, "assumed") == {"Nodes": "f1 would come later and are left out"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Nodes=n[1-3]",
            "nodes or sets of nodes that are defined, but n3 is none, as Nodes, found 'n.1-3.'. Add its NodeName line",
        ),
        ("Nodes=n1 State=OPEN", "UP, DOWN, DRAIN or INACTIVE as State"),
        ("Nodes=n1 Shared=MAYBE", "NO, EXCLUSIVE, YES or FORCE"),
        ("Nodes=n1 MaxTime=long", "a time such as 90"),
        ("Nodes=n1 Default=perhaps", "YES or NO as Default"),
        ("Nodes=n1 MaxNodes=x", "a whole number from 0 as MaxNodes"),
        ("Nodes=n1 JobDefaults=Colour=1", "DefCpuPerGPU=4 or DefMemPerGPU=8000"),
    ],
)
def test_bad_partitions(line: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"slurm.conf:2: expected {expected}"):
        partitions_of(f"PartitionName=p {line}")


# settings: Settings by name, the words of lists, and where slurm.conf and the running scheduler differ.


def settings_of(text: str) -> Attributes:
    entries = [entry for line in conf_lines(text_file("slurm.conf", text)) for entry in line.entries]
    return {slurm_key(entry): entry for entry in entries}


def values_of(text: str, notes: Notes) -> tuple[dict[str, Setting], dict[str, int]]:
    return scheduler_values(settings_of(text), notes)


def test_values_and_remarks() -> None:
    notes = Notes()
    values, licences = values_of(SLURM_CONF.partition("Include")[0], notes)
    assert licences == {"matlab": 10, "ansys": 1}
    assert {key: values[key] for key in ("bf_continue", "bf_window", "bf_max_job_test", "default_queue_depth")} == {
        "bf_continue": True, "bf_window": 2880, "bf_max_job_test": 50, "default_queue_depth": 50,
    }  # fmt: skip
    assert (values["prioritymaxage"], values["priorityfavorsmall"], values["defmempercpu"]) == (604800, False, 2000)
    assert kinds_of(notes.remarks, "unknown").keys() == {"ColourOfJobs"}
    assert kinds_of(notes.remarks, "not modelled") == {
        "Prolog": "a job would start later by the time of this program",
        "SchedulerParameters bf_licenses": "plans would count licences",
        "Licenses": "jobs would wait for licences; a log does not say which jobs hold them",
    }


@pytest.mark.parametrize(
    ("line", "kind", "key"),
    [
        ("SchedulerParameters=bf_colour=3", "unknown", "SchedulerParameters bf_colour"),
        ("SchedulerParameters==bf_interval=3", "assumed", "SchedulerParameters"),
        ("SelectTypeParameters=CR_Core,CR_Colour", "unknown", "SelectTypeParameters"),
        ("PreemptMode=SUSPEND,WITHIN", "not modelled", "PreemptMode"),
        ("PreemptMode=SUSPEND,GANG", "modelled", "PreemptMode"),
        ("PreemptMode=GANG", "no effect", "PreemptMode"),
        ("TopologyParam=Dragonfly", "not modelled", "TopologyParam"),
        ("MaxBatchRequeue=9", "not modelled", "MaxBatchRequeue"),
        ("MaxBatchRequeue=5", "no effect", "MaxBatchRequeue"),
        ("CertmgrParameters=single_use_tokens", "no effect", "CertmgrParameters"),
        ("TLSParameters=load_system_certificates", "no effect", "TLSParameters"),
        ("SuspendTime=-1", "no effect", "SuspendTime"),
        ("SuspendTime=300", "not modelled", "SuspendTime"),
        ("FastSchedule=0", "not modelled", "FastSchedule"),
    ],
)
def test_each_word_is_named(line: str, kind: str, key: str) -> None:
    notes = Notes()
    values_of(line, notes)
    assert key in kinds_of(notes.remarks, kind)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("PriorityWeightAge=much", "a whole number as PriorityWeightAge"),
        ("PriorityMaxAge=old", "a time such as 90"),
        ("SchedulerParameters=bf_window", "a number behind = as SchedulerParameters bf_window"),
        ("SchedulerParameters=bf_window=wide", "a number such as 4 or 2K as SchedulerParameters bf_window"),
        ("PriorityFavorSmall=perhaps", "YES or NO"),
    ],
)
def test_bad_values(line: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=f"slurm.conf:2: expected {expected}"):
        values_of(f"KillWait=30\n{line}", Notes())


def test_what_runs_counts() -> None:
    notes = Notes()
    configured = settings_of("KillWait=30\nPriorityMaxAge=7-0\nSelectTypeParameters=CR_Core\nMpiDefault=none\n")
    running = {
        "killwait": Entry("config.txt", 3, "KillWait", "60"),
        "prioritymaxage": Entry("config.txt", 4, "P", "7-00:00:00"),
    }
    merged = merged_settings(configured, running | {"mpidefault": Entry("config.txt", 5, "MpiDefault", "none")}, notes)
    assert (merged["killwait"].value, merged["prioritymaxage"].file, merged["mpidefault"].file) == (
        "60",
        "slurm.conf",
        "slurm.conf",
    )
    assert kinds_of(notes.remarks, "assumed") == {"KillWait": "config.txt:3 has 60, which is what runs"}
    assumed_settings({}, notes, "slurm.conf")
    assert kinds_of(notes.remarks, "assumed").keys() == {"KillWait", "schedulertype", "selecttype", "prioritytype"}


# shown: What scontrol shows: settings, partitions, nodes and reservations.

CONFIG = """\
Configuration data as of 2024-03-01T08:00:00
KillWait                = 30 sec
SlurmctldHost[0]        = head(10.0.0.1)
SLURM_VERSION           = 23.02.7

Cgroup Support Configuration:
ConstrainCores          = yes
"""
SHOWN_NODES = """\
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
    shown.add_shown_nodes(parts, text_file("nodes.txt", SHOWN_NODES), notes)
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
    assert kinds_of(notes.remarks, "not modelled").keys() == {"Accounts", "Licenses", "Flags"}
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
        (
            "EndTime=2024-03-05T18:00:00",
            "EndTime=2024-03-05T05:00:00",
            r"r:1: expected an end after the begin as EndTime",
        ),
        ("ReservationName=maint", "", r"r:1: expected ReservationName before all other keys as StartTime"),
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
