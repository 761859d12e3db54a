"""The state of the fast engine, and how jobs join and leave its queue, which is a list or a tree (queue_tree.py)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined
from simulator.engine import episode as at
from simulator.engine.queue_tree import (
    BACK,
    NOTHING,
    SHORT,
    Queue,
    enter_list,
    enter_tree,
    leave_list,
    leave_tree,
    list_to_tree,
    next_in_tree,
    tree_to_list,
)
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import Tasks

IntArray = NDArray[np.int64]

DEEP, HEAD, SETTLED, RESERVED, SHADOW, EXTRA = range(at.PAUSE + 1, at.PAUSE + 7)
"""Counters beside those of both engines. DEEP: the queue is in the tree. HEAD: the first rank that waits. SETTLED: a pass has
settled what may start behind the blocked head. New submissions change none of it: shadow time and extra processors stay, and who
was refused is refused again with less time to the shadow time. RESERVED: the SHADOW time and the EXTRA processors are those of
this head."""


class Queues(NamedTuple):
    """The waiting jobs in the order of the policy, and in that in which jobs behind the head are tried."""

    order: Queue  # by (score, task)
    fill: Queue  # by (estimate, task) if shortest_first, else the same as `order`
    shortest_first: bool


class StaticEpisode(NamedTuple):
    """The tasks that run, and the schedule so far; see simulator.engine.episode.Episode."""

    counters: IntArray  # (EXTRA + 1,)
    heap_end: IntArray  # (most that run at once,)
    heap_job: IntArray  # (most that run at once,)
    est_end: IntArray  # (most that run at once,)
    est_job: IntArray  # (most that run at once,)
    believed: IntArray  # (tasks,)
    start: IntArray  # (tasks,)
    backfilled: NDArray[np.bool_]  # (tasks,)


def new_static_episode(tasks: Tasks, cluster_procs: int) -> StaticEpisode:
    """The state before the first event."""
    num_tasks = len(tasks.submit)
    most_running = min(num_tasks, cluster_procs + num_tasks - tasks.last)
    start = np.full(num_tasks, CANCELLED, dtype=np.int64)
    start[: tasks.first] = tasks.submit[: tasks.first]
    return StaticEpisode(
        counters=np.zeros(EXTRA + 1, dtype=np.int64),
        heap_end=np.empty(most_running, dtype=np.int64),
        heap_job=np.empty(most_running, dtype=np.int64),
        est_end=np.empty(most_running, dtype=np.int64),
        est_job=np.empty(most_running, dtype=np.int64),
        believed=np.empty(num_tasks, dtype=np.int64),
        start=start,
        backfilled=np.zeros(num_tasks, dtype=np.bool_),
    )


@inlined
def join_queue(tasks, queues, episode, job):
    """The job joins the queue, which moves into the tree when it outgrows the list."""
    counters, order, fill = episode.counters, queues.order, queues.fill
    queued = counters[at.QUEUED]
    if not counters[DEEP] and queued == SHORT:
        list_to_tree(order)
        if queues.shortest_first:
            list_to_tree(fill)
        counters[DEEP] = True
    if counters[DEEP]:
        enter_tree(order, job)
        if queues.shortest_first:
            enter_tree(fill, job)
    else:
        enter_list(order.rows, queued, order.rank[job], tasks.procs[job], tasks.admit[job])
        if queues.shortest_first:
            enter_list(fill.rows, queued, fill.rank[job], tasks.procs[job], tasks.admit[job])
    counters[at.QUEUED] = queued + 1
    counters[HEAD] = min(counters[HEAD], order.rank[job])


@inlined
def leave_queues(queues, episode, job):
    """The job leaves the queue, which moves back into the list when it has become short."""
    counters, order, fill = episode.counters, queues.order, queues.fill
    queued = counters[at.QUEUED] - 1
    counters[at.QUEUED] = queued
    if counters[DEEP]:
        leave_tree(order, job)
        if queues.shortest_first:
            leave_tree(fill, job)
        if queued == BACK:
            tree_to_list(order)
            if queues.shortest_first:
                tree_to_list(fill)
            counters[DEEP] = False
    else:
        leave_list(order.rows, queued + 1, order.rank[job])
        if queues.shortest_first:
            leave_list(fill.rows, queued + 1, fill.rank[job])
    if order.rank[job] == counters[HEAD]:
        counters[HEAD] = len(order.job_at)
        if counters[DEEP]:
            counters[HEAD] = next_in_tree(order, order.rank[job], NOTHING, 0, 0)
        elif queued > 0:
            counters[HEAD] = order.rows[0, 0]
