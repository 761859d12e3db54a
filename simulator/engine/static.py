"""The fast event loop, for priorities that are known at submission, without backfilling or with EASY.

Rules: docs/reference/semantics.md. It gives exactly the schedules of the general engine (simulator/engine/general.py), and tests
check that. Because every job's rank is known in advance, the queue is a tree (simulator/engine/queue_tree.py). The next job to start
is found in it without a scan. A job that arrives behind a head that stays blocked is decided without a pass over the queue.

The state of the fast engine, and how jobs join and leave its queue, which is a list or a tree (queue_tree.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.engine.episode import ANY, DONE, NO_BACKFILL, PAUSED, STUCK
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
    next_in_list,
    next_in_tree,
    tree_to_list,
)
from simulator.engine.running import correct_first, end_first, enter_running, reservation
from simulator.jobs.cluster import FOREVER
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


# --- static


NOBODY = -1


@lean
def run_static(tasks, rules, queues, episode):
    """Replays all jobs and fills episode.start and episode.backfilled. queues, episode: see simulator/engine/static.py.

    Returns DONE, PAUSED where it had to stop (another call continues), or STUCK when outages leave a job that can never start.
    """
    counters = episode.counters
    if counters[at.BEGUN] == 0:
        begin_static(tasks, rules, queues, episode)
    while counters[at.ARRIVED] < counters[at.LAST] or counters[at.QUEUED] > 0:
        if not next_static_event(tasks, episode):
            return STUCK
        if 0 < counters[at.PAUSE] <= counters[at.NOW] + 1:
            return PAUSED
        end_and_break_down(tasks, episode)
        next_cancel = cancellation_time(tasks, episode)
        if arrives_now(tasks, episode):
            decided = decided_alone(tasks, rules, queues, episode, next_cancel)
            lone = starts_alone(tasks, rules, queues, episode) if decided else np.int64(NOBODY)
            submit_to_queues(tasks, queues, episode, lone)
            if lone != NOBODY:
                episode.backfilled[lone] = counters[at.QUEUED] > 0
                start_behind_head(tasks, episode, lone)
                continue
            if decided:
                if counters[at.QUEUED] == 1:
                    counters[SETTLED], counters[RESERVED] = True, False
                continue
        elif next_cancel == counters[at.NOW]:
            counters[SETTLED] = False
        if next_cancel == counters[at.NOW]:
            cancel_static(tasks, queues, episode)
        start_static_front(tasks, queues, episode)
        if rules.backfill != NO_BACKFILL and counters[at.QUEUED] > 1 and counters[at.FREE] > 0:
            start_static_behind(tasks, rules, queues, episode)
    return DONE


@inlined
def begin_static(tasks, rules, queues, episode):
    """Sets the beginning: jobs that run already hold their processors, and no job waits."""
    counters = episode.counters
    counters[at.FREE], counters[at.BEGUN] = rules.cluster_procs, 1
    counters[at.ARRIVED], counters[at.OUTAGE], counters[at.LAST] = tasks.first, tasks.last, tasks.last
    counters[HEAD] = len(queues.order.job_at)
    for job in range(tasks.first):
        enter_running(tasks, episode, job, episode.start[job], episode.start[job] + tasks.hold[job])


@inlined
def cancellation_time(tasks, episode):
    """When the next cancellation comes. FOREVER if there is none."""
    cancelled = episode.counters[at.CANCELLATION]
    if cancelled < len(tasks.cancel_order):
        return tasks.cancel[tasks.cancel_order[cancelled]]
    return np.int64(FOREVER)


@inlined
def arrives_now(tasks, episode):
    """Whether the next job is submitted now."""
    counters = episode.counters
    return counters[at.ARRIVED] < counters[at.LAST] and tasks.submit[counters[at.ARRIVED]] == counters[at.NOW]


@inlined
def next_static_event(tasks, episode):
    """Moves the clock to the next event. False when there is none, so that what waits can never start."""
    counters, cancel_order = episode.counters, tasks.cancel_order
    while (
        counters[at.CANCELLATION] < len(cancel_order)
        and episode.start[cancel_order[counters[at.CANCELLATION]]] != CANCELLED
    ):
        counters[at.CANCELLATION] += 1  # it has started
    now = cancellation_time(tasks, episode)
    if counters[at.ARRIVED] < counters[at.LAST]:
        now = min(now, tasks.submit[counters[at.ARRIVED]])
    if counters[at.RUNNING] > 0:
        now = min(now, episode.heap_end[0])
    if counters[at.OUTAGE] < len(tasks.submit):
        now = min(now, tasks.submit[counters[at.OUTAGE]])
    counters[at.NOW] = now
    return now < FOREVER


@inlined
def end_and_break_down(tasks, episode):
    """What ends now releases its processors, and outages that start now take theirs."""
    counters = episode.counters
    now = counters[at.NOW]
    while counters[at.RUNNING] > 0 and episode.heap_end[0] == now:
        end_first(tasks, episode)
        counters[SETTLED] = False
    while counters[at.OUTAGE] < len(tasks.submit) and tasks.submit[counters[at.OUTAGE]] == now:
        outage = counters[at.OUTAGE]
        enter_running(tasks, episode, outage, now, now + tasks.hold[outage])
        counters[at.OUTAGE] += 1
        counters[SETTLED] = False


@inlined
def decided_alone(tasks, rules, queues, episode, next_cancel):
    """Whether the next job can be decided without a pass. Nothing else may happen now. Either no job waits, or the jobs that may start
    behind the blocked head are settled, and the new job is behind the head too."""
    counters, submit = episode.counters, tasks.submit
    now, job = counters[at.NOW], counters[at.ARRIVED]
    if counters[SETTLED] and rules.backfill != NO_BACKFILL and episode.est_end[0] <= now:
        counters[SETTLED] = False
    if (job + 1 < counters[at.LAST] and submit[job + 1] == now) or next_cancel == now or tasks.cancel[job] == now:
        return False
    return counters[at.QUEUED] == 0 or (counters[SETTLED] and queues.order.rank[job] > counters[HEAD])


@inlined
def starts_alone(tasks, rules, queues, episode):
    """The next job if it may start at once, else NOBODY."""
    counters = episode.counters
    job = counters[at.ARRIVED]
    if tasks.procs[job] > counters[at.FREE]:
        return np.int64(NOBODY)
    if counters[at.QUEUED] == 0:
        return job
    if rules.backfill == NO_BACKFILL:
        return np.int64(NOBODY)
    if not counters[RESERVED]:
        reserve_for_head(tasks, rules, queues, episode)
    in_time = counters[at.NOW] + tasks.admit[job] <= counters[SHADOW]
    if in_time or tasks.procs[job] <= counters[EXTRA]:
        return job
    return np.int64(NOBODY)


@inlined
def submit_to_queues(tasks, queues, episode, lone):
    """Jobs that are submitted now join the queue, except a single one that starts at once."""
    counters = episode.counters
    now = counters[at.NOW]
    if lone != NOBODY:
        counters[at.ARRIVED] += 1
        return
    while counters[at.ARRIVED] < counters[at.LAST] and tasks.submit[counters[at.ARRIVED]] == now:
        join_queue(tasks, queues, episode, counters[at.ARRIVED])
        counters[at.ARRIVED] += 1


@inlined
def cancel_static(tasks, queues, episode):
    """Jobs that are cancelled now leave the queue."""
    counters = episode.counters
    while cancellation_time(tasks, episode) == counters[at.NOW]:
        job = tasks.cancel_order[counters[at.CANCELLATION]]
        counters[at.CANCELLATION] += 1
        if episode.start[job] == CANCELLED:
            leave_queues(queues, episode, job)


@inlined
def start_static_front(tasks, queues, episode):
    """Starts jobs from the front of the order while they fit. What may start behind the head is settled after this pass."""
    counters, job_at = episode.counters, queues.order.job_at
    while counters[at.QUEUED] > 0 and tasks.procs[job_at[counters[HEAD]]] <= counters[at.FREE]:
        job = job_at[counters[HEAD]]
        leave_queues(queues, episode, job)
        start_now(tasks, episode, job)
    counters[SETTLED], counters[RESERVED] = True, False


@inlined
def start_static_behind(tasks, rules, queues, episode):
    """Starts jobs behind the blocked head as long as they do not delay it."""
    counters = episode.counters
    if not counters[DEEP] and fewest_procs(queues, counters[at.QUEUED]) > counters[at.FREE]:
        return
    while episode.est_end[0] <= counters[at.NOW]:
        correct_first(tasks, rules, episode)
    reserve_for_head(tasks, rules, queues, episode)
    place = np.int64(0)  # where the search goes on: in the list, or the rank in the tree
    while True:
        place = next_behind(queues, episode, place)
        if place < 0:
            break
        was_deep = counters[DEEP]
        job = queues.fill.job_at[place if was_deep else queues.fill.rows[place, 0]]
        leave_queues(queues, episode, job)
        if was_deep != counters[DEEP]:
            place = np.int64(0)
        episode.backfilled[job] = True
        start_behind_head(tasks, episode, job)
        if counters[at.FREE] == 0:
            break


@inlined
def fewest_procs(queues, queued):
    """The fewest processors that a job in the list needs."""
    fewest = np.int64(NOTHING)
    for k in range(queued):
        fewest = min(fewest, queues.order.rows[k, 1])
    return fewest


@inlined
def reserve_for_head(tasks, rules, queues, episode):
    """Shadow time and extra processors of the blocked head, by the current estimated ends. Under ANY nothing is kept for it, so its
    shadow time never comes."""
    counters = episode.counters
    counters[RESERVED] = True
    if rules.backfill == ANY:
        counters[SHADOW], counters[EXTRA] = FOREVER, 0
        return
    need = tasks.procs[queues.order.job_at[counters[HEAD]]]
    counters[SHADOW], counters[EXTRA] = reservation(
        counters[at.FREE], need, episode.est_end, episode.est_job, counters[at.RUNNING], tasks.procs
    )


@inlined
def next_behind(queues, episode, place):
    """The next place from `place` on whose job does not delay the head, in the list, or the rank in the tree. -1 for none."""
    counters = episode.counters
    free, slack = counters[at.FREE], counters[SHADOW] - counters[at.NOW]
    extra = min(counters[EXTRA], free)
    if counters[DEEP]:
        place = next_in_tree(queues.fill, place, extra, free, slack)
        return place if place < len(queues.fill.job_at) else np.int64(-1)
    place = next_in_list(queues.fill.rows, counters[at.QUEUED], place, extra, free, slack)
    return place if place < counters[at.QUEUED] else np.int64(-1)


@inlined
def start_behind_head(tasks, episode, job):
    """Starts a job past the blocked head. Subtracts it from the extra processors if it may hold them at the shadow time."""
    counters = episode.counters
    late = counters[at.NOW] + tasks.admit[job] > counters[SHADOW]
    if late:
        counters[EXTRA] -= tasks.procs[job]
    if (counters[at.NOW] + tasks.hold[job] > counters[SHADOW]) != late:
        counters[SETTLED] = False  # once it runs, its estimated end is on the other side of the shadow time
    start_now(tasks, episode, job)


@inlined
def start_now(tasks, episode, job):
    """The job starts now."""
    now = episode.counters[at.NOW]
    episode.start[job] = now
    enter_running(tasks, episode, job, now, now + tasks.hold[job])
