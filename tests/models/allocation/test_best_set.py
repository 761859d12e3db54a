"""The cheapest nodes of one job against all sets of nodes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from models.allocation.best_set import least_cost_set, put_cheapest, set_tables
from models.allocation.leaves import hops_of_counts, idle_leaves
from models.allocation.window import FloatArray, IntArray, Window
from simulator.topology.hops import hop_cost
from simulator.topology.tree import SwitchTree, regular_tree
from tests.models.allocation.windows import SMALL_TREES


def pairs_left(tree: SwitchTree, idle: IntArray, left: FloatArray) -> float:
    """Value of the pairs of idle nodes below the switches of each level but the top."""
    counts = [np.bincount(tree.switch[level, idle]) for level in range(tree.levels - 1)]
    return sum(float(value * (count * (count - 1) // 2).sum()) for value, count in zip(left, counts, strict=True))


@pytest.mark.parametrize(("priced", "valued"), [(False, False), (True, False), (False, True), (True, True)])
def test_no_other_set_costs_less(priced: bool, valued: bool) -> None:
    rng = np.random.default_rng(12)
    trees = (*SMALL_TREES, regular_tree((2, 2, 2, 1, 1), (1, 2, 3, 5, 8)))
    for case in range(150):
        tree = trees[case % len(trees)]
        idle = np.sort(rng.permutation(tree.nodes)[: rng.integers(2, tree.nodes + 1)])
        size = int(rng.integers(1, min(5, len(idle)) + 1))
        leaves = idle_leaves(Window(tree, idle, np.array([size])))
        prices = rng.uniform(-5, 5, len(leaves.idle)) if priced else np.zeros(len(leaves.idle))
        price = prices[leaves.leaf_of]
        left = rng.uniform(0, 2, tree.levels - 1) if valued else np.zeros(tree.levels - 1)
        before = pairs_left(tree, idle, left)
        least = min(
            hop_cost(tree, idle[list(entries)])
            + price[list(entries)].sum()
            + before
            - pairs_left(tree, np.delete(idle, entries), left)
            for entries in combinations(range(len(idle)), size)
        )
        tables = set_tables(tree.levels, len(leaves.idle), size + case % 3)
        cost, _ = least_cost_set(leaves.above, leaves.saved, leaves.idle, prices, left, size, tables)
        taken = tables[4]
        farthest = leaves.farthest * (size - 1)
        assert cost + farthest == pytest.approx(least)
        assert taken.sum() == size and (taken <= leaves.idle).all()
        hops = hops_of_counts(leaves.above, leaves.saved, leaves.farthest, taken)
        nodes = np.concatenate([idle[leaves.first[k] :][:count] for k, count in enumerate(taken)])
        lost = before - pairs_left(tree, np.setdiff1d(idle, nodes), left)
        assert 2 * hops / size + prices @ taken + lost == pytest.approx(least)
        free, counts = leaves.idle.copy(), np.full(len(leaves.idle), 7)
        arrays = (leaves.above, leaves.saved, leaves.farthest, leaves.idle)
        assert put_cheapest(arrays, free, prices, left, size, counts, tables) == hops
        assert (counts == taken).all() and (free == leaves.idle - taken).all()
