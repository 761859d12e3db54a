"""The state before the first event."""

from __future__ import annotations

import numpy as np

from simulator.engine.episode import NUM_COUNTERS, UNPROTECTED, new_episode
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import tasks_of
from tests.simulator.busy import PROCS, busy_jobs

n = np.array


def test_a_new_episode_knows_the_running_jobs_only() -> None:
    jobs = busy_jobs(20)
    running = RunningJobs(jobs.submit[:1], n([50]), n([2]), n([50]), n([50]), n([0]))
    tasks = tasks_of(jobs, Cluster(PROCS, running))
    episode = new_episode(tasks, PROCS, users=3, plans=True, inputs=4)
    assert episode.start.tolist() == [jobs.submit[0]] + [CANCELLED] * 20
    assert episode.counters.tolist() == [0] * NUM_COUNTERS
    assert (episode.reserved == UNPROTECTED).all()
    assert (len(episode.usage), episode.rows.shape[1]) == (4, 4)


def test_what_the_rules_do_not_need_takes_no_room() -> None:
    episode = new_episode(tasks_of(busy_jobs(20), Cluster(PROCS)), PROCS, users=0, plans=False, inputs=0)
    assert [len(column) for column in (episode.reserved, episode.ended, episode.promised, episode.plan_time)] == [1] * 4
