"""Idle nodes by leaf."""

from __future__ import annotations

import numpy as np

from models.allocation.leaves import hops_of_counts, idle_leaves
from models.allocation.window import Window
from simulator.topology.hops import pair_hops
from simulator.topology.tree import fat_tree
from tests.models.allocation.windows import check_allocation, small_window


def test_the_leaves_of_a_small_tree() -> None:
    leaves = idle_leaves(Window(fat_tree(4), np.array([0, 2, 3, 8, 9, 13]), np.array([2])))
    assert leaves.idle.tolist() == [1, 2, 2, 1]
    assert leaves.first.tolist() == [0, 1, 3, 5]
    assert leaves.leaf_of.tolist() == [0, 1, 1, 2, 2, 3]
    assert leaves.above.tolist() == [[0, 1, 4, 6], [0, 0, 2, 3], [0, 0, 0, 0]]
    assert leaves.saved.tolist() == [2, 2] and leaves.farthest == 6


def test_counts_become_nodes_with_the_same_hops() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        window = small_window(rng)
        leaves = idle_leaves(window)
        jobs_of_nodes = np.full(len(window.idle), -1)
        jobs_of_nodes[rng.permutation(len(window.idle))[: window.sizes.sum()]] = np.repeat(
            np.arange(len(window.sizes)), window.sizes
        )
        counts = np.zeros((len(window.sizes), len(leaves.idle)), dtype=np.int64)
        np.add.at(counts, (jobs_of_nodes[jobs_of_nodes >= 0], leaves.leaf_of[jobs_of_nodes >= 0]), 1)
        nodes = leaves.nodes_of(window, counts)
        check_allocation(window, window.allocation(nodes, 0.0))
        for job, taken in enumerate(nodes):
            hops = hops_of_counts(leaves.above, leaves.saved, leaves.farthest, counts[job])
            assert hops == pair_hops(window.tree, taken)
            assert hops == pair_hops(window.tree, window.idle[jobs_of_nodes == job])
