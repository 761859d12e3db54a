"""Trees and clusters: as many nodes as the processors need."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simulator.topology.machine import fit_tree, nodes_of_cluster
from simulator.topology.tree import SwitchTree, regular_tree


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
