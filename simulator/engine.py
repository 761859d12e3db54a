"""The compiled event loop: one function replays a trace, evaluates a network and records training trajectories.

Rules: docs/semantics.md. State is arrays:

* the queue, job indices: sorted by (score, index) for static priorities, in submit order otherwise;
* running jobs twice: a binary heap by true end (what happens next) and arrays sorted by estimated end (what the
  scheduler believes, read by the reservation).
"""

from __future__ import annotations

import math

import numba
import numpy as np

from simulator.network import NUM_FEATURES, VISIBLE_JOBS, observe, score_rows
from simulator.priorities import LEARNED, is_static, static_score, waiting_score


@numba.njit(cache=True)
def heap_push(ends, jobs, size, end, job):
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


@numba.njit(cache=True)
def heap_pop(ends, jobs, size):
    """Removes the root; the caller has read it and counts the size down."""
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


@numba.njit(cache=True)
def insert_running(est_end, est_job, count, end, job):
    k = count
    while k > 0 and est_end[k - 1] > end:
        est_end[k] = est_end[k - 1]
        est_job[k] = est_job[k - 1]
        k -= 1
    est_end[k] = end
    est_job[k] = job


@numba.njit(cache=True)
def add_running(heap_end, heap_job, est_end, est_job, running, end, believed_end, job):
    """Enters a job that starts: by its true end and by the end that the scheduler believes."""
    heap_push(heap_end, heap_job, running, end, job)
    insert_running(est_end, est_job, running, believed_end, job)


@numba.njit(cache=True)
def remove_running(est_end, est_job, count, end, job):
    k = np.searchsorted(est_end[:count], end)
    while est_job[k] != job:
        k += 1
    for i in range(k, count - 1):
        est_end[i] = est_end[i + 1]
        est_job[i] = est_job[i + 1]


@numba.njit(cache=True)
def reservation(free, need, est_end, est_job, count, procs):
    """Shadow time and extra processors of a blocked head that needs `need`; all ends at the shadow time count."""
    available = free
    for k in range(count):
        available += procs[est_job[k]]
        if available >= need and (k + 1 == count or est_end[k + 1] != est_end[k]):
            return est_end[k], available - need
    return np.int64(0), np.int64(0)  # unreachable while every job fits into the cluster


@numba.njit(cache=True)
def seed_draws(seed):
    """Seeds the compiled code's own random numbers (numba keeps them apart from numpy's)."""
    np.random.seed(seed)  # noqa: NPY002  (compiled code has no Generator of its own to hand around)


@numba.njit(cache=True)
def run_episode(
    submit, runtime, procs, estimate, limit, origin,  # the jobs, int64 (n,); see simulator.jobs.Jobs
    cluster_procs, policy, easy, weights,
    sample, recorder, decisions, rows_used,
    start, backfilled,
):  # fmt: skip
    """Replays all jobs; fills `start` and `backfilled` (n,).

    sample: draw the learned policy's choice from the softmax of its scores (training) instead of taking the best.
    recorder: (features, first_row, num_rows, choice, log_prob) buffers that a sampled decision with more than one
    visible job is appended to, from `decisions` decisions and `rows_used` rows on.
    Returns (decisions, rows used) after the episode, or (-1, -1) when the recorder is too small.
    """
    n = len(submit)
    features, first_row, num_rows, choices, log_prob = recorder
    queue = np.empty(n, dtype=np.int64)
    score = np.empty(n, dtype=np.float64)  # by position in the queue
    heap_end = np.empty(n, dtype=np.int64)
    heap_job = np.empty(n, dtype=np.int64)
    est_end = np.empty(n, dtype=np.int64)
    est_job = np.empty(n, dtype=np.int64)
    believed_end = np.empty(n, dtype=np.int64)  # by job: where it stands in est_end
    rows = np.empty((VISIBLE_JOBS, NUM_FEATURES), dtype=np.float32)
    outputs = np.empty(VISIBLE_JOBS, dtype=np.float32)
    static = is_static(policy)
    queued = 0
    running = 0
    free = cluster_procs
    arrived = 0

    while arrived < n or queued > 0:
        # next event time; a queue with no arrivals left always has running jobs, since every job fits the cluster
        now = heap_end[0] if running > 0 and (arrived >= n or heap_end[0] <= submit[arrived]) else submit[arrived]
        while running > 0 and heap_end[0] == now:
            job = heap_job[0]
            heap_pop(heap_end, heap_job, running)
            remove_running(est_end, est_job, running, believed_end[job], job)
            running -= 1
            free += procs[job]
        while arrived < n and submit[arrived] == now:
            k = queued
            if static:
                value = static_score(policy, submit[arrived], estimate[arrived], procs[arrived], origin)
                while k > 0 and score[k - 1] > value:
                    k -= 1
                for i in range(queued, k, -1):
                    score[i] = score[i - 1]
                    queue[i] = queue[i - 1]
                score[k] = value
            queue[k] = arrived
            queued += 1
            arrived += 1

        # a pass in which no job fits cannot start anything, whatever the order
        smallest = cluster_procs + 1
        for k in range(queued):
            smallest = min(smallest, procs[queue[k]])
            if smallest <= free:
                break
        if smallest > free:
            continue

        # 1. jobs from the front of the order while they fit; `order` then lists the rest, the head first
        started = 0
        if policy == LEARNED:
            order = queue[:0]
            blocked = False
            while queued > 0 and not blocked:
                visible = min(queued, VISIBLE_JOBS)
                observe(queue, visible, now, free, submit, procs, estimate, cluster_procs, rows)
                score_rows(rows, visible, weights, outputs)
                choice = 0
                if sample and visible > 1:
                    best = -np.inf  # Gumbel-max: the largest noisy score is a draw from the softmax
                    top = -np.inf
                    for k in range(visible):
                        top = max(top, float(outputs[k]))
                        noisy = outputs[k] - math.log(-math.log(1.0 - np.random.random()))  # noqa: NPY002
                        if noisy > best:
                            best = noisy
                            choice = k
                    total = 0.0
                    for k in range(visible):
                        total += math.exp(outputs[k] - top)
                    if decisions >= len(choices) or rows_used + visible > len(features):
                        return -1, -1
                    features[rows_used : rows_used + visible] = rows[:visible]
                    first_row[decisions] = rows_used
                    num_rows[decisions] = visible
                    choices[decisions] = choice
                    log_prob[decisions] = outputs[choice] - top - math.log(total)
                    rows_used += visible
                    decisions += 1
                else:
                    for k in range(1, visible):
                        if outputs[k] > outputs[choice]:
                            choice = k
                job = queue[choice]
                if procs[job] <= free:
                    for i in range(choice, queued - 1):
                        queue[i] = queue[i + 1]
                    queued -= 1
                    start[job] = now
                    free -= procs[job]
                    believed_end[job] = now + estimate[job]
                    add_running(
                        heap_end, heap_job, est_end, est_job, running, now + runtime[job], believed_end[job], job
                    )
                    running += 1
                else:
                    blocked = True
                    if easy:
                        ranked = np.argsort(-outputs[:visible], kind="mergesort")
                        order = np.empty(queued, dtype=np.int64)
                        order[0] = choice
                        filled = 1
                        for k in ranked:
                            if k != choice:
                                order[filled] = k
                                filled += 1
                        for k in range(visible, queued):
                            order[k] = k
        else:
            if static:
                order = np.arange(queued)
            else:
                for k in range(queued):
                    job = queue[k]
                    score[k] = waiting_score(policy, now - submit[job], estimate[job], procs[job])
                order = np.argsort(score[:queued], kind="mergesort")
            while started < queued and procs[queue[order[started]]] <= free:
                job = queue[order[started]]
                queue[order[started]] = -1
                start[job] = now
                free -= procs[job]
                believed_end[job] = now + estimate[job]
                add_running(heap_end, heap_job, est_end, est_job, running, now + runtime[job], believed_end[job], job)
                running += 1
                started += 1
            order = order[started:]

        # 2. EASY: jobs past the blocked head that do not delay its reservation
        if easy and len(order) > 1 and free > 0:
            while est_end[0] <= now:  # estimates that have expired: the requested time counts from now on
                job = est_job[0]
                remove_running(est_end, est_job, running, est_end[0], job)
                believed_end[job] = start[job] + limit[job]
                insert_running(est_end, est_job, running - 1, believed_end[job], job)
            shadow, extra = reservation(free, procs[queue[order[0]]], est_end, est_job, running, procs)
            for k in order[1:]:
                job = queue[k]
                if procs[job] > free:
                    continue
                ends_in_time = now + estimate[job] <= shadow
                if not ends_in_time and procs[job] > extra:
                    continue
                if not ends_in_time:
                    extra -= procs[job]
                queue[k] = -1
                start[job] = now
                backfilled[job] = True
                free -= procs[job]
                believed_end[job] = now + estimate[job]
                add_running(heap_end, heap_job, est_end, est_job, running, now + runtime[job], believed_end[job], job)
                running += 1
                started += 1
                if free == 0:
                    break

        if started > 0:  # close the gaps, keeping the order
            kept = 0
            for k in range(queued):
                if queue[k] >= 0:
                    queue[kept] = queue[k]
                    score[kept] = score[k]
                    kept += 1
            queued = kept
    return decisions, rows_used
