"""What scontrol shows of a node counts more than its line, and splits the group of the line."""

from __future__ import annotations

import pytest

from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.keys import SLURM_NODE_KEYS
from traces.slurm.configuration.parts import (
    NodeGroup,
    SlurmParts,
    hosts_place,
    named_hosts,
    note_line,
    note_unused,
    slurm_key,
)


def entry(key: str, value: str) -> Entry:
    return Entry("f", 1, key, value)


def test_shown_nodes_are_merged() -> None:
    parts = SlurmParts([NodeGroup(("n1", "n2"), {"cpus": entry("CPUs", "4")})], listed_nodes={"n1", "n2"})
    parts.merge_nodes([NodeGroup(("n2", "n3"), {"state": entry("State", "DOWN")})])
    assert [(group.names, sorted(group.attributes)) for group in parts.groups] == [
        (("n1",), ["cpus"]),
        (("n2",), ["cpus", "state"]),
        (("n3",), ["state"]),
    ]


def test_names_and_remarks() -> None:
    assert slurm_key(entry("Procs", "")) == "cpus" and hosts_place(("n2", "n1")) == "nodes.n[1-2]"
    assert named_hosts(entry("NodeName", "n[1,2]")) == ("n1", "n2")
    with pytest.raises(ConfigurationError, match="f:1: expected a list of names such as"):
        named_hosts(entry("NodeName", "n[2-1]"))
    notes = Notes()
    note_line(
        SLURM_NODE_KEYS, {"cpus": entry("CPUs", "4"), "blue": entry("Blue", "1")}, {"cpus": "cpus"}, "nodes.n1", notes
    )
    note_unused({1: entry("Weight", "4")}, set(), notes)
    assert [(remark.kind, remark.place) for remark in notes.remarks] == [
        ("modelled", "nodes.n1.cpus"),
        ("unknown", ""),
        ("no effect", ""),
    ]
