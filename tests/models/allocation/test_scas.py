"""The dynamic programme against all assignments of small windows."""

from __future__ import annotations

import numpy as np
import pytest

from models.allocation.scas import MOST_SCAS_CELLS, least_starts, scas_allocation, scas_cells
from models.allocation.sequential import sequential_allocation
from models.allocation.window import Window
from simulator.topology.hops import pair_hops
from simulator.topology.tree import fat_tree, regular_tree
from tests.models.allocation.windows import PAPERS_TREE, check_allocation, small_window, window_of_papers_size


def least_of_all_assignments(costs: np.ndarray, sizes: list[int]) -> float:
    """Tries every entry of the ring for every job. costs: of each job at each entry, (jobs, idle)."""
    entries = costs.shape[1]
    options = []
    for size, at in zip(sizes, costs.tolist(), strict=True):
        taken = [sum(1 << k % entries for k in range(first, first + size)) for first in range(entries)]
        options.append(list(zip(taken, at, strict=True)))

    def least(job: int, taken: int) -> float:
        if job == len(options):
            return 0.0
        return min(
            (cost + least(job + 1, taken | bits) for bits, cost in options[job] if not bits & taken), default=np.inf
        )

    return least(0, 0)


def costs_by_pairs(window: Window) -> np.ndarray:
    """Cost of each job at each entry of the ring."""
    hops = [
        [pair_hops(window.tree, np.roll(window.idle, -first)[:size]) for first in range(len(window.idle))]
        for size in window.sizes.tolist()
    ]
    return window.costs(np.array(hops), window.sizes[:, None])


def is_static(window: Window, nodes: np.ndarray) -> bool:
    """Whether the nodes follow one another in the ring of all idle nodes."""
    entries = np.searchsorted(window.idle, nodes)
    return (np.diff(entries) % len(window.idle) == 1 % len(window.idle)).all()


def test_the_dynamic_programme_gives_the_least_of_all_assignments() -> None:
    rng = np.random.default_rng(5)
    full = repeated = 0
    for _ in range(1000):
        window = small_window(rng)
        allocation = scas_allocation(window)
        check_allocation(window, allocation)
        assert allocation.cost == pytest.approx(least_of_all_assignments(costs_by_pairs(window), window.sizes.tolist()))
        assert allocation.proven and all(is_static(window, nodes) for nodes in allocation.nodes)
        full += window.sizes.sum() == len(window.idle)
        repeated += len(set(window.sizes.tolist())) < len(window.sizes)
    assert min(full, repeated) > 100  # the cases that are easy to get wrong are among these


def test_jobs_across_the_end() -> None:
    """Costs that come from no tree: a job across the end is as often cheap as any other."""
    rng = np.random.default_rng(7)
    across = 0
    for _ in range(1000):
        window = small_window(rng)
        sizes, kind, counts = np.unique(window.sizes, return_inverse=True, return_counts=True)
        costs = rng.integers(0, 30, (len(sizes), len(window.idle))).astype(np.float64)
        starts, least = least_starts(costs, sizes, counts)
        assert least == pytest.approx(least_of_all_assignments(costs[np.sort(kind)], np.sort(window.sizes).tolist()))
        assert least == pytest.approx(costs[np.sort(kind), starts].sum())
        across += (starts + np.sort(window.sizes) > len(window.idle)).any()
    assert across > 100


def test_a_job_across_the_end_pays_where_all_others_gain_more() -> None:
    """Two leaves of two nodes between single ones. The pairs fill them, so the third pair lies across the end."""
    tree = regular_tree((2, 4), (1, 9))
    window = Window(tree, np.array([0, 2, 3, 4, 5, 6]), np.array([2, 2, 2]))
    assert scas_allocation(window).cost == 1.0 + 1.0 + 9.0
    assert sequential_allocation(window).cost == 3 * 9.0


def test_many_jobs_of_few_sizes() -> None:
    window = Window(PAPERS_TREE, np.arange(1000), np.repeat([3, 10, 30], [20, 20, 10]))
    allocation = scas_allocation(window)
    check_allocation(window, allocation)
    assert allocation.cost <= sequential_allocation(window).cost


def test_a_window_with_too_many_jobs_names_the_other_solver() -> None:
    window = Window(fat_tree(20), np.arange(1000), np.arange(1, 30))
    assert scas_cells(window) > MOST_SCAS_CELLS
    with pytest.raises(ValueError, match=r"29 jobs on 1000 idle nodes are too many .* use flow_allocation"):
        scas_allocation(window)


def test_a_window_without_jobs() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([], dtype=np.int64))
    assert scas_allocation(window).cost == 0.0 and scas_allocation(window).nodes == ()


def test_never_worse_than_sequential() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        window = window_of_papers_size(rng)
        assert scas_allocation(window).cost <= sequential_allocation(window).cost + 1e-9
