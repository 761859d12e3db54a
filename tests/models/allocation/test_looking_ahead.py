"""Choosing jobs and nodes together, on small trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.allocation.looking_ahead import (
    CODES_VALUES,
    PAPERS_VALUES,
    LookingAheadReplayer,
    StartValues,
    looking_ahead,
)
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.topology.closed_loop import NodeJobs, PeriodState, published_jobs, run_closed_loop
from simulator.topology.hops import hop_cost
from simulator.topology.rounding import in_periods
from simulator.topology.tree import regular_tree
from simulator.topology.units import node_units, units_of
from tests.models.allocation.windows import CODES_TREE, PAPERS_TREE

TREE = regular_tree((2, 2, 2))
EASY_GOING = StartValues(start=0.5, wait=0.1, bend=1.0, power=1.0, left=(0.01, 0.01), guard=50, tries=200)


def state_of(idle: list[int], sizes: list[int], periods: list[int], tree=TREE) -> PeriodState:
    jobs = NodeJobs(np.zeros(len(sizes), np.int64), np.full(len(sizes), 100), np.array(sizes))
    is_idle = np.zeros(tree.nodes, dtype=bool)
    is_idle[idle] = True
    return PeriodState(
        60, jobs, list(range(len(sizes))), np.array(periods), is_idle, {}, np.zeros(len(sizes), np.int64)
    )


def chosen(state: PeriodState, values: StartValues, tree=TREE) -> dict[int, list[int]]:
    return {job: nodes.tolist() for job, nodes in looking_ahead(tree, values, 0)(state).items()}


def test_a_job_that_suits_the_idle_nodes_goes_before_one_that_does_not() -> None:
    """Two idle nodes in one leaf and one in another pod: the pair starts, the job of three waits."""
    assert chosen(state_of([0, 1, 6], [3, 2], [1, 0]), EASY_GOING) == {1: [0, 1]}


def test_nobody_passes_a_job_that_has_waited_for_long() -> None:
    guarded = replace(EASY_GOING, guard=1)
    assert chosen(state_of([0, 1, 6], [3, 2], [1, 0]), guarded) == {0: [0, 1, 6]}
    assert chosen(state_of([0, 1, 6], [4, 2], [1, 0]), guarded) == {}
    assert chosen(state_of([0, 1, 6], [2, 4, 1], [2, 1, 0]), guarded) == {0: [0, 1]}


def test_a_job_waits_for_a_better_place_until_its_value_is_higher_than_the_loss() -> None:
    """Alone it costs 2; on nodes of two pods 6."""
    few = [0, 6]
    loses = hop_cost(TREE, np.array(few)) - 2.0
    assert loses == 4.0
    plain = replace(EASY_GOING, left=())
    for periods, starts in ((1, False), (14, False), (16, True)):  # worth 2 * (0.5 + 0.1 * periods)
        assert bool(chosen(state_of(few, [2], [periods]), plain)) is starts


def test_idle_pairs_have_a_value() -> None:
    """The last node of a broken leaf costs a job of one node as much as any; only the value of pairs sends it there."""
    valued = replace(EASY_GOING, left=(0.1,))
    assert chosen(state_of([0, 1, 2], [1], [0]), valued) == {0: [2]}


def test_no_run_time_is_read_unless_it_is_asked_for() -> None:
    jobs = published_jobs(80, 5)
    other = NodeJobs(jobs.arrival, jobs.runtime[::-1].copy(), jobs.size)
    values = replace(PAPERS_VALUES, tries=20)
    given = []
    for weight, some in ((0.0, jobs), (0.0, other), (9.0, jobs), (9.0, other)):
        state = PeriodState(
            60, some, list(range(4, 12)), np.zeros(80, np.int64), np.ones(1000, bool), {}, np.zeros(80, np.int64)
        )
        for job, first in ((0, 100), (1, 300)):
            state.running[job] = np.arange(first, first + int(some.size[job]))
            state.idle[state.running[job]] = False
            state.end[job] = 500 + 5000 * job
        started = looking_ahead(PAPERS_TREE, replace(values, ends=weight), 0)(state)
        given.append({job: nodes.tolist() for job, nodes in started.items()})
    assert given[0] == given[1] and given[2] != given[3]


@pytest.mark.parametrize(("tree", "values"), [(PAPERS_TREE, PAPERS_VALUES), (CODES_TREE, CODES_VALUES)])
def test_all_jobs_start_and_the_same_seed_gives_the_same_schedule(tree, values) -> None:
    jobs = published_jobs(150, 7)
    few = replace(values, tries=10)
    one, other = (run_closed_loop(tree, jobs, looking_ahead(tree, few, 3)) for _ in range(2))
    assert (one.start >= jobs.arrival).all() and one.start.tolist() == other.start.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(one.nodes, other.nodes, strict=True))


@pytest.mark.parametrize(
    ("change", "says"),
    [({"tries": 0}, "tries"), ({"guard": 0}, "guard"), ({"left": (-1.0,)}, "below 0"), ({"wait": 0.0}, "for ever")],
)
def test_values_that_make_no_search_are_refused(change: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(EASY_GOING, **change)


def test_a_tree_must_have_a_level_for_each_value() -> None:
    with pytest.raises(ValueError, match="below its top"):
        looking_ahead(regular_tree((4, 4)), PAPERS_VALUES, 0)


def test_a_replay_is_the_protocol_on_the_units_of_a_machine() -> None:
    """The published jobs, which are those of the protocol, start at the same seconds on the same nodes."""
    work, tree = published_jobs(60, 3), regular_tree((4, 4, 3))
    jobs = Jobs(work.arrival, work.runtime, work.size, work.runtime, work.runtime)
    expected = run_closed_loop(tree, work, looking_ahead(tree, replace(PAPERS_VALUES, guard=5), 2))
    rounded, _ = in_periods(jobs, tree.nodes, 60)
    for units in (node_units(tree), units_of(tree, tree.nodes, 1)):
        outcome = LookingAheadReplayer(units, 60, guard=5, seed=2).replay(rounded, Cluster(tree.nodes))
        schedule, placement = outcome.schedule, outcome.placement
        assert placement is not None
        assert schedule.start.tolist() == expected.start.tolist()
        assert all(placement.units_of(job).tolist() == nodes.tolist() for job, nodes in enumerate(expected.nodes))
    later = [bool((expected.start[:job] > start).any()) for job, start in enumerate(expected.start)]
    assert schedule.backfilled.tolist() == later
