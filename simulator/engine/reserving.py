"""Conservative and selective backfilling: jobs hold reservations in a plan. Rules: docs/semantics.md."""

from __future__ import annotations

import numpy as np

from simulator.compiled import lean
from simulator.engine import episode as at
from simulator.engine.episode import UNPROTECTED, UNRESERVED
from simulator.engine.plan import change, earlier_start, earliest_start, fits_now
from simulator.jobs.cluster import FOREVER
from simulator.jobs.schedule import CANCELLED


@lean
def expansion_factor_reached(wait, estimate, threshold):
    """Whether a job that has waited `wait` seconds has a right to a reservation (Srinivasan et al. 2002)."""
    return (wait + estimate) / estimate >= threshold


@lean
def reserve_and_start(
    now, queue, queued, score, fixed_order, order, procs, estimate, reserved, start, backfilled,
    time, room, steps, counters,
):  # fmt: skip
    """One pass: reservations are made, dropped or moved up, and what is due at `now` gets its start; returns the steps of
    the plan. `order` is filled with the places of the queue by (score, job)."""
    for k in range(queued):
        order[k] = k
    if not fixed_order:
        sort_places(score, queue, order, queued)

    if counters[at.SHRUNK]:  # the plan may not hold any more
        for i in range(queued):
            job = queue[order[i]]
            if reserved[job] >= 0:
                if reserved[job] < FOREVER:
                    end = reserved[job] + estimate[job]
                    steps = change(time, room, steps, reserved[job], end, procs[job])
                reserved[job] = UNRESERVED
        counters[at.HORIZON] = 0
    elif counters[at.GREW]:
        # Every job was at its earliest start when it was last looked at. It can gain only by what came free since then, all of
        # which lies before the horizon: early completions, and the room of jobs that have moved up after it.
        horizon = counters[at.HORIZON]
        moved = np.int64(0)
        for i in range(queued):
            job = queue[order[i]]
            if reserved[job] < 0:
                continue
            old = reserved[job]
            new = old
            if old == FOREVER:
                new = earliest_start(time, room, steps, procs[job], estimate[job])
            else:
                new = earlier_start(time, room, steps, procs[job], estimate[job], old, horizon)
            if new == old:
                continue
            if old < FOREVER:
                steps = change(time, room, steps, old, old + estimate[job], procs[job])
                moved = max(moved, old + estimate[job])
                horizon = max(horizon, old + estimate[job])
            steps = change(time, room, steps, new, new + estimate[job], -procs[job])
            reserved[job] = new
        counters[at.HORIZON] = moved
    counters[at.SHRUNK] = 0
    counters[at.GREW] = 0

    for i in range(queued):
        job = queue[order[i]]
        if reserved[job] == UNRESERVED:
            reserved[job] = earliest_start(time, room, steps, procs[job], estimate[job])
            if reserved[job] < FOREVER:
                end = reserved[job] + estimate[job]
                steps = change(time, room, steps, reserved[job], end, -procs[job])

    for i in range(queued):
        job = queue[order[i]]
        if reserved[job] == now:
            start[job] = now
    for i in range(queued):
        job = queue[order[i]]
        if reserved[job] == UNPROTECTED and fits_now(time, room, steps, procs[job], estimate[job]):
            start[job] = now
            steps = change(time, room, steps, now, now + estimate[job], -procs[job])

    counters[at.NEXT_DUE] = FOREVER
    passed_over = False
    for i in range(queued):
        job = queue[order[i]]
        if start[job] != CANCELLED:
            backfilled[job] = passed_over
            continue
        passed_over = True
        if reserved[job] >= 0:
            counters[at.NEXT_DUE] = min(counters[at.NEXT_DUE], reserved[job])
    return steps


@lean
def sort_places(score, queue, order, count):
    """Sorts the places `order[:count]` by (score, job), in place (heapsort: nothing to allocate, and no bad case)."""
    for root in range(count // 2 - 1, -1, -1):
        _sift(score, queue, order, root, count)
    for size in range(count - 1, 0, -1):
        order[0], order[size] = order[size], order[0]
        _sift(score, queue, order, 0, size)


@lean
def _sift(score, queue, order, root, size):
    place = order[root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and _before(score, queue, order[child], order[child + 1]):
            child += 1
        if not _before(score, queue, place, order[child]):
            break
        order[root] = order[child]
        root = child
    order[root] = place


@lean
def _before(score, queue, a, b):
    return score[a] < score[b] or (score[a] == score[b] and queue[a] < queue[b])
