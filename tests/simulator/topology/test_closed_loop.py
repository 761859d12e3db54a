"""The published closed loop: the selection rule, what is refused, and the ideals of the reference."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.topology.closed_loop import (
    NodeJobs,
    PeriodState,
    published_jobs,
    run_closed_loop,
    selecting,
)
from simulator.topology.hops import hop_cost, pair_hops
from simulator.topology.tree import IntArray, regular_tree
from tests.models.allocation.windows import integer_hop_cost

PAPER, CODE = regular_tree((10, 10, 10)), regular_tree((10, 4, 25), (1, 3, 5))
SMALL = regular_tree((2, 2))


def in_order(idle: IntArray, sizes: IntArray) -> list[IntArray]:
    return np.split(idle[: sizes.sum()], np.cumsum(sizes)[:-1])


def node_jobs(*rows: tuple[int, int, int]) -> NodeJobs:
    return NodeJobs(*np.array(rows, dtype=np.int64).T)


def test_the_workload_of_the_public_code() -> None:
    jobs = published_jobs(20_000, 1)
    gaps = np.diff(jobs.arrival)
    assert (gaps.min(), gaps.max()) == (5, 30) and (jobs.size.min(), jobs.size.max()) == (2, 40)
    assert (jobs.runtime.min(), jobs.runtime.max()) == (10, 1800)
    load = (jobs.runtime * jobs.size).mean() / gaps.mean() / PAPER.nodes
    assert load == pytest.approx(1.09, abs=0.03)


def test_ideal_costs() -> None:
    """The reference's ideals, per job and times 1,000: sizes of 2 to 40 alike, and 1 to 40 with the public code's cost."""
    sizes = [np.arange(size) for size in range(1, 41)]
    assert 1000 * np.mean([hop_cost(PAPER, nodes) for nodes in sizes[1:]]) == pytest.approx(65_007, rel=1e-4)
    assert 1000 * np.mean([pair_hops(CODE, nodes) / len(nodes) for nodes in sizes[1:]]) == pytest.approx(
        22_503, rel=1e-4
    )
    assert 1000 * np.mean([hop_cost(PAPER, nodes) for nodes in sizes]) == pytest.approx(63_382, rel=1e-4)
    assert 1000 * np.mean([integer_hop_cost(CODE, nodes) for nodes in sizes]) == pytest.approx(21_600, rel=1e-4)


def test_jobs_start_at_periods_narrow_ones_first() -> None:
    jobs = node_jobs((1, 70, 3), (2, 10, 2), (3, 10, 1), (61, 10, 1))
    result = run_closed_loop(SMALL, jobs, selecting(in_order))
    assert result.start.tolist() == [120, 60, 60, 120]  # job 0 does not fit beside the narrower ones
    assert [nodes.tolist() for nodes in result.nodes] == [[0, 1, 2], [1, 2], [0], [3]]
    assert result.windows == [2, 2]


def test_who_has_waited_for_more_periods_goes_first_and_nobody_passes_it() -> None:
    jobs = node_jobs((1, 150, 3), (2, 10, 4), (61, 10, 1))
    result = run_closed_loop(SMALL, jobs, selecting(in_order))
    # At 120 the job of one node would fit. The job of four has waited for a period, and stops the selection.
    assert result.start.tolist() == [60, 240, 300]


def test_a_period_without_arrivals_and_ends_is_skipped() -> None:
    asked: list[int] = []

    def scheduler(state: PeriodState) -> dict[int, IntArray]:
        asked.append(state.now)
        return selecting(in_order)(state)

    run_closed_loop(SMALL, node_jobs((1, 400, 4), (61, 10, 1)), scheduler)
    assert asked == [60, 120, 480]


def test_at_most_so_many_jobs_a_window() -> None:
    jobs = published_jobs(100, 3)
    assert max(run_closed_loop(PAPER, jobs, selecting(in_order, most=5)).windows) == 5
    assert max(run_closed_loop(PAPER, jobs, selecting(in_order)).windows) > 5


@pytest.mark.parametrize("given", [[0, 1], [0], [0, 9]])
def test_nodes_that_are_not_idle_are_refused(given: list[int]) -> None:
    jobs = node_jobs((1, 100, 2), (61, 10, 2))
    with pytest.raises((ValueError, IndexError)):
        run_closed_loop(SMALL, jobs, lambda state: {state.queue[0]: np.array(given)})


def test_what_can_never_start() -> None:
    with pytest.raises(ValueError, match="5 nodes does not fit into a tree of 4"):
        run_closed_loop(SMALL, node_jobs((1, 10, 5)), selecting(in_order))
    with pytest.raises(ValueError, match="started none of 1 jobs"):
        run_closed_loop(SMALL, node_jobs((1, 10, 1)), lambda state: {})
