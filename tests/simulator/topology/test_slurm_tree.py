"""Tests of simulator/topology: slurm_tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator.topology.slurm_tree import read_topology
from simulator.topology.tree import SwitchTree, pair_hops, regular_tree

# slurm_tree: Slurm's topology.conf: examples of its manual, forms that Slurm reads, and every fault with its
# message.


def read(folder: Path, text: str | bytes, name: str = "topology.conf") -> SwitchTree:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_topology(file)


def faults_of(folder: Path, text: str | bytes) -> str:
    """The message, without the folder."""
    with pytest.raises(ValueError) as error:
        read(folder, text)
    return str(error.value).replace(f"{folder}/", "")


MANUAL = """\
##################################################################
# Slurm's network topology configuration file for use with the
# topology/tree plugin
##################################################################
SwitchName=s0 Nodes=dev[0-5]
SwitchName=s1 Nodes=dev[6-11]
SwitchName=s2 Nodes=dev[12-17]
SwitchName=s3 Switches=s[0-2]
"""


def test_the_manuals_example(tmp_path: Path) -> None:
    tree = read(tmp_path, MANUAL)
    assert np.array_equal(tree.switch, regular_tree((6, 3)).switch) and tree.hops.tolist() == [2, 4]
    assert tree.node_names == tuple(f"dev{k}" for k in range(18))
    assert tree.switch_names == (("s0", "s1", "s2"), ("s3",))


def test_three_levels_are_the_regular_tree(tmp_path: Path) -> None:
    """Lines in the wrong order, and names that sort otherwise as text."""
    lines = ["SwitchName=top Switches=pod[1-3]"]
    lines += [f"SwitchName=pod{pod} Switches=leaf[{4 * pod - 3}-{4 * pod}]" for pod in (3, 1, 2)]
    lines += [f"SwitchName=leaf{k} Nodes=n[{5 * k - 5:03}-{5 * k - 1:03}]" for k in range(12, 0, -1)]
    tree = read(tmp_path, "\n".join(lines))
    expected = regular_tree((5, 4, 3))
    assert np.array_equal(tree.switch, expected.switch) and np.array_equal(tree.hops, expected.hops)
    assert tree.node_names == tuple(f"n{k:03}" for k in range(60))


@pytest.mark.parametrize(
    "text",
    [
        "switchname=a nodes=n[1-2]\nSWITCHNAME=b NODES=n3\nSwitchName=t SWITCHES=a,b\n",
        "SwitchName=t Switches=a,b LinkSpeed=100\nNodes=n3 linkspeed=9 SwitchName=b\nSwitchName=a Nodes=n1,n2",
        "SwitchName=a Nodes=n[1-2]\r\n\r\nSwitchName=b Nodes=n3 \r\nSwitchName=t Switches=a,b\r\n",
        "# head\n  SwitchName=a Nodes=n[1-2]# behind\n#SwitchName=x Nodes=n9\nSwitchName=b Nodes=n3 # x=1\nSwitchName=t Switches=a,b",
        "SwitchName=a \\\n  Nodes=n1,\\\n  n2\nSwitchName=b No\\\ndes=n3\nSwitchName=t Switches=a,b \\",
        'SwitchName = a Nodes = "n[1-2]"\nSwitchName="b"\tNodes=n3\nSwitchName=t Switches= a,b',
        "\ufeffSwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\nSwitchName=t Switches=a,b",
        "# caf\u00e9\u2026\nSwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\nSwitchName=t Switches=a,b".encode(
            "cp1252"
        ),
    ],
    ids=["case", "order", "CRLF", "comments", "continued", "quoted", "byte-order mark", "other encoding"],
)
def test_forms_that_mean_the_same(tmp_path: Path, text: str | bytes) -> None:
    tree = read(tmp_path, text)
    assert tree.switch.tolist() == [[0, 0, 1], [0, 0, 0]]
    assert (tree.node_names, tree.switch_names) == (("n1", "n2", "n3"), (("a", "b"), ("t",)))


def test_a_leaf_directly_below_the_top(tmp_path: Path) -> None:
    """It has the level of the pods to itself: its nodes are 2 hops from each other, and 6 from all others."""
    text = "SwitchName=t Switches=p,far\nSwitchName=p Switches=l[0-1]\n"
    text += "SwitchName=l0 Nodes=n[0-1]\nSwitchName=l1 Nodes=n[2-3]\nSwitchName=far Nodes=n[4-5]\n"
    tree = read(tmp_path, text)
    assert [pair_hops(tree, np.array(pair)) for pair in ([4, 5], [3, 4], [0, 2], [0, 1])] == [2, 6, 4, 2]
    assert tree.switch_names == (("l0", "l1", "far"), ("p", "far"), ("t",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "topology.conf: the file is empty: expected switches such as SwitchName=s0 Nodes=n[0-9]. Write them"),
        (
            "#\n\n",
            "topology.conf: the file has no switch: expected switches such as SwitchName=s0 Nodes=n[0-9]. Write them",
        ),
        (
            "Nodes=n[1-3]",
            "topology.conf:1: no SwitchName= in 'Nodes=n[1-3]': expected SwitchName=s0 Nodes=n[0-9]. Add it",
        ),
        (
            "SwitchName= Nodes=n1",
            "topology.conf:1: SwitchName= has no name: expected one such as SwitchName=s0. Add it",
        ),
        (
            "\nSwitchName=a Nodes=n1 Foo=1",
            "topology.conf:2: unknown key Foo=: expected SwitchName=, Switches=, Nodes=, LinkSpeed=. Take it out",
        ),
        (
            "SwitchName=a Node=n1",
            "topology.conf:1: unknown key Node=: expected SwitchName=, Switches=, Nodes=, LinkSpeed=. Did you mean Nodes=?",
        ),
        (
            "BlockName=b Nodes=n[1-4]",
            "topology.conf:1: BlockName= is of topology/block: expected the switches of topology/tree. "
            "Write it as a tree of switches",
        ),
        (
            "SwitchName=a Nodes=n1 nodes=n2",
            "topology.conf:1: Nodes= comes twice on the line: expected it once. Join the two",
        ),
        (
            "SwitchName=a Nodes=n1 n2",
            "topology.conf:1: cannot read 'n2': expected KEY=VALUE, with blanks between settings and none within lists. "
            "Join names by commas",
        ),
        (
            'SwitchName=a Nodes="n1',
            "topology.conf:1: an open quotation mark in 'Nodes=\"n1': expected a second one. Add it",
        ),
        (
            "SwitchName=a Nodes=n1\n include  /etc/more.conf # x",
            "topology.conf:2: Include is not followed: copy the lines of /etc/more.conf to this place",
        ),
        (
            "SwitchName=a Nodes=n1,\\\nn2,n[4-3]",
            "topology.conf:1: Nodes= of a: reversed range '4-3' in 'n[4-3]': expected the lower number first",
        ),
        (
            "SwitchName=a Nodes=n[1-9999999999]",
            "topology.conf:1: Nodes= of a: 'n[1-9999999999]' has more than 1,000,000 names: expected at most that many",
        ),
        (
            "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2",
            "topology.conf:2: 2 switches have none above them, a,b: expected one top. "
            "Give them a common parent, such as SwitchName=top Switches=a,b",
        ),
        (
            b"SwitchName=a\n\x7fELF\x02",
            "topology.conf:2: byte 0x7f is no text. Expected a topology.conf, unpacked and saved as plain text",
        ),
        (
            "SwitchName=a Nodes=n1".encode("utf-16"),
            "topology.conf:1: byte 0x00 is no text. Expected a topology.conf, unpacked and saved as plain text",
        ),
        (
            b"#" * (1 << 24) + b"\n",
            "topology.conf: more than 16 MiB. Expected a topology.conf, and this is another file",
        ),
    ],
)
def test_a_fault_is_reported_with_file_and_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert faults_of(tmp_path, text) == message


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.conf: no such file\. Correct the path of the topology\.conf"):
        read_topology(tmp_path / "none.conf")
    with pytest.raises(ValueError, match=r": is a folder\. Name the topology\.conf in it"):
        read_topology(tmp_path)
    with pytest.raises(ValueError, match=r"cannot be read \(.*\)\. Expected a readable topology\.conf"):
        read_topology(tmp_path / ("x" * 300))


def test_all_faults_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    text = "\n".join(
        [
            "SwitchName=top Switches=s[1-5]",
            "SwitchName=s1 Nodes=n[1-4]",
            "SwitchName=s2 Nodes=n[4-7] Speed=1",
            "SwitchName=s3 Nodes=n[9-8]",
            "Include x",
            "SwitchName=s4 Switches=s4",
            "SwitchName=lonely Nodes=m1",
            "Nodes=m2",
        ]
    )
    message = faults_of(tmp_path, text)
    assert message.splitlines()[0] == "topology.conf: 7 faults"
    starts = ["line 1: Switches= of top names s5", "line 3: node n4 under s2", "line 3: unknown key Speed="]
    starts += ["line 4: Nodes= of s3: reversed range", "line 5: Include", "line 6: switch s4 under s4 and under top"]
    starts += ["line 8: no SwitchName="]
    for line, start in zip(message.splitlines()[1:], starts, strict=True):
        assert line.strip().startswith(start)


def test_the_ending_chooses_the_format(tmp_path: Path) -> None:
    text = "- topology: t\n  tree:\n    switches:\n      - {switch: s, nodes: 'n[1-2]'}\n"
    assert read(tmp_path, text, "topology.yaml").node_names == read(tmp_path, text, "a.YML").node_names == ("n1", "n2")


# slurm_yaml: Slurm's topology.yaml: the manual's example, the choice of a topology, and every fault with its
# message.

SLURM_YAML_MANUAL = """\
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
    tree = read_topology(write(tmp_path, SLURM_YAML_MANUAL))
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
            SLURM_YAML_MANUAL.replace("true", "false"),
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
def test_a_fault_is_reported_with_file_and_line_of_slurm_yaml(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        read_topology(write(tmp_path, text))
    assert str(error.value).replace(f"{tmp_path}/", "") == message


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        read_topology(write(tmp_path, "[" * 5000))


@pytest.mark.parametrize("hops", ["[1, 9]", "1,9", "\n    - 1\n    - 9"])
def test_a_topology_may_state_its_hops(tmp_path: Path, hops: str) -> None:
    text = SLURM_YAML_MANUAL.replace("  tree:\n", f"  hops: {hops}\n  tree:\n", 1)
    assert read_topology(write(tmp_path, text)).hops.tolist() == [1, 9]
    assert read_topology(write(tmp_path, SLURM_YAML_MANUAL)).hops.tolist() == [2, 4]


@pytest.mark.parametrize("hops", ["[1, 9, 20]", "[9, 1]", "{a: 1}", "[[1], 9]", "many"])
def test_bad_hops_of_a_topology_have_their_line(tmp_path: Path, hops: str) -> None:
    with pytest.raises(ValueError, match=r"topology\.yaml:4: hops .*: expected 2 whole numbers .* such as 2,4"):
        read_topology(write(tmp_path, SLURM_YAML_MANUAL.replace("  tree:\n", f"  hops: {hops}\n  tree:\n", 1)))
