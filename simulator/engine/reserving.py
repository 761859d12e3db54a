"""Conservative and selective backfilling: jobs hold reservations in a plan. Rules: docs/reference/semantics.md."""

from __future__ import annotations

import numpy as np

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.engine.episode import UNPROTECTED, UNRESERVED
from simulator.engine.plan import change_plan, earlier_start, earliest_in_plan, plan_fits_now
from simulator.engine.starting import start_job
from simulator.jobs.cluster import FOREVER
from simulator.jobs.schedule import CANCELLED
from simulator.policies.scoring import FIXED


@lean
def expansion_factor_reached(wait, estimate, threshold):
    """Whether a job that has waited `wait` seconds has a right to a reservation (Srinivasan et al. 2002)."""
    return (wait + estimate) / estimate >= threshold


@inlined
def reserve(tasks, rules, scoring, episode):
    """One pass: reservations are made, dropped or moved up, and what is due now gets its start."""
    counters = episode.counters
    protect(tasks, rules, episode)
    order_places(scoring, episode)
    if counters[at.SHRUNK]:  # the plan may not hold any more
        drop_reservations(tasks, episode)
        counters[at.HORIZON] = 0
    elif counters[at.GREW]:
        counters[at.HORIZON] = move_up(tasks, episode)
    counters[at.SHRUNK] = 0
    counters[at.GREW] = 0
    make_reservations(tasks, episode)
    give_starts(tasks, episode)
    note_due(episode)


@inlined
def protect(tasks, rules, episode):
    """Jobs that have waited long enough get a right to a reservation."""
    now, reserved = episode.counters[at.NOW], episode.reserved
    for k in range(episode.counters[at.QUEUED]):
        job = episode.queue[k]
        if reserved[job] == UNPROTECTED and expansion_factor_reached(
            now - tasks.submit[job], tasks.estimate[job], rules.threshold
        ):
            reserved[job] = UNRESERVED


@inlined
def order_places(scoring, episode):
    """Fills `order` with the places of the queue by (score, place)."""
    queued = episode.counters[at.QUEUED]
    for k in range(queued):
        episode.order[k] = k
    if scoring.kind != FIXED:
        sort_places(episode.score, episode.order, queued)


@inlined
def drop_reservations(tasks, episode):
    """All reservations leave the plan."""
    reserved = episode.reserved
    for i in range(episode.counters[at.QUEUED]):
        job = episode.queue[episode.order[i]]
        if reserved[job] >= 0:
            if reserved[job] < FOREVER:
                end = reserved[job] + tasks.estimate[job]
                change_plan(episode, reserved[job], end, tasks.procs[job])
            reserved[job] = UNRESERVED


@inlined
def move_up(tasks, episode):
    """Moves reservations to earlier starts, in the order of the queue. Returns the horizon of the next pass.

    Every job was at its earliest start when it was last looked at. It can gain only by what came free since then, all of which
    lies before the horizon: early completions, and the room of jobs that have moved up after it.
    """
    reserved, estimate, procs = episode.reserved, tasks.estimate, tasks.procs
    horizon = episode.counters[at.HORIZON]
    moved = np.int64(0)
    for i in range(episode.counters[at.QUEUED]):
        job = episode.queue[episode.order[i]]
        if reserved[job] < 0:
            continue
        old = reserved[job]
        if old == FOREVER:
            new = earliest_in_plan(tasks, episode, job)
        else:
            steps = episode.counters[at.PLAN_STEPS]
            new = earlier_start(episode.plan_time, episode.plan_room, steps, procs[job], estimate[job], old, horizon)
        if new == old:
            continue
        if old < FOREVER:
            change_plan(episode, old, old + estimate[job], procs[job])
            moved = max(moved, old + estimate[job])
            horizon = max(horizon, old + estimate[job])
        change_plan(episode, new, new + estimate[job], -procs[job])
        reserved[job] = new
    return moved


@inlined
def make_reservations(tasks, episode):
    """Jobs with a right to a reservation and none enter the plan, each at its earliest start, in the order of the queue."""
    reserved = episode.reserved
    for i in range(episode.counters[at.QUEUED]):
        job = episode.queue[episode.order[i]]
        if reserved[job] == UNRESERVED:
            reserved[job] = earliest_in_plan(tasks, episode, job)
            if reserved[job] < FOREVER:
                end = reserved[job] + tasks.estimate[job]
                change_plan(episode, reserved[job], end, -tasks.procs[job])


@inlined
def give_starts(tasks, episode):
    """Reservations that are due start, then jobs without a right to one that fit into the plan now."""
    now, queued = episode.counters[at.NOW], episode.counters[at.QUEUED]
    reserved, start = episode.reserved, episode.start
    for i in range(queued):
        job = episode.queue[episode.order[i]]
        if reserved[job] == now:
            start[job] = now
    for i in range(queued):
        job = episode.queue[episode.order[i]]
        if reserved[job] == UNPROTECTED and plan_fits_now(tasks, episode, job):
            start[job] = now
            change_plan(episode, now, now + tasks.estimate[job], -tasks.procs[job])


@inlined
def note_due(episode):
    """Notes when the next reservation is due, and which of the jobs that start have passed another one."""
    due = np.int64(FOREVER)
    passed_over = False
    for i in range(episode.counters[at.QUEUED]):
        job = episode.queue[episode.order[i]]
        if episode.start[job] != CANCELLED:
            episode.backfilled[job] = passed_over
            continue
        passed_over = True
        if episode.reserved[job] >= 0:
            due = min(due, episode.reserved[job])
    episode.counters[at.NEXT_DUE] = due


@inlined
def start_reserved(tasks, rules, scoring, episode):
    """Jobs that the pass gave a start leave the queue and run."""
    queue, score = episode.queue, episode.score
    kept = 0
    for k in range(episode.counters[at.QUEUED]):
        job = queue[k]
        if episode.start[job] == CANCELLED:
            queue[kept] = job
            score[kept] = score[k]
            kept += 1
        else:
            start_job(tasks, rules, scoring, episode, job)
    episode.counters[at.QUEUED] = kept


@lean
def sort_places(score, order, count):
    """Sorts the places `order[:count]` by (score, place), in place (heapsort: nothing to allocate, and no bad case)."""
    for root in range(count // 2 - 1, -1, -1):
        _sift(score, order, root, count)
    for size in range(count - 1, 0, -1):
        order[0], order[size] = order[size], order[0]
        _sift(score, order, 0, size)


@lean
def _sift(score, order, root, size):
    place = order[root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and _before(score, order[child], order[child + 1]):
            child += 1
        if not _before(score, place, order[child]):
            break
        order[root] = order[child]
        root = child
    order[root] = place


@lean
def _before(score, a, b):
    return score[a] < score[b] or (score[a] == score[b] and a < b)
