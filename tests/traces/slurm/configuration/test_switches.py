"""Tests of traces/slurm/configuration: switches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared import shared_file
from tests.traces.slurm.configuration.slurm_configurations import TOPOLOGY_CONF, kinds_of, text_file, written
from traces.cluster.description import Switch
from traces.cluster.notes import ConfigurationError, Notes
from traces.slurm.configuration.folder import read_slurm_cluster
from traces.slurm.configuration.switches import NetworkTopology, read_topology_conf, read_topology_yaml

# topology.conf is the tree of switches; nodes that the cluster lacks are left out with a remark.

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


# topology.yaml has several topologies, of which one is the cluster's.

TREE = """\
---
- topology: blocks
  block:  # of another partition
    block_sizes: [4, 16]
    blocks:
      - block: b1
        nodes: n[01-02]
- topology: "switches"
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: s[1-2]
      - {switch: s1, nodes: "n[01-02]"}
      - switch: s2
        nodes: g[1-2],f1,lost
"""


def test_a_tree_in_yaml() -> None:
    notes = Notes()
    topology = read_topology_yaml(text_file("topology.yaml", TREE), NODES, notes)
    switches = (Switch("top", (), ("s1", "s2")), Switch("s1", ("n01", "n02")), Switch("s2", ("g1", "g2", "f1")))
    assert topology == NetworkTopology("tree", switches)
    assert kinds_of(notes.remarks, "assumed") == {"nodes": "lost are no nodes of the cluster and are left out"}
    assert [(remark.key, remark.line) for remark in notes.remarks if remark.kind == "no effect"] == [("block", 4)]


@pytest.mark.parametrize("kind", ["block", "ring", "torus3d"])
def test_a_topology_that_is_no_tree_is_named_with_its_line(kind: str) -> None:
    notes = Notes()
    text = text_file(
        "topology.yaml", f"- topology: t\n  {kind}:\n    {kind}s:\n      - {kind}: b1\n        nodes: n01\n"
    )
    assert read_topology_yaml(text, NODES, notes) == NetworkTopology(kind)
    (remark,) = [remark for remark in notes.remarks if remark.kind == "not modelled"]
    assert (remark.line, remark.key) == (3, kind) and "jobs would be placed" in remark.effect


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", "topology.yaml:2: expected valid YAML"),
        ("tree: 1\n", "topology.yaml:1: expected topologies such as"),
        ("- tree: 1\n", "topology.yaml:1: expected a mapping with the key topology"),
        ("- topology: t\n  tree:\n    switches:\n      - nodes: n01\n", "topology.yaml:4: expected a mapping with the key switch"),
        ("- topology: t\n  tree:\n    switches:\n      - {switch: a, children: b}\n", "expected switches of this file, but b is"),
    ],
)  # fmt: skip
def test_a_yaml_that_is_none(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_topology_yaml(text_file("topology.yaml", text), NODES, Notes())


def test_a_topology_in_yaml_counts_alone(tmp_path: Path) -> None:
    tree = TREE.replace("n[01-02]", "n[01-04]").replace(",lost", "")
    described = read_slurm_cluster(written(tmp_path, {"topology.yaml": tree}), "")
    assert [switch.name for switch in described.description.switches] == ["top", "s1", "s2"]
    assert described.description.scheduler.values["topologyplugin"] == "topology/tree"
    assert [str(remark) for remark in described.remarks if remark.file == "topology.conf"] == [
        "topology.conf: file: the file was not read, since Slurm takes topology.yaml alone"
    ]


def test_the_tree_of_the_case() -> None:
    folder = shared_file("cases", "logs-and-configurations", "topology-yaml")
    described = read_slurm_cluster([path for path in folder.iterdir() if path.suffix != ".md"], "")
    assert [(x.name, len(x.nodes), x.switches) for x in described.description.switches] == [
        ("sw_root", 0, ("s1", "s2")),
        ("s1", 16, ()),
        ("s2", 16, ()),
    ]
