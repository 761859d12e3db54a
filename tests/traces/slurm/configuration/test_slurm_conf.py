"""slurm.conf with DEFAULT lines, sets of nodes and included files."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import FILES, SLURM_CONF, kinds_of, text_file
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.slurm_conf import read_slurm_conf


def test_defaults_hold_for_later_lines() -> None:
    notes = Notes()
    nodes = text_file("nodes.conf", FILES["nodes.conf"])
    parts = read_slurm_conf(text_file("slurm.conf", SLURM_CONF), {"nodes.conf": nodes}.get, notes)
    cpus = {group.names[0]: (group.attributes["cpus"].value, group.attributes["cpus"].line) for group in parts.groups}
    assert cpus == {"n01": ("16", 1), "g1": ("32", 3), "f1": ("64", 4)}
    assert parts.partitions["gpu"]["maxtime"].value == "04:00:00" and parts.partitions["all"]["maxtime"].value == "1-0"
    assert parts.settings["clustername"].value == "small" and list(parts.nodesets) == ["thin"] and len(parts.downs) == 1
    assert kinds_of(notes.remarks, "unknown").keys() == {"Colour"}
    assert kinds_of(notes.remarks, "not modelled") == {"LLN": "jobs would be put on the node that is least loaded"}


def test_a_default_that_nothing_takes_is_named() -> None:
    notes = Notes()
    text = "CPUs=2 NodeName=n1\nNodeName=DEFAULT Weight=4\nKillWait=30\nKillWait=60\nFrontendName=head\n"
    parts = read_slurm_conf(text_file("slurm.conf", text), lambda path: None, notes)
    assert parts.settings["killwait"].value == "60"
    assert kinds_of(notes.remarks, "no effect").keys() == {"NodeName", "Weight", "KillWait", "FrontendName"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "NodeName=n1\nNodeName=n[1-2]\n",
            r"slurm.conf:2: expected each node once, but n1 is in an earlier line too as NodeName",
        ),
        (
            "PartitionName=a\nPartitionName=a\n",
            r"slurm.conf:2: expected each partition once, but a is in an earlier line too",
        ),
        ("NodeName=n[1-\n", r"slurm.conf:1: expected a list of names such as n\[01-16\]"),
    ],
)
def test_bad_lines(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_slurm_conf(text_file("slurm.conf", text), lambda path: None, Notes())
