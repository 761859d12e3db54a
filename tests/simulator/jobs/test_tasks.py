"""What the compiled loops read: running jobs, jobs and outages in one set of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster, Outages, RunningJobs
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.tasks import tasks_of

n = np.array
JOBS = Jobs(n([100, 110]), n([5, 5]), n([1, 2]), n([5, 5]), n([5, 5]), cancel=n([NEVER, 120]))


def test_running_jobs_stand_before_and_outages_after_the_jobs() -> None:
    running = RunningJobs(n([90]), n([20]), n([1]), n([30]), n([30]), n([4]))
    outages = Outages(n([150, 60]), n([160, 130]), n([1, 2]), n([140, 60]))
    tasks = tasks_of(JOBS, Cluster(4, running, outages))
    assert (tasks.first, tasks.last) == (1, 3)
    assert tasks.submit.tolist() == [90, 100, 110, 100, 150], "outages by start, cut to the replay"
    assert tasks.runtime.tolist() == [20, 5, 5, 30, 10]
    assert tasks.procs.tolist() == [1, 1, 2, 2, 1]
    assert (tasks.announced.tolist(), tasks.announced_task.tolist()) == ([140], [4])
    assert tasks.cancel_order.tolist() == [2]


def test_an_outage_that_is_over_is_left_out() -> None:
    tasks = tasks_of(JOBS, Cluster(4, outages=Outages(n([10]), n([100]), n([1]), n([10]))))
    assert len(tasks.submit) == 2


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="job at index 1 needs 2 processors, the cluster has 1"):
        tasks_of(JOBS, Cluster(1))
    over = RunningJobs(n([10]), n([20]), n([1]), n([30]), n([30]), n([4]))
    with pytest.raises(ValueError, match="does not run at 100, when the first job is submitted: it runs from 10 to 30"):
        tasks_of(JOBS, Cluster(4, over))
