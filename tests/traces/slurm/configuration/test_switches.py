"""topology.conf is the tree of switches; nodes that the cluster lacks are left out with a remark."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import TOPOLOGY_CONF, kinds_of, text_file
from traces.cluster.nodes import Switch
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.switches import read_topology_conf

NODES = ("n01", "n02", "g1", "g2", "f1")


def test_a_tree() -> None:
    notes = Notes()
    switches = read_topology_conf(text_file("topology.conf", TOPOLOGY_CONF), NODES, lambda path: None, notes)
    assert switches == (
        Switch("leaf1", ("n01", "n02")),
        Switch("leaf2", ("g1", "g2", "f1")),
        Switch("top", (), ("leaf1", "leaf2")),
    )
    assert kinds_of(notes.remarks, "assumed") == {"Nodes": "n[03-06] are no nodes of the cluster and are left out"}
    blocks = text_file("topology.conf", "BlockName=b1 Nodes=n01\n")
    assert read_topology_conf(blocks, NODES, lambda path: None, notes) == ()
    assert "BlockName" in kinds_of(notes.remarks, "not modelled")


def test_a_switch_that_is_missing() -> None:
    with pytest.raises(ConfigurationError, match=r"topology.conf:1: expected switches of this file, but leaf is none"):
        read_topology_conf(
            text_file("topology.conf", "SwitchName=top Switches=leaf\n"), NODES, lambda path: None, Notes()
        )
