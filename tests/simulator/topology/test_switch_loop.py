"""The loop in which jobs wait for few switches, step by step. As a whole: test_switches."""

from __future__ import annotations

import numpy as np

from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule
from simulator.topology.switches import Switches, SwitchReplayer
from simulator.topology.tree import regular_tree
from simulator.topology.units import node_units

UNITS = node_units(regular_tree((4, 2)))


def jobs_of(*rows: tuple[int, int, int]) -> Jobs:
    """(submit, run time, processors), with exact estimates."""
    submit, runtime, procs = np.array(rows).T
    return Jobs(submit, runtime, procs, runtime, runtime)


def replayed(jobs: Jobs, wait_s: int) -> tuple[Schedule, Placement]:
    """First come, first served under EASY, where jobs wait for one leaf."""
    outcome = SwitchReplayer(OrderReplayer(), UNITS, Switches(1, wait_s)).replay(jobs, Cluster(8))
    assert outcome.placement is not None
    return outcome.schedule, outcome.placement


HALVES = ((0, 50, 2), (0, 5, 2), (0, 20, 2))
"""From 5 on two nodes of each leaf are idle, until 20."""


def test_a_job_waits_for_a_leaf() -> None:
    schedule, placement = replayed(jobs_of(*HALVES, (6, 10, 4)), 100)
    assert schedule.start.tolist() == [0, 0, 0, 20]
    assert placement.units_of(3).tolist() == [4, 5, 6, 7]


def test_the_scheduler_acts_when_the_wait_is_over() -> None:
    schedule, placement = replayed(jobs_of(*HALVES, (6, 10, 4)), 7)
    assert schedule.start.tolist() == [0, 0, 0, 13]
    assert placement.units_of(3).tolist() == [2, 3, 6, 7] and placement.leaves[3] == 2


def test_others_pass_a_job_that_is_put_off_and_are_not_backfilled() -> None:
    schedule, _ = replayed(jobs_of(*HALVES, (6, 10, 4), (7, 3, 2)), 100)
    assert schedule.start.tolist() == [0, 0, 0, 20, 7] and not schedule.backfilled.any()


def test_a_job_too_wide_for_so_few_leaves_does_not_wait() -> None:
    schedule, placement = replayed(jobs_of((0, 10, 5)), 100)
    assert schedule.start.tolist() == [0] and placement.leaves.tolist() == [2]
