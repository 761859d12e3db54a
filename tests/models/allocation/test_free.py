"""Free allocation against all partitions of small windows, and between its bound and the static optimum."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from models.allocation import free
from models.allocation.free import counts_of_nodes, free_allocation, least_costs
from models.allocation.leaves import idle_leaves
from models.allocation.scas import scas_allocation
from models.allocation.window import Window
from simulator.topology.tree import fat_tree, regular_tree
from tests.models.allocation.windows import PAPERS_TREE, check_allocation, small_window, window_of_papers_size


def least_of_all_partitions(window: Window) -> float:
    """Tries every set of idle nodes for every job."""

    def least(job: int, free: frozenset[int]) -> float:
        if job == len(window.sizes):
            return 0.0
        size = window.sizes[job : job + 1]
        alone = Window(window.tree, window.idle, size, window.integer)
        return min(
            alone.cost_of([np.array(nodes)]) + least(job + 1, free - set(nodes))
            for nodes in combinations(sorted(free), int(size[0]))
        )

    return least(0, frozenset(window.idle.tolist()))


def test_the_search_reaches_the_least_of_all_partitions() -> None:
    rng = np.random.default_rng(13)
    reached = 0
    windows = [small_window(rng, 3) for _ in range(120)]
    windows = [window for window in windows if len(window.idle) <= 7]
    for seed, window in enumerate(windows):
        least = least_of_all_partitions(window)
        for prove in (False, True):
            allocation = free_allocation(window, seed, prove=prove)
            check_allocation(window, allocation)
            assert allocation.bound is not None
            assert allocation.bound <= least + 1e-9 <= allocation.cost + 2e-9
            if allocation.proven:
                assert allocation.cost == pytest.approx(least)
            reached += abs(allocation.cost - least) < 1e-9
    assert reached >= 2 * len(windows) - 2


def test_free_lies_between_its_bound_and_the_static_optimum() -> None:
    rng = np.random.default_rng(14)
    gaps = []
    for seed in range(300):
        window = window_of_papers_size(rng)
        allocation = free_allocation(window, seed)
        check_allocation(window, allocation)
        static = scas_allocation(window).cost
        assert allocation.cost <= static + 1e-9
        if seed % 10 == 0:
            proof = free_allocation(window, seed, prove=True)
            check_allocation(window, proof)
            assert allocation.bound is not None and proof.bound is not None and proof.gap is not None
            assert allocation.bound - 1e-9 <= proof.bound <= min(allocation.cost, proof.cost, static) + 1e-9
            gaps.append(proof.gap)
    assert np.mean(gaps) < 0.02


def test_10_000_idle_nodes_and_130_jobs_are_proven() -> None:
    sizes = np.random.default_rng(15).integers(1, 41, 130)
    window = Window(regular_tree((10, 25, 40)), np.arange(10_000), sizes)
    allocation = free_allocation(window, 0)
    check_allocation(window, allocation)
    assert allocation.proven


def test_column_generation_proves_more_than_each_job_alone() -> None:
    """One leaf has four idle nodes, two have two. Alone, both jobs of four fit the first leaf; together, only one does."""
    window = Window(regular_tree((4, 3)), np.array([0, 1, 2, 3, 4, 5, 8, 9]), np.array([4, 4]))
    alone, proof = free_allocation(window, 0), free_allocation(window, 0, prove=True)
    assert alone.bound == pytest.approx(2 * 6.0) and not alone.proven
    assert proof.proven and proof.cost == alone.cost == pytest.approx(6.0 + 2 * (2 * 2 + 4 * 4) / 4)


def test_the_same_seed_gives_the_same_allocation() -> None:
    rng = np.random.default_rng(16)
    idle = np.sort(rng.permutation(1000)[:400])
    window = Window(PAPERS_TREE, idle, rng.integers(1, 41, 18))
    nodes = [np.concatenate(free_allocation(window, seed, 200, prove=True).nodes).tolist() for seed in (1, 1, 2)]
    assert nodes[0] == nodes[1] != nodes[2]


def test_the_search_ends_at_the_gap_that_is_asked_for() -> None:
    rng = np.random.default_rng(17)
    window = Window(PAPERS_TREE, np.sort(rng.permutation(1000)[:400]), rng.integers(1, 41, 14))
    early, late = (free_allocation(window, 0, 2000, prove=True, gap=gap) for gap in (0.02, 0.0))
    assert early.gap is not None and early.gap <= 0.02 and early.cost >= late.cost


def test_counts_and_costs_of_jobs() -> None:
    window = Window(fat_tree(4), np.array([0, 1, 2, 9]), np.array([2, 1]))
    leaves = idle_leaves(window)
    assert counts_of_nodes(window, leaves, (np.array([1, 2]), np.array([9]))).tolist() == [[1, 1, 0], [0, 0, 1]]
    assert least_costs(window, leaves).tolist() == [2.0, 0.0]


def test_a_window_without_jobs() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([], dtype=np.int64))
    assert free_allocation(window, 0, prove=True).cost == 0.0


def test_a_time_limit_is_read_between_parts_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    window = window_of_papers_size(np.random.default_rng(18), 12)
    window = Window(window.tree, window.idle, window.sizes)
    steps: list[int] = []
    search = free._search

    def counted(leaves: tuple, jobs: tuple, given: np.ndarray, guide: tuple, enough: float, seed: int) -> np.ndarray:
        steps.append(guide[1])
        return search(leaves, jobs, given, guide, enough, seed)

    monkeypatch.setattr(free, "_search", counted)
    short = free_allocation(window, 1, 800, prove=True, seconds=1e-9)
    check_allocation(window, short)
    assert steps == [100 // 16] and short.bound is not None and short.bound <= short.cost
    steps.clear()
    long = free_allocation(window, 1, 800, prove=True, seconds=1e6)
    assert sum(steps) == 100 + 2 * 800 and len(steps) > 32 and long.cost <= short.cost
    assert free_allocation(window, 1, 0).cost >= long.cost
