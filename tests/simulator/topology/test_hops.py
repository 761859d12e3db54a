"""Hops of sets of nodes, against a sum over pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from simulator.topology.hops import hop_cost, pair_hops, ring_hops
from simulator.topology.tree import SwitchTree, fat_tree, regular_tree

UNEVEN = SwitchTree(np.array([[0, 0, 0, 1, 2, 2, 3], [0, 0, 0, 0, 1, 1, 1], [0] * 7]), np.array([1, 3, 8]))
TREES = [
    regular_tree((3, 2, 2)),
    regular_tree((4, 3)),
    regular_tree((12,)),
    UNEVEN,
    regular_tree((2, 2, 2, 2), (1, 1, 5, 5)),
]


def hops_between(tree: SwitchTree, one: int, other: int) -> int:
    """By walking up until both have the same switch."""
    level = next(level for level in range(tree.levels) if tree.switch[level, one] == tree.switch[level, other])
    return int(tree.hops[level])


@pytest.mark.parametrize("tree", TREES)
def test_hops_are_those_of_all_pairs(tree: SwitchTree) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        nodes = rng.permutation(tree.nodes)[: rng.integers(1, tree.nodes + 1)]
        by_pairs = sum(hops_between(tree, one, other) for one, other in combinations(nodes.tolist(), 2))
        assert pair_hops(tree, nodes) == by_pairs
        assert hop_cost(tree, nodes) == pytest.approx(2 * by_pairs / len(nodes))


def test_equation_1_by_hand() -> None:
    """Two nodes of one leaf, of one pod and of two pods in a 4-ary fat tree: 2, 4 and 6 hops, each way, for two nodes."""
    tree = fat_tree(4)
    assert [hop_cost(tree, np.array(nodes)) for nodes in ([0, 1], [0, 2], [0, 4])] == [2.0, 4.0, 6.0]
    assert hop_cost(tree, np.array([3])) == 0.0 and hop_cost(tree, np.array([], dtype=np.int64)) == 0.0
    assert hop_cost(tree, np.array([0, 1, 2])) == pytest.approx(2 * (2 + 4 + 4) / 3)


def test_a_job_alone_fills_whole_switches() -> None:
    tree = regular_tree((3, 2, 2))
    for size in range(1, 6):
        least = min(hop_cost(tree, np.array(nodes)) for nodes in combinations(range(12), size))
        assert hop_cost(tree, np.arange(size)) == pytest.approx(least)


@pytest.mark.parametrize("tree", TREES)
def test_hops_around_the_ring(tree: SwitchTree) -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        idle = np.sort(rng.permutation(tree.nodes)[: rng.integers(1, tree.nodes + 1)])
        size = int(rng.integers(1, len(idle) + 1))
        expected = [pair_hops(tree, np.roll(idle, -first)[:size]) for first in range(len(idle))]
        assert ring_hops(tree.switch, tree.hops, idle, size).tolist() == expected
