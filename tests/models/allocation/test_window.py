"""Windows that make no sense are refused, and so are allocations that are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.allocation.window import Window, cost_of_hops
from simulator.topology.hops import hop_cost, pair_hops
from simulator.topology.tree import fat_tree
from tests.models.allocation.windows import check_allocation, integer_hop_cost

TREE = fat_tree(4)
IDLE = np.array([0, 1, 4, 5, 9])


@pytest.mark.parametrize(
    ("idle", "sizes", "message"),
    [
        ([0, 1, 1], [2], "sort them, and remove those named twice"),
        ([3, 2], [2], "ascending"),
        ([-1, 2], [2], "not all in the tree, whose nodes are 0 to 15"),
        ([2, 16], [2], "remove the others, or give a larger tree"),
        ([2, 3], [2, 0], "a job needs at least 1 node, got 0"),
        ([2, 3], [2, 1], "the jobs need 3 nodes, 2 are idle: leave jobs to the next window"),
        ([[2, 3]], [2], "plain lists"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused_with_the_remedy(idle: list, sizes: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Window(TREE, np.array(idle), np.array(sizes))


def test_a_window_may_have_no_jobs_and_no_idle_nodes() -> None:
    window = Window(TREE, np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    allocation = window.allocation([], 0.0, 0.0)
    check_allocation(window, allocation)
    assert allocation.proven and allocation.gap == 0.0


@pytest.mark.parametrize("integer", [False, True])
def test_the_cost_is_the_sum_over_jobs(integer: bool) -> None:
    window = Window(TREE, IDLE, np.array([1, 3]), integer)
    nodes = [np.array([4]), np.array([0, 1, 9])]
    cost = integer_hop_cost if integer else hop_cost
    assert window.cost_of(nodes) == pytest.approx(sum(cost(TREE, job) for job in nodes))
    for job in nodes:
        assert cost_of_hops(pair_hops(TREE, job), len(job), integer) == pytest.approx(cost(TREE, job))


def test_a_bound_gives_a_gap_and_a_proof() -> None:
    window = Window(TREE, IDLE, np.array([2, 2]))
    nodes = [np.array([0, 1]), np.array([5, 9])]  # 2 hops each way in a leaf, 6 across pods
    assert window.allocation(nodes, 0.0).gap is None
    assert window.allocation(nodes, 0.0, 4.0).gap == pytest.approx(0.5)
    proven = window.allocation(nodes, 0.0, 8.0 + 1e-12)
    assert proven.proven and proven.gap == 0.0 and not window.allocation(nodes, 0.0, 7.9).proven


def test_an_allocation_that_is_none_is_refused() -> None:
    window = Window(TREE, IDLE, np.array([2, 2]))
    right = window.allocation([np.array([0, 1]), np.array([4, 5])], 0.0)
    check_allocation(window, right)
    for nodes, message in [
        (([0, 1], [4]), r"jobs of \[2, 2\] nodes were given \[2, 1\]"),
        (([0, 1], [1, 4]), "node 1 has two jobs"),
        (([0, 0], [4, 5]), "node 0 has two jobs"),
        (([0, 1], [4, 6]), "node 6 is not idle"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_allocation(window, replace(right, nodes=tuple(np.array(job) for job in nodes)))
    with pytest.raises(ValueError, match=r"the nodes cost 4\.0, not 3\.0"):
        check_allocation(window, replace(right, cost=3.0))
