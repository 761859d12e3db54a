"""The bound of the column generation against the linear programme over all columns of small windows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from models.allocation.columns import COLUMN_GAP, column_bound
from models.allocation.free import counts_of_nodes, free_allocation
from models.allocation.leaves import hops_of_counts, idle_leaves
from models.allocation.sequential import sequential_allocation
from models.allocation.window import Window
from tests.models.allocation.windows import small_window, window_of_papers_size


def programme_over_all_columns(window: Window) -> float:
    """Every way to take a job's nodes from the leaves is a column; every leaf is a row."""
    leaves = idle_leaves(window)
    kinds, jobs = np.unique(window.sizes, return_counts=True)
    columns = [
        (kind, counts)
        for counts in product(*(range(idle + 1) for idle in leaves.idle.tolist()))
        for kind, size in enumerate(kinds.tolist())
        if sum(counts) == size
    ]
    nodes = np.array([counts for _, counts in columns])
    hops = np.array([hops_of_counts(leaves.above, leaves.saved, leaves.farthest, counts) for counts in nodes])
    kind = np.array([kind for kind, _ in columns])
    solution = linprog(
        2.0 * hops / kinds[kind],
        A_ub=nodes.T,
        b_ub=leaves.idle,
        A_eq=kind[None, :] == np.arange(len(kinds))[:, None],
        b_eq=jobs,
    )
    return float(solution.fun)


def test_the_bound_is_that_of_all_columns() -> None:
    rng = np.random.default_rng(18)
    for seed in range(100):
        window = small_window(rng)
        if window.integer:
            continue
        leaves = idle_leaves(window)
        counts = counts_of_nodes(window, leaves, sequential_allocation(window).nodes)
        bound = column_bound(window, leaves, counts, seed)
        least = programme_over_all_columns(window)
        assert bound.bound <= least + 1e-6
        assert bound.bound == pytest.approx(least, rel=2 * COLUMN_GAP, abs=1e-6)
        assert (bound.prices >= 0).all() and (bound.counts.sum(axis=1) == window.sizes).all()


def test_the_bound_of_few_rounds_is_lower_and_still_one() -> None:
    rng = np.random.default_rng(19)
    window = window_of_papers_size(rng, 12)
    window = Window(window.tree, window.idle, window.sizes)
    leaves = idle_leaves(window)
    counts = counts_of_nodes(window, leaves, sequential_allocation(window).nodes)
    short, long = (column_bound(window, leaves, counts, 0, rounds) for rounds in (1, 20))
    assert short.rounds == 1 < long.rounds
    assert short.bound <= long.bound <= free_allocation(window, 0).cost + 1e-9


def test_the_bound_of_integer_costs_is_an_integer_below_them() -> None:
    rng = np.random.default_rng(20)
    for seed in range(20):
        window = window_of_papers_size(rng)
        window = Window(window.tree, window.idle, window.sizes, integer=True)
        leaves = idle_leaves(window)
        counts = counts_of_nodes(window, leaves, sequential_allocation(window).nodes)
        bound = column_bound(window, leaves, counts, seed).bound
        assert bound == round(bound) and bound <= free_allocation(window, seed).cost


def test_no_round_begins_behind_the_time_limit() -> None:
    window = window_of_papers_size(np.random.default_rng(19), 12)
    window = Window(window.tree, window.idle, window.sizes)
    leaves = idle_leaves(window)
    counts = counts_of_nodes(window, leaves, sequential_allocation(window).nodes)
    assert column_bound(window, leaves, counts, 0, seconds=0.0).rounds == 1
