"""Partitions: old and new spellings, what holds from the cluster, and faults."""

from __future__ import annotations

from typing import Any

import pytest

from tests.traces.slurm.configuration.slurm_configurations import kinds_of, text_file
from traces.cluster.nodes import Node, Partition
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.partitions import partitions_of_parts
from traces.slurm.configuration.slurm_conf import read_slurm_conf

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
