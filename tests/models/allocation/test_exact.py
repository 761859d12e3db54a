"""HiGHS against the dynamic programme, and what it says when its time is short."""

from __future__ import annotations

import numpy as np
import pytest

from models.allocation.exact import flow_allocation, improved_starts, relaxed_arcs
from models.allocation.scas import ring_costs, scas_allocation
from models.allocation.sequential import sequential_allocation
from models.allocation.window import Window
from tests.models.allocation.windows import PAPERS_TREE, check_allocation, small_window, window_of_papers_size


def test_the_flow_and_the_dynamic_programme_agree_on_windows_of_the_papers_size() -> None:
    rng = np.random.default_rng(21)
    for _ in range(300):
        window = window_of_papers_size(rng)
        allocation = flow_allocation(window, 60.0)
        check_allocation(window, allocation)
        assert allocation.proven and allocation.cost == pytest.approx(scas_allocation(window).cost)


def test_they_agree_on_small_windows_where_jobs_lie_across_the_end() -> None:
    rng = np.random.default_rng(22)
    for _ in range(200):
        window = small_window(rng)
        allocation = flow_allocation(window, 60.0)
        check_allocation(window, allocation)
        assert allocation.proven and allocation.cost == pytest.approx(scas_allocation(window).cost)


def test_many_jobs_have_a_proven_optimum() -> None:
    rng = np.random.default_rng(23)
    window = Window(PAPERS_TREE, np.sort(rng.permutation(1000)[:500]), np.sort(rng.integers(1, 41, 20)))
    allocation = flow_allocation(window, 60.0)
    check_allocation(window, allocation)
    assert allocation.proven and allocation.cost < sequential_allocation(window).cost


def test_short_of_time_there_is_an_allocation_and_a_bound() -> None:
    rng = np.random.default_rng(24)
    window = Window(PAPERS_TREE, np.sort(rng.permutation(1000)[:950]), np.sort(rng.integers(1, 41, 40)))
    allocation = flow_allocation(window, 1e-6)
    check_allocation(window, allocation)
    assert allocation.gap is not None and 0.0 < allocation.gap < 0.1 and not allocation.proven
    assert allocation.cost < sequential_allocation(window).cost


def test_no_assignment_with_an_arc_costs_less_than_its_bound() -> None:
    """Arcs that are left out cannot be those of an optimum: the arcs of one have bounds that are not above its cost."""
    rng = np.random.default_rng(25)
    for _ in range(300):
        window = small_window(rng)
        sizes, kind, jobs = np.unique(window.sizes, return_inverse=True, return_counts=True)
        costs = ring_costs(window.tree.switch, window.tree.hops, window.idle, sizes, window.integer)
        least = scas_allocation(window)
        bound, at_least = relaxed_arcs(costs, sizes, jobs, sequential_allocation(window).cost, 50)
        starts = np.searchsorted(window.idle, [nodes[0] for nodes in least.nodes])
        assert bound <= least.cost + 1e-9 and (at_least[kind, starts] <= least.cost + 1e-9).all()


def test_the_search_before_keeps_jobs_apart_and_its_costs_true() -> None:
    rng = np.random.default_rng(26)
    for seed in range(50):
        window = window_of_papers_size(rng, 15)
        sizes, kind = np.unique(window.sizes, return_inverse=True)
        costs = ring_costs(window.tree.switch, window.tree.hops, window.idle, sizes, window.integer)
        ring, starts = improved_starts(costs, sizes, kind, 500, seed)
        assert sorted(ring.tolist()) == sorted(kind.tolist())
        assert (starts[:-1] + sizes[ring[:-1]] <= starts[1:]).all() and starts[-1] + sizes[ring[-1]] <= len(window.idle)
        assert costs[ring, starts].sum() <= sequential_allocation(window).cost + 1e-9


def test_a_limit_that_is_none_is_refused() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([2]))
    with pytest.raises(ValueError, match="more than 0 seconds"):
        flow_allocation(window, 0.0)


def test_a_window_without_jobs() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([], dtype=np.int64))
    assert flow_allocation(window, 1.0).proven
