"""Tests of simulator/limits: replaying."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster, Outages, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.limits.replaying import LimitedReplayer, UsedBefore
from simulator.limits.rules import OUTSTANDING, RUNNING_JOBS, RUNNING_PROCS, USED, JobLimit, StartGate
from simulator.limits.shares import ShareTree
from tests.simulator.busy import PROCS, busy_jobs

IntArray = NDArray[np.int64]
JOBS = busy_jobs(300, load=1.5, users=6)
HOUR_S = 3600
BEGIN_S = int(JOBS.submit[0]) // 600 * 600
"""Of hours and changes, which come when a scheduler looks that does so once a cycle."""
AWAY_S = BEGIN_S + HOUR_S * np.array([5, 15, 40])
AWAY = Outages(AWAY_S, AWAY_S + HOUR_S * np.array([3, 9, 4]), np.array([10, 32, 5]), AWAY_S - 2 * HOUR_S)


def limits_of(jobs: Jobs, rows: IntArray) -> list[JobLimit]:
    """Of some rows of all jobs: limits on each of the four things, one of which changes, and one that is over after a while."""
    user = jobs.user[rows]
    changes = [[BEGIN_S + 8 * HOUR_S, 0, 12], [BEGIN_S + 20 * HOUR_S, 0, 40]]
    return [
        JobLimit(RUNNING_JOBS, 3, user),
        JobLimit(RUNNING_PROCS, np.full(6, 20), user, np.array(changes)),
        JobLimit(OUTSTANDING, 30 * HOUR_S, user // 2),
        JobLimit(USED, 200 * HOUR_S, np.where(user == 1, 0, -1)),
    ]


def gates_of(jobs: Jobs, rows: IntArray) -> list[StartGate]:
    """Wide jobs start in every other three hours."""
    return [StartGate(jobs.procs[rows] > 8, np.arange(BEGIN_S, 200 * HOUR_S, 3 * HOUR_S))]


def tree_of(jobs: Jobs, rows: IntArray) -> ShareTree:
    """Two accounts above six users."""
    user = jobs.user[rows]
    return ShareTree(np.column_stack([user % 2, 2 + user]), np.array([2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 3.0, 1.0]))


def replayer_for(order: OrderReplayer, rows: IntArray, cycle_s: int, **others: object) -> LimitedReplayer:
    rules = limits_of(JOBS, rows), gates_of(JOBS, rows), tree_of(JOBS, rows)
    return LimitedReplayer(order, *rules, wakes=not cycle_s, cycle_s=cycle_s, **others)


def starts_from(
    second: int, start: IntArray, make: Callable[..., LimitedReplayer], outages: Outages
) -> tuple[IntArray, IntArray]:
    """Rows of the jobs that start in a second or later, and their starts in a replay that begins then. start: of the whole replay."""
    ran = (start >= 0) & (start < second)
    end = start + JOBS.runtime
    ended, running = np.flatnonzero(ran & (end <= second)), np.flatnonzero(ran & (end > second))
    gone = ~ran & (JOBS.cancel < second)
    later = np.flatnonzero(~ran & ~gone)
    before = RunningJobs(
        *(start[running], JOBS.runtime[running], JOBS.procs[running], JOBS.estimate[running], JOBS.limit[running]),
        *(JOBS.user[running], JOBS.hold[running]),
    )
    replayer = make(
        np.concatenate([ended, running, later]), ended=UsedBefore(start[ended], end[ended], JOBS.procs[ended])
    )
    waiting = int((JOBS.submit[later] < second).sum())
    cluster = Cluster(PROCS, before, outages, waiting=waiting, begin=second)
    return later, replayer.replay(JOBS.only(later), cluster).schedule.start


@pytest.mark.parametrize(
    ("order", "cycle_s", "outages"),
    [
        (OrderReplayer("FCFS", "easy"), 0, Outages()),
        (OrderReplayer("FCFS", "easy", "doubling"), 600, AWAY),
        (OrderReplayer("SAF", "any"), 0, Outages()),
        (OrderReplayer("fairshare", "easy"), 0, AWAY),
        (OrderReplayer("fairshare", "none"), 60, Outages()),
        (OrderReplayer("FCFS", "easy-sjbf"), 0, Outages()),
    ],
)
def test_a_replay_that_begins_on_the_way_goes_on_as_the_whole_one(
    order: OrderReplayer, cycle_s: int, outages: Outages
) -> None:
    def make(rows: IntArray, **others: object) -> LimitedReplayer:
        return replayer_for(order, rows, cycle_s, **others)

    start = make(np.arange(len(JOBS))).replay(JOBS, Cluster(PROCS, outages=outages)).schedule.start
    for second in JOBS.submit[[60, 150, 210, 270]].tolist():
        later, goes_on = starts_from(second, start, make, outages)
        assert (JOBS.submit[later] < second).sum() > 2 and (start < second).sum() > 10
        assert goes_on.tolist() == start[later].tolist()


n = np.array
RUNNING = RunningJobs(n([0]), n([90]), n([2]), n([100]), n([100]), n([0]))


@pytest.mark.parametrize(
    ("limit", "starts"),
    [
        (JobLimit(RUNNING_JOBS, 1, n([0, 0, 1])), [90, 20]),
        (JobLimit(RUNNING_PROCS, 2, n([0, 0, 1])), [90, 20]),
        (JobLimit(OUTSTANDING, 180, n([0, 0, 1])), [30, 20]),
        (JobLimit(USED, 60, n([0, 0, 1])), [20, 20]),
        (JobLimit(USED, 30, n([0, 0, 1])), [-1, 20]),
    ],
)
def test_what_runs_counts_and_the_first_pass_is_at_the_beginning(limit: JobLimit, starts: list[int]) -> None:
    """A job holds two processors from 0 to 90. Two of one processor and 20 s wait when the replay begins at 20."""
    jobs = Jobs(n([5, 6]), n([20, 20]), n([1, 1]), n([40, 40]), n([40, 40]))
    cluster = Cluster(4, RUNNING, waiting=2, begin=20)
    assert LimitedReplayer(OrderReplayer(), [limit]).replay(jobs, cluster).schedule.start.tolist() == starts


def test_closed_gates_stop_no_job_that_runs() -> None:
    jobs = Jobs(n([5, 6]), n([20, 20]), n([4, 1]), n([40, 40]), n([40, 40]))
    gate = StartGate(n([True, True, False]), n([10, 200]))
    replayer = LimitedReplayer(OrderReplayer(), gates=[gate])
    assert replayer.replay(jobs, Cluster(4, RUNNING, waiting=2, begin=20)).schedule.start.tolist() == [200, 20]


def test_what_has_ended_counts_for_shares_and_used_time() -> None:
    """Owners 0 and 1 have equal shares, and the first has used something."""
    jobs = Jobs(n([5, 6]), n([20, 20]), n([4, 4]), n([40, 40]), n([40, 40]))
    ended, cluster = UsedBefore(n([0]), n([4]), n([4])), Cluster(4, waiting=2, begin=20)
    tree = ShareTree(n([[0], [0], [1]]), n([1.0, 1.0]))
    by_shares = LimitedReplayer(OrderReplayer("fairshare"), shares=tree, ended=ended)
    assert by_shares.replay(jobs, cluster).schedule.start.tolist() == [40, 20]
    used_up = LimitedReplayer(OrderReplayer(), [JobLimit(USED, 16, n([0, 0, 1]))], ended=ended)
    assert used_up.replay(jobs, cluster).schedule.start.tolist() == [-1, 20]


def test_live_estimates_begin_on_an_empty_cluster() -> None:
    jobs = Jobs(n([5]), n([20]), n([4]), n([40]), n([40]))
    with pytest.raises(ValueError, match="leave the warm start out"):
        LimitedReplayer(OrderReplayer(), drive=print).replay(jobs, Cluster(4, RUNNING, begin=5))
