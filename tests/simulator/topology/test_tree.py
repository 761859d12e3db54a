"""Trees of switches: regular and fat ones, and what is no tree."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simulator.topology.tree import (
    SwitchTree,
    fat_tree,
    first_nodes,
    fit_tree,
    nodes_of_cluster,
    parse_tree,
    regular_tree,
    with_hops,
)


def test_a_regular_tree_numbers_its_switches() -> None:
    tree = regular_tree((2, 3, 2))
    assert (tree.nodes, tree.levels) == (12, 3)
    assert [tree.switches(level) for level in range(3)] == [6, 2, 1]
    assert tree.switch[0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert tree.switch[1].tolist() == [0] * 6 + [1] * 6
    assert tree.hops.tolist() == [2, 4, 6]
    assert tree.name_of(3) == "3"


def test_the_papers_tree() -> None:
    """Figure 1: a 4-ary fat tree has 4 nodes a pod and 16 in all; section VI-A prunes one of radix 20 to 1,000 nodes."""
    assert (fat_tree(4).nodes, fat_tree(4, 2).nodes) == (16, 8)
    paper = fat_tree(20, 10)
    assert paper.nodes == 1000 and np.array_equal(paper.switch, regular_tree((10, 10, 10)).switch)


@pytest.mark.parametrize(
    ("text", "sizes"), [("10x10x10", (10, 10, 10)), (" 16 x 8 ", (16, 8)), ("4*2*3", (4, 2, 3)), ("5", (5,))]
)
def test_a_tree_in_words(text: str, sizes: tuple[int, ...]) -> None:
    assert np.array_equal(parse_tree(text).switch, regular_tree(sizes).switch)


@pytest.mark.parametrize("text", ["", "x", "10x", "10 10", "10xx2", "ten", "-4x2", "1.5x2"])
def test_words_that_are_no_tree(text: str) -> None:
    with pytest.raises(ValueError, match=r"16x8x4.*topology\.conf"):
        parse_tree(text)


@pytest.mark.parametrize("text", ["99999x99999x99999", "10000001", "9999999999x9999999999x9999999999"])
def test_trees_that_no_memory_holds(text: str) -> None:
    with pytest.raises(ValueError, match="at most 10,000,000 nodes"):
        parse_tree(text)


@pytest.mark.parametrize(
    ("switch", "hops", "message"),
    [
        ([[0, 1, 0], [0, 0, 0]], [2, 4], "in the order of their nodes"),
        ([[0, 0, 2], [0, 0, 0]], [2, 4], "in the order of their nodes"),
        ([[0, 0, 1], [0, 1, 1], [0, 0, 0]], [2, 4, 6], "under two switches"),
        ([[0, 0, 1]], [2], "one switch at the top, got 2"),
        ([[0, 0], [0, 0]], [2], "as many numbers of hops"),
        ([[0, 0], [0, 0]], [4, 2], "not decrease"),
        ([[0, 0], [0, 0]], [-1, 2], "not be negative"),
        (np.zeros((1, 0)), [2], "at least one level"),
    ],
)
def test_arrays_that_are_no_tree(switch: list[list[int]], hops: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SwitchTree(np.array(switch), np.array(hops))


def test_names_must_fit() -> None:
    with pytest.raises(ValueError, match="2 nodes need as many names, got 1"):
        SwitchTree(np.zeros((1, 2)), np.array([2]), ("a",))


@pytest.mark.parametrize(
    ("radix", "pods", "message"), [(5, None, "even"), (4, 5, "1 to 4 pods"), (4, 0, "1 to 4 pods")]
)
def test_no_fat_tree(radix: int, pods: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fat_tree(radix, pods)
    with pytest.raises(ValueError, match="at least 1"):
        regular_tree((2, 0))


def test_the_first_nodes_keep_their_hops() -> None:
    names = (("l0", "l1", "l2", "l3"), ("p0", "p1"), ("top",))
    tree = SwitchTree(regular_tree((2, 2, 2)).switch, np.array([1, 2, 5]), tuple("abcdefgh"), names)
    part = first_nodes(tree, 5)
    assert part.switch.tolist() == [[0, 0, 1, 1, 2], [0, 0, 0, 0, 1], [0] * 5]
    assert (part.hops.tolist(), part.node_names) == ([1, 2, 5], tuple("abcde"))
    assert part.switch_names == (("l0", "l1", "l2"), ("p0", "p1"), ("top",))
    assert first_nodes(tree, 1).levels == 3 and first_nodes(regular_tree((4, 2)), 3).nodes == 3
    assert np.array_equal(first_nodes(tree, 8).switch, tree.switch)


@pytest.mark.parametrize("count", [0, 9, -1])
def test_first_nodes_that_a_tree_does_not_have(count: int) -> None:
    with pytest.raises(ValueError, match=f"a tree of 8 nodes has first nodes from 1 to 8, got {count}"):
        first_nodes(regular_tree((2, 2, 2)), count)


@pytest.mark.parametrize(
    ("text", "hops"), [("1,3,9", [1, 3, 9]), (" 0, 0, 1000000 ", [0, 0, 1_000_000]), ("5,5,5", [5] * 3)]
)
def test_other_hops(text: str, hops: list[int]) -> None:
    tree = regular_tree((2, 3, 2))
    assert with_hops(tree, text).hops.tolist() == hops and tree.hops.tolist() == [2, 4, 6]


@pytest.mark.parametrize(
    "text", ["2,4", "2,4,6,8", "4,2,6", "2,4,x", "", "2,,6", "-1,4,6", "2,4,1000001", "2,4,6.5", "2 4 6"]
)
def test_hops_that_do_not_fit_the_tree(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"hops '.*': expected 3 whole numbers .* such as 2,4,6\. They must not decrease"
    ):
        with_hops(regular_tree((2, 3, 2)), text)
    with pytest.raises(ValueError, match="expected 1 whole number, one for each level"):
        with_hops(regular_tree((5,)), "2,4")


@pytest.mark.parametrize(
    ("procs", "per_node", "nodes"), [(1, 1, 1), (16, 4, 4), (17, 4, 5), (3, 4, 1), (160_000, 1, 160_000)]
)
def test_nodes_of_processors(procs: int, per_node: int, nodes: int) -> None:
    assert nodes_of_cluster(procs, per_node) == nodes


@pytest.mark.parametrize(
    ("procs", "per_node", "message"),
    [(8, 0, "a node needs at least 1 processor, got 0"), (0, 2, "a cluster needs at least 1 processor, got 0")],
)
def test_no_processors(procs: int, per_node: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_tree(regular_tree((4, 2)), procs, per_node)


def test_a_tree_that_fits_is_used_as_it_is() -> None:
    tree, remarks = fit_tree(regular_tree((4, 2)), 32, 4, whole_nodes=True)
    assert np.array_equal(tree.switch, regular_tree((4, 2)).switch) and remarks == []


def test_of_a_larger_tree_the_first_nodes_are_used_and_that_is_said() -> None:
    named = SwitchTree(regular_tree((4, 2)).switch, np.array([2, 4]), tuple("abcdefgh"))
    tree, remarks = fit_tree(named, 18, 4)
    assert tree.node_names == tuple("abcde") and tree.switch.tolist() == [[0, 0, 0, 0, 1], [0] * 5]
    assert remarks == [
        "The tree has 8 nodes; its first 5 are used, a to e, since 18 processors with 4 a node need no more.",
        "The last node, e, has 2 of 4 processors.",
    ]
    assert fit_tree(regular_tree((4, 2)), 31, 4)[1] == ["The last node, 7, has 3 of 4 processors."]


def test_a_tree_with_too_few_nodes() -> None:
    message = (
        "the tree has 8 nodes, and 160 processors with 16 a node need 10: give a tree of 10 nodes or more, "
        "at least 20 processors a node, or a cluster of at most 128 processors"
    )
    with pytest.raises(ValueError, match=message):
        fit_tree(regular_tree((4, 2)), 160, 16)
    assert fit_tree(regular_tree((4, 2)), 160, 20)[0].nodes == fit_tree(regular_tree((4, 2)), 128, 16)[0].nodes == 8


def test_whole_nodes_need_a_whole_number_of_them() -> None:
    message = "18 processors are not a whole number of nodes with 4 each: .* a cluster of 16 or 20 processors, or share"
    with pytest.raises(ValueError, match=re.compile(message)):
        fit_tree(regular_tree((4, 2)), 18, 4, whole_nodes=True)
    with pytest.raises(ValueError, match="or a cluster of 4 processors, or share nodes"):
        fit_tree(regular_tree((4, 2)), 3, 4, whole_nodes=True)
