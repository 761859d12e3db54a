"""Slurm's topology.yaml: the manual's example, the choice of a topology, and every fault with its message."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.topology.slurm_tree import read_topology

MANUAL = """\
---
- topology: topo1
  cluster_default: true
  tree:
    switches:
      - switch: sw_root
        children: s[1-2]
      - switch: s1
        nodes: node[01-02]
      - switch: s2
        nodes: node[03-04]
- topology: topo2
  cluster_default: false
  block:
    block_sizes:
      - 4
    blocks:
      - block: b1
        nodes: node[01-04]
- topology: topo3
  cluster_default: false
  flat: true
"""

HEAD = "- topology: t\n  tree:\n    switches:\n"


def write(folder: Path, text: str) -> Path:
    file = folder / "topology.yaml"
    file.write_text(text)
    return file


def test_the_default_topology_of_the_manuals_example(tmp_path: Path) -> None:
    tree = read_topology(write(tmp_path, MANUAL))
    assert tree.node_names == ("node01", "node02", "node03", "node04")
    assert tree.switch_names == (("s1", "s2"), ("sw_root",))
    assert tree.switch.tolist() == [[0, 0, 1, 1], [0] * 4]


def test_the_only_topology_needs_no_default(tmp_path: Path) -> None:
    tree = read_topology(write(tmp_path, f"{HEAD}    - {{switch: s, nodes: 'n[1-2]'}} # note\n"))
    assert tree.node_names == ("n1", "n2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "topology.yaml: the file is empty: expected switches such as - {switch: s0, nodes: 'n[0-9]'}. Write them"),
        (
            "- topology: t\n  tree: {switches: []}",
            "topology.yaml: the file has no switch: expected switches such as - {switch: s0, nodes: 'n[0-9]'}. Write them",
        ),
        ("a: [1\nb: 2", "topology.yaml:2: no valid YAML: expected ',' or ']', but got ':'. Correct it"),
        (
            "topology: t",
            "topology.yaml:1: no list of topologies: expected - topology: NAME, with tree: and switches: below it",
        ),
        (
            "- tree: {}",
            "topology.yaml:1: topology: is missing here, or is not a name. "
            "Expected - topology: NAME, with tree: and switches: below it",
        ),
        (
            MANUAL.replace("true", "false"),
            "topology.yaml: 3 topologies, topo1, topo2, topo3: expected one with cluster_default: true. Add it",
        ),
        (
            "- {topology: a, tree: {}}\n- {topology: b, cluster_default: True, flat: true}",
            "topology.yaml:2: topology b is flat: expected tree: with switches: below it. Write it as a tree",
        ),
        (
            "- topology: t\n  tree:\n    switches: s1",
            "topology.yaml:3: switches: is missing here, or is not a list. "
            "Expected - topology: NAME, with tree: and switches: below it",
        ),
        (
            f"{HEAD}    - nodes: n1\n",
            "topology.yaml:4: switch: is missing here, or is not a name. "
            "Expected - topology: NAME, with tree: and switches: below it",
        ),
        (
            f"{HEAD}    - switch: s\n      nodes: n1\n      nodes: n2\n",
            "topology.yaml:6: nodes: comes twice: expected it once. Join the two",
        ),
        (
            f"{HEAD}    - switch: s\n      nodes: n1\n      speed: 2\n",
            "topology.yaml:6: unknown key speed: expected switch, children or nodes. Take it out",
        ),
        (
            f"{HEAD}    - switch: s\n      nodes: [n1, n2]\n",
            "topology.yaml:5: nodes: is no text: expected a hostlist such as n[0-9]. Write it as text",
        ),
        (
            f"{HEAD}    - switch: s\n      nodes: n[2-1]\n",
            "topology.yaml:4: nodes of s: reversed range '2-1' in 'n[2-1]': expected the lower number first",
        ),
        (
            f"{HEAD}    - switch: s\n",
            "topology.yaml:4: switch s has nothing below it: expected children or nodes. Add one, or delete the switch",
        ),
        (
            f"{HEAD}    - {{switch: a, nodes: n1}}\n    - {{switch: b, nodes: n2}}\n",
            "topology.yaml:5: 2 switches have none above them, a,b: expected one top. "
            "Give them a common parent, such as - {switch: top, children: 'a,b'}",
        ),
    ],
)
def test_a_fault_is_reported_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        read_topology(write(tmp_path, text))
    assert str(error.value).replace(f"{tmp_path}/", "") == message


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        read_topology(write(tmp_path, "[" * 5000))


@pytest.mark.parametrize("hops", ["[1, 9]", "1,9", "\n    - 1\n    - 9"])
def test_a_topology_may_state_its_hops(tmp_path: Path, hops: str) -> None:
    text = MANUAL.replace("  tree:\n", f"  hops: {hops}\n  tree:\n", 1)
    assert read_topology(write(tmp_path, text)).hops.tolist() == [1, 9]
    assert read_topology(write(tmp_path, MANUAL)).hops.tolist() == [2, 4]


@pytest.mark.parametrize("hops", ["[1, 9, 20]", "[9, 1]", "{a: 1}", "[[1], 9]", "many"])
def test_bad_hops_of_a_topology_have_their_line(tmp_path: Path, hops: str) -> None:
    with pytest.raises(ValueError, match=r"topology\.yaml:4: hops .*: expected 2 whole numbers .* such as 2,4"):
        read_topology(write(tmp_path, MANUAL.replace("  tree:\n", f"  hops: {hops}\n  tree:\n", 1)))
