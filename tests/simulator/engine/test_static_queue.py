"""The queue of the fast engine: a list while it is short, a tree while it is long, and back."""

from __future__ import annotations

import numba

from simulator.engine import episode as at
from simulator.engine.queue_tree import BACK, SHORT, queue_by
from simulator.engine.static_queue import DEEP, HEAD, Queues, join_queue, leave_queues, new_static_episode
from simulator.jobs.cluster import Cluster
from simulator.jobs.tasks import tasks_of
from tests.simulator.busy import PROCS, busy_jobs


@numba.njit
def _join(tasks, queues, episode, job):
    join_queue(tasks, queues, episode, job)


@numba.njit
def _leave(queues, episode, job):
    leave_queues(queues, episode, job)


def test_the_head_is_the_first_rank_that_waits_in_list_and_tree() -> None:
    jobs = busy_jobs(SHORT + 20)
    tasks = tasks_of(jobs, Cluster(PROCS))
    order = queue_by(jobs.estimate, tasks.procs, tasks.estimate, 0)
    queues, episode = Queues(order, order, False), new_static_episode(tasks, PROCS)
    episode.counters[HEAD] = len(jobs)
    waiting: set[int] = set()
    moves = [(job, True) for job in range(len(jobs))] + [(job, False) for job in range(len(jobs) - 1)]
    depths = set()
    for job, joins in moves:
        if joins:
            _join(tasks, queues, episode, job)
            waiting.add(job)
        else:
            _leave(queues, episode, job)
            waiting.remove(job)
        assert episode.counters[at.QUEUED] == len(waiting)
        assert episode.counters[HEAD] == min(order.rank[waiting_job] for waiting_job in waiting)
        depths.add((bool(episode.counters[DEEP]), joins))
        assert not (episode.counters[DEEP] and len(waiting) <= BACK)
    assert depths == {(False, True), (True, True), (True, False), (False, False)}
