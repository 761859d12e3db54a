"""Allocations without a search."""

from __future__ import annotations

import numpy as np

from models.allocation.sequential import best_fit_allocation, greedy_allocation, sequential_allocation
from models.allocation.window import Window
from simulator.topology.tree import fat_tree
from tests.models.allocation.windows import check_allocation, small_window


def test_jobs_take_the_first_nodes_one_after_another() -> None:
    window = Window(fat_tree(4), np.array([1, 2, 3, 8, 9, 12]), np.array([2, 3]))
    allocation = sequential_allocation(window)
    assert [job.tolist() for job in allocation.nodes] == [[1, 2], [3, 8, 9]]
    assert allocation.bound is None and not allocation.proven


def test_the_largest_job_chooses_first_and_later_ones_may_straddle_it() -> None:
    """Four nodes of the second pod for the job of four. The pair that is left lies on both sides of it."""
    window = Window(fat_tree(4), np.array([3, 4, 5, 6, 7, 8]), np.array([2, 4]))
    assert [job.tolist() for job in greedy_allocation(window).nodes] == [[3, 8], [4, 5, 6, 7]]


def test_a_job_may_go_around_the_end() -> None:
    """Nodes 14 and 15, and 0 and 1, fill leaves. The pair goes to the first leaf that costs least, then around."""
    window = Window(fat_tree(4), np.array([0, 5, 10, 15]), np.array([3, 1]))
    allocation = greedy_allocation(window)
    check_allocation(window, allocation)
    assert sorted(np.concatenate(allocation.nodes).tolist()) == [0, 5, 10, 15]


def test_best_fit_takes_the_lowest_switch_with_room_and_there_the_fullest_leaves() -> None:
    """The pair fits two leaves, and takes the first. Three fit into the last pod only, where the full leaf comes first."""
    window = Window(fat_tree(4), np.array([0, 1, 3, 4, 6, 7]), np.array([2, 3]))
    assert [job.tolist() for job in best_fit_allocation(window).nodes] == [[0, 1], [4, 6, 7]]


def test_every_allocation_is_one() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        window = small_window(rng)
        for solve in (sequential_allocation, best_fit_allocation, greedy_allocation):
            check_allocation(window, solve(window))
