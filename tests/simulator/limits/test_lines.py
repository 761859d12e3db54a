"""Lines of waiting jobs: what a group may have, and when the next of its jobs is free."""

from __future__ import annotations

import numpy as np

from simulator.engine import episode as at
from simulator.jobs.cluster import FOREVER, Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import tasks_of
from simulator.limits.lines import (
    ACTIVE,
    Orders,
    count_end,
    count_start,
    join_line,
    leave_line,
    new_limited_episode,
    rooms,
    wake_of_group,
)
from simulator.limits.rules import OUTSTANDING, RUNNING_JOBS, USED, JobLimit, slots_of_limits

n = np.array
JOBS = Jobs(n([0, 0, 0, 0]), n([5] * 4), n([2, 1, 3, 1]), n([10, 10, 10, 20]), n([10, 10, 10, 20]))
TASKS = tasks_of(JOBS, Cluster(4))
ORDERS = Orders(n([0, 1, 2, 3]), n([0, 1, 2, 3]), n([0, 1, 2, 3]), False)


def test_a_line_is_in_the_order_of_the_policy_and_empties() -> None:
    slots = slots_of_limits([JobLimit(RUNNING_JOBS, 1, n([0, 0, 0, 0]))], [], TASKS)
    episode = new_limited_episode(TASKS, slots, 4)
    for job in (2, 0, 1):
        join_line.py_func(TASKS, slots, ORDERS, episode, job)
    assert episode.line[:3].tolist() == [0, 1, 2] and episode.narrow[0] == 1 and episode.light[0] == 10
    assert leave_line.py_func(slots, episode, 0, 1, 1) == 1  # the next has moved up
    assert episode.stale[0] == 1 and episode.counters[at.QUEUED] == 2
    assert leave_line.py_func(slots, episode, 0, 0, 0) == 1
    assert leave_line.py_func(slots, episode, 0, 1, 2) == 2
    assert episode.counters[ACTIVE] == 0 and episode.counters[at.QUEUED] == 0


def test_rooms_shrink_and_come_back() -> None:
    limits = [
        JobLimit(OUTSTANDING, 40, n([0] * 4)),
        JobLimit(USED, 25, n([0] * 4)),
        JobLimit(RUNNING_JOBS, 2, n([0] * 4)),
    ]
    slots = slots_of_limits(limits, [], TASKS)
    episode = new_limited_episode(TASKS, slots, 4)
    state = (slots, episode.running, episode.level, 0)
    assert rooms(*state, 0) == (FOREVER, FOREVER)  # nothing runs: a job may be over the bound by itself
    count_start(TASKS, slots, episode.running, episode.level, 2, 0)
    assert rooms(*state, 0) == (FOREVER, 10)  # 30 of 40 are promised
    assert rooms(*state, 4) == (FOREVER, 22)
    assert rooms(*state, 9) == (-1, -1)  # 27 of 25 are used
    count_end(TASKS, slots, episode.running, episode.level, 2, 0, 5)
    assert rooms(*state, 9) == (FOREVER, FOREVER)
    assert episode.level.tolist() == [0, 15, 0]


def test_time_alone_frees_a_job() -> None:
    slots = slots_of_limits([JobLimit(OUTSTANDING, 30, n([0] * 4))], [], TASKS)
    episode = new_limited_episode(TASKS, slots, 4)
    count_start(TASKS, slots, episode.running, episode.level, 2, 0)
    assert wake_of_group(slots, ORDERS, episode, 0, 0) == FOREVER  # nobody waits
    for job in (0, 3):
        join_line.py_func(TASKS, slots, ORDERS, episode, job)
    assert wake_of_group(slots, ORDERS, episode, 0, 0) == 7  # 30 - 3 * 7 + 20 <= 30
