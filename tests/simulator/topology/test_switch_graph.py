"""Trees of switches that are defined in any order, against walks in the definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.topology.slurm_tree import CONF_WORDS
from simulator.topology.switch_graph import Faults, SwitchDefinition, switch_definition, tree_of_switches
from simulator.topology.tree import SwitchTree

FILE = Path("topology.conf")


def tree_of(*definitions: SwitchDefinition) -> SwitchTree:
    return tree_of_switches(definitions, CONF_WORDS, Faults(FILE))


def leaf(name: str, *nodes: str, line: int = 1) -> SwitchDefinition:
    return SwitchDefinition(name, line, (), nodes)


def switch(name: str, *children: str, line: int = 1) -> SwitchDefinition:
    return SwitchDefinition(name, line, children, ())


def test_nodes_come_as_the_lists_name_them() -> None:
    tree = tree_of(
        leaf("b", "n9", "n2"), switch("top", "pod", "c"), leaf("c", "x"), switch("pod", "b", "a"), leaf("a", "n5")
    )
    assert tree.node_names == ("n9", "n2", "n5", "x")
    assert tree.switch_names == (("b", "a", "c"), ("pod", "c"), ("top",))
    assert tree.switch.tolist() == [[0, 0, 1, 2], [0, 0, 0, 1], [0] * 4]
    assert tree.hops.tolist() == [2, 4, 6]


def test_one_leaf_is_a_tree() -> None:
    assert tree_of(leaf("s", "a", "b")).switch.tolist() == [[0, 0]]


def test_any_depth() -> None:
    depth = 3000
    chain = [switch(f"s{k}", f"s{k + 1}", f"l{k}") for k in range(depth)]
    tree = tree_of(*chain, *(leaf(f"l{k}", f"n{k}") for k in range(depth)), leaf(f"s{depth}", "deepest"))
    assert (tree.levels, tree.nodes) == (depth + 1, depth + 1)
    assert tree.node_names[:2] == ("deepest", f"n{depth - 1}") and tree.node_names[-1] == "n0"


@st.composite
def random_trees(draw: st.DrawFn) -> list[SwitchDefinition]:
    """Switches in any order. A switch gets as children some of those that have no parent yet."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    free = [f"leaf{k}" for k in range(int(rng.integers(1, 12)))]
    definitions = [leaf(name, *(f"{name}-{k}" for k in range(int(rng.integers(1, 4))))) for name in free]
    while len(free) > 1:
        children = list(rng.permutation(free)[: int(rng.integers(1, len(free) + 1))])
        if len(children) == len(free) or len(definitions) < 30:
            free = [name for name in free if name not in children] + [f"switch{len(definitions)}"]
            definitions.append(switch(free[-1], *map(str, children)))
    return [definitions[k] for k in rng.permutation(len(definitions))]


@settings(deadline=None, max_examples=60)
@given(random_trees())
def test_hops_follow_the_height_of_the_lowest_common_switch(definitions: list[SwitchDefinition]) -> None:
    tree = tree_of(*definitions)
    by_name = {definition.name: definition for definition in definitions}
    parent = {child: definition.name for definition in definitions for child in definition.switches}

    def height(name: str) -> int:
        return 1 + max((height(child) for child in by_name[name].switches), default=-1)

    def above(name: str) -> list[str]:
        return [name, *(above(parent[name]) if name in parent else [])]

    leaf_of = {node: definition.name for definition in definitions for node in definition.nodes}
    assert sorted(tree.node_names) == sorted(leaf_of)
    for one in range(tree.nodes):
        for other in range(one):
            path = above(leaf_of[tree.node_names[other]])
            common = next(name for name in above(leaf_of[tree.node_names[one]]) if name in path)
            level = int(np.argmax(tree.switch[:, one] == tree.switch[:, other]))
            assert level == height(common)
            assert tree.switch_names[level][tree.switch[level, one]] == common
    for level in range(tree.levels):
        assert len(tree.switch_names[level]) == tree.switches(level)


@pytest.mark.parametrize(
    ("definitions", "message"),
    [
        (
            [leaf("a", "n1"), leaf("a", "n2", line=4)],
            "topology.conf:4: switch a is defined again: expected one definition. Join it with that of line 1",
        ),
        (
            [switch("top", "a", "b7", "b8"), leaf("a", "n1")],
            "topology.conf:1: Switches= of top names b[7-8], which the file does not define: "
            "expected a definition of each. Add them, or correct the list",
        ),
        (
            [switch("top", "a", "b"), switch("b", "a", line=3), leaf("a", "n1")],
            "topology.conf:3: switch a under b and under top of line 1: expected one switch above each. "
            "Take from one of the two",
        ),
        (
            [switch("top", "a", "b"), leaf("a", "n1", "n2", "n3"), leaf("b", "n3", "n2", "n4", line=9)],
            "topology.conf:9: nodes n[2-3] under b and under a of line 1: expected one switch above each. "
            "Take from one of the two",
        ),
        (
            [leaf("a", "n1", "n2", "n1")],
            "topology.conf:1: Nodes= of a has node n1 twice: expected each name once. Take out the second",
        ),
        (
            [switch("top", "a", "a"), leaf("a", "n1")],
            "topology.conf:1: Switches= of top has switch a twice: expected each name once. Take out the second",
        ),
        (
            [switch("x", "y", line=5), switch("y", "z", line=2), switch("z", "x", line=8), leaf("a", "n1")],
            "topology.conf:2: x > z > y > x is a cycle, each switch below the next: expected a tree. "
            "Take one of them out of Switches= of the next",
        ),
        (
            [switch("x", "x", "a"), leaf("a", "n1")],
            "topology.conf:1: x > x is a cycle, each switch below the next: expected a tree. "
            "Take one of them out of Switches= of the next",
        ),
        (
            [leaf("a1", "n1"), leaf("a2", "n2", line=2), leaf("c", "n3", line=3)],
            "topology.conf:2: 3 switches have none above them, a[1-2],c: expected one top. "
            "Give them a common parent, such as SwitchName=top Switches=a[1-2],c",
        ),
    ],
)
def test_switches_that_are_no_tree(definitions: list[SwitchDefinition], message: str) -> None:
    with pytest.raises(ValueError) as error:
        tree_of(*definitions)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "lists", "message"),
    [
        ("s", {"Nodes=": "n[1"}, "Nodes= of s: unclosed bracket in 'n[1': expected a closing one, as in n[1-3,7]"),
        ("s", {"Switches=": ""}, "Switches= of s: the list is empty: expected a name, or a list such as n[0-9]"),
        ("s[1-2]", {"Nodes=": "n"}, "SwitchName= 's[1-2]' is a list: expected one switch. Define each one by itself"),
        ("s", {}, "switch s has nothing below it: expected Switches= or Nodes=. Add one, or delete the switch"),
        (
            "s",
            {"Switches=": "a", "Nodes=": "n"},
            "switch s has both Switches= and Nodes=: expected one of them. Give its nodes a leaf switch of their own",
        ),
    ],
)
def test_a_definition_with_a_fault(name: str, lists: dict[str, str], message: str) -> None:
    faults = Faults(FILE)
    switch_definition(3, name, lists, CONF_WORDS, faults)
    with pytest.raises(ValueError) as error:
        faults.stop()
    assert str(error.value) == f"topology.conf:3: {message}"


def test_what_was_unreadable_is_not_also_called_a_second_top() -> None:
    faults = Faults(FILE)
    top = switch_definition(1, "top", {"Switches=": "a,b["}, CONF_WORDS, faults)
    with pytest.raises(ValueError, match=r"\Atopology.conf:1: Switches= of top: unclosed bracket in 'a,b\['"):
        tree_of_switches([top, leaf("a", "n1"), leaf("b", "n2")], CONF_WORDS, faults)


def test_all_faults_are_in_one_message() -> None:
    faults = Faults(FILE)
    faults.stop()
    for line in range(25, 0, -1):
        faults.add(line, f"fault {line}")
    with pytest.raises(ValueError) as error:
        faults.stop()
    shown = "\n".join(f"  line {line}: fault {line}" for line in range(1, 21))
    assert str(error.value) == f"topology.conf: 25 faults\n{shown}\n  and 5 more"


def test_hopeless_files_are_not_read_to_their_end() -> None:
    faults = Faults(FILE)
    for line in range(999):
        faults.add(line, "wrong")
    with pytest.raises(ValueError, match="1000 faults or more"):
        faults.add(999, "wrong")
    faults = Faults(FILE)
    switch_definition(1, "a", {"Nodes=": "n[1-600000]"}, CONF_WORDS, faults)
    with pytest.raises(
        ValueError, match=r"topology\.conf:2: more than 1,000,000 names up to here: expected at most that"
    ):
        switch_definition(2, "b", {"Nodes=": "m[1-600000]"}, CONF_WORDS, faults)
