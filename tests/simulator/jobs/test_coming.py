"""When jobs come whose submission the schedule decides."""

from __future__ import annotations

import numpy as np

from simulator.jobs.cluster import Cluster, Outages, RunningJobs
from simulator.jobs.coming import note_cancellation, task_to_come
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.tasks import closed_tasks_of

n = np.array
COLUMN = n([10, 10, 10])
JOBS = Jobs(
    n([5, 6, 7]),
    COLUMN,
    COLUMN,
    COLUMN,
    COLUMN,
    cancel=n([NEVER, 8, 17]),
    after=n([NO_JOB, NO_JOB, 0]),
    think=n([0, 0, 4]),
)


def test_loops_read_what_is_noted_when_a_job_comes() -> None:
    """The third is submitted at 20 instead of 7, and waits ten seconds as in the log."""
    tasks = closed_tasks_of(JOBS, Cluster(20))
    coming = tasks.coming
    assert coming.order.tolist() == [NO_JOB, 0, 1] and tasks.submit.tolist() == [5, 6, NEVER_SUBMITTED]
    assert task_to_come(coming, 1) == 0
    coming.submit[2] = 20
    begin = note_cancellation(coming, 2, 2)
    begin = note_cancellation(coming, note_cancellation(coming, begin, 0), 1)
    assert (begin, tasks.cancel_order.tolist(), tasks.cancel.tolist()) == (0, [1, 2], [NEVER, 8, 30])
    assert not tasks.submit.flags.writeable and not tasks.cancel.flags.writeable


def test_running_jobs_come_before_and_outages_behind() -> None:
    running = RunningJobs(n([0]), n([90]), n([2]), n([100]), n([100]), n([0]))
    tasks = closed_tasks_of(JOBS, Cluster(20, running, Outages(n([50]), n([60]), n([3]), n([50]))))
    assert tasks.coming.order.tolist() == [0, NO_JOB, 1, 2]
    assert tasks.coming.chain.first.tolist() == [NO_JOB, 3, NO_JOB, NO_JOB]
    assert tasks.submit.tolist() == [0, 5, 6, NEVER_SUBMITTED, 50]


def test_in_an_open_replay_tasks_come_in_their_order() -> None:
    tasks = closed_tasks_of(JOBS.without_followers(), Cluster(20))
    assert not len(tasks.coming.order) and task_to_come(tasks.coming, 2) == 2
    assert tasks.cancel.tolist() == [NEVER, 8, 17]
