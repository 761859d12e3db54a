"""Running jobs are stored twice. A heap by true end says what happens next. Arrays sorted by estimated end hold what the scheduler
expects, and reservations read them. An outage is a running job that did not wait in the queue: it starts on its own.

The steps at the end serve both engines. Their `episode` has the counters and the arrays of running jobs of
`simulator.engine.episode.Episode`.
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.jobs.cluster import FOREVER
from simulator.jobs.words import CORRECTIONS

CORRECT_REQUESTED, CORRECT_INCREMENTS, CORRECT_DOUBLING = range(3)

CORRECTION_IDS = dict(zip(CORRECTIONS, (CORRECT_REQUESTED, CORRECT_INCREMENTS, CORRECT_DOUBLING), strict=True))

INCREMENTS_S = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)
"""Tsafrir, Etsion and Feitelson 2007, section 5: from one minute to 100 hours."""


@lean
def heap_push(ends, jobs, size, end, job):
    """Enters a job into the heap of `size` jobs. The caller counts the size up."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if ends[parent] <= end:
            break
        ends[i] = ends[parent]
        jobs[i] = jobs[parent]
        i = parent
    ends[i] = end
    jobs[i] = job


@lean
def heap_pop(ends, jobs, size):
    """Removes the root. The caller has read it and counts the size down."""
    last_end = ends[size - 1]
    last_job = jobs[size - 1]
    size -= 1
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and ends[child + 1] < ends[child]:
            child += 1
        if ends[child] >= last_end:
            break
        ends[i] = ends[child]
        jobs[i] = jobs[child]
        i = child
    ends[i] = last_end
    jobs[i] = last_job


@lean
def insert_running(est_end, est_job, count, end, job):
    """Enters a job behind those of the `count` jobs whose estimated end is the same or earlier."""
    k = count
    while k > 0 and est_end[k - 1] > end:
        est_end[k] = est_end[k - 1]
        est_job[k] = est_job[k - 1]
        k -= 1
    est_end[k] = end
    est_job[k] = job


@lean
def remove_running(est_end, est_job, count, end, job):
    """Removes a job whose estimated end is `end`."""
    k = 0
    above = count
    while k < above:  # the first place that is not earlier. numpy's search would cost more than all the rest
        middle = (k + above) >> 1
        if est_end[middle] < end:
            k = middle + 1
        else:
            above = middle
    while est_job[k] != job:
        k += 1
    for i in range(np.uint64(k), np.uint64(count - 1)):  # unsigned: no test for negative indices
        est_end[i] = est_end[i + np.uint64(1)]
    for i in range(np.uint64(k), np.uint64(count - 1)):
        est_job[i] = est_job[i + np.uint64(1)]


@lean
def corrected_end(start, estimate, limit, now, correction):
    """The first of the job's estimated ends that is later than `now` (docs/reference/semantics.md). Its first one has expired."""
    last = start + limit
    if correction == CORRECT_DOUBLING:
        while start + estimate <= now and estimate < limit:
            estimate *= 2
        return min(start + estimate, last)
    if correction == CORRECT_INCREMENTS:
        end = start + estimate
        for step in INCREMENTS_S:
            if end <= now:
                end += step
        if end > now:
            return min(end, last)
    return last


@lean
def reservation(free, need, est_end, est_job, count, procs):
    """Shadow time and extra processors of a blocked head that needs `need`. All ends at the shadow time count.

    An outage without end can leave the head without any. Then every estimated end comes in time.
    """
    available = free
    for k in range(count):
        available += procs[est_job[k]]
        if available >= need and (k + 1 == count or est_end[k + 1] != est_end[k]):
            return est_end[k], available - need
    return np.int64(FOREVER), np.int64(0)


@inlined
def enter_running(tasks, episode, job, since, believed_end):
    """A task that has run since `since` takes its processors and is entered by its true end and by the estimated one."""
    counters = episode.counters
    running = counters[at.RUNNING]
    episode.believed[job] = believed_end
    heap_push(episode.heap_end, episode.heap_job, running, since + tasks.runtime[job], job)
    insert_running(episode.est_end, episode.est_job, running, believed_end, job)
    counters[at.RUNNING] = running + 1
    counters[at.FREE] -= tasks.procs[job]


@inlined
def end_first(tasks, episode):
    """The running task that ends next releases its processors. Returns the task."""
    counters = episode.counters
    running = counters[at.RUNNING]
    job = episode.heap_job[0]
    heap_pop(episode.heap_end, episode.heap_job, running)
    remove_running(episode.est_end, episode.est_job, running, episode.believed[job], job)
    counters[at.RUNNING] = running - 1
    counters[at.FREE] += tasks.procs[job]
    return job


@inlined
def correct_first(tasks, rules, episode):
    """Corrects the estimated end of the first running task by estimated end, which has expired. Returns the task."""
    running, now = episode.counters[at.RUNNING], episode.counters[at.NOW]
    job = episode.est_job[0]
    remove_running(episode.est_end, episode.est_job, running, episode.est_end[0], job)
    end = corrected_end(episode.start[job], tasks.hold[job], tasks.limit[job], now, rules.correction)
    insert_running(episode.est_end, episode.est_job, running - 1, end, job)
    episode.believed[job] = end
    return job
