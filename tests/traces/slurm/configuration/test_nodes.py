"""Nodes as Slurm counts their cores, CPUs and memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.traces.slurm.configuration.slurm_configurations import kinds_of, text_file
from traces.cluster.nodes import Absence, Node
from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.gres import GresLines
from traces.slurm.configuration.nodes import local_second, nodes_of_parts
from traces.slurm.configuration.slurm_conf import read_slurm_conf


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
