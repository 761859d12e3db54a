"""What a replay under limits counts, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.limits.replaying import LimitedReplayer
from simulator.limits.rules import OUTSTANDING, RUNNING_JOBS, RUNNING_PROCS, JobLimit

n = np.array
JOBS = Jobs(n([0, 0, 1]), n([5, 5, 5]), n([1, 2, 1]), n([5, 5, 5]), n([5, 5, 5]), user=n([0, 0, 1]))


def test_jobs_that_are_held_for_ever_are_counted() -> None:
    outcome = LimitedReplayer(OrderReplayer(), [JobLimit(RUNNING_JOBS, n([0, 9]), JOBS.user)]).replay(JOBS, Cluster(4))
    assert outcome.schedule.start.tolist() == [CANCELLED, CANCELLED, 1]
    assert outcome.counts == {"jobs_never_started": 2, "jobs_over_a_limit_alone": 0}


def test_a_job_over_a_bound_by_itself_starts_alone() -> None:
    limits = [JobLimit(RUNNING_PROCS, 1, JOBS.user), JobLimit(OUTSTANDING, 9, JOBS.user)]
    outcome = LimitedReplayer(OrderReplayer(), limits).replay(JOBS, Cluster(4))
    assert outcome.schedule.start.tolist() == [0, 5, 1]
    assert outcome.counts == {"jobs_never_started": 0, "jobs_over_a_limit_alone": 1}


def test_time_alone_may_be_no_event() -> None:
    jobs = Jobs(n([0, 0]), n([9, 9]), n([1, 1]), n([10, 10]), n([10, 10]))
    limits = [JobLimit(OUTSTANDING, 15, n([0, 0]))]
    starts = [
        LimitedReplayer(OrderReplayer(), limits, wakes=wakes).replay(jobs, Cluster(2)).schedule.start.tolist()
        for wakes in (True, False)
    ]
    assert starts == [[0, 5], [0, 9]]


@pytest.mark.parametrize(
    ("order", "cluster", "message"),
    [
        (OrderReplayer("WFP3"), Cluster(4), "must be known at submission"),
        (OrderReplayer("fairshare"), Cluster(4), "must be known at submission"),
        (OrderReplayer(backfill="conservative"), Cluster(4), "plan all waiting jobs"),
        (OrderReplayer(backfill="pick:by=shortest"), Cluster(4), "agents"),
        (OrderReplayer(), Cluster(4, RunningJobs(*(n([x]) for x in (0, 9, 1, 9, 9, 0)))), "leave the warm start out"),
    ],
)
def test_what_has_no_limits_is_refused(order: OrderReplayer, cluster: Cluster, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LimitedReplayer(order).replay(JOBS, cluster)
