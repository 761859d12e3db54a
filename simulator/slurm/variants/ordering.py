"""The loop of Slurm with an order of ours in place of its priority: before schedulers run, the waiting jobs are scored again.

Scores are those of the order engine (simulator/policies/scoring.py). Rules: docs/reference/slurm.md, "Orders".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compilation.references import refer as typed_refer
from simulator.compiled import lean
from simulator.policies.moment import LOG_2, Moment, usage_at
from simulator.policies.network import VISIBLE_JOBS, jobs_within_cap
from simulator.policies.sampling import DRAW, FOLLOW, TAKE_BEST, draw_choice, record_choice
from simulator.policies.scoring import ASKED_SCORES, FIXED, Scoring, Scratch, fill_scores, score_blocks
from simulator.slurm.changes import wake
from simulator.slurm.clockwork import CAME, ENDING, NOW, PENDING, WANT_ORDER
from simulator.slurm.loop import run_replay
from simulator.slurm.preemption import REQUEUE_DELAY
from simulator.slurm.queue import eligible_from, sort_queue

refer: Any = typed_refer  # numba gives it its context
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
MOST_PICKS = 16
"""Jobs that are picked one after another, each as if the ones before had started. The rest follow by their scores."""
PICKED, PICKED_STEP = -1e300, 1e285
"""Scores of jobs that were picked, before all others, in their order."""
QUEUED, COUNTED, FAILED, FAILED_OPERATION, AWAITED_FROM, AWAITED_TO = range(6)
"""Places in `OrderedQueue.counts`: how many jobs wait, and are counted in usage. FAILED, FAILED_OPERATION: the job and the operation
at which a formula failed. AWAITED_FROM, AWAITED_TO: where not equal, the replay is over when these jobs have started."""
ORDERED, ORDER_FAILED, ORDER_ASKED, ROOM_IS_FULL = range(4)
"""Why `run_ordered` stops: all is done, a formula failed, the caller is to fill `score`, or the recorder is full."""


class OrderedQueue(NamedTuple):
    """An order of ours for the jobs of a replay. A place is a position in `queue`, which is in the order of submission.

    value, bits: the score of each job, and the same memory as whole numbers. left: the queue without those that were picked.
    counted, began: jobs that are counted in usage, and since when. seen: what the queue was at the last draw."""

    scoring: Scoring
    submit: IntArray  # (jobs,), seconds
    procs: IntArray  # (jobs,)
    estimate: IntArray  # (jobs,), seconds
    user: IntArray  # (jobs,)
    counts: IntArray  # (6,)
    queue: IntArray  # (jobs,), those that wait and that nothing keeps
    listed: NDArray[np.bool_]  # (jobs,), whether they are there
    left: IntArray  # (jobs,)
    score: FloatArray  # (jobs,), by place
    value: FloatArray  # (jobs,)
    bits: IntArray  # (jobs,)
    est_end: IntArray  # (jobs,), ends by limit of running jobs
    counted: IntArray  # (jobs,)
    began: IntArray  # (jobs,), seconds
    seen: IntArray  # (4,)
    usage: FloatArray  # this and the next two: see simulator/policies/scoring.py
    rate: FloatArray
    since: IntArray
    scratch: Scratch
    sample: int  # how a network decides, see simulator/policies/network.py


@lean
def run_ordered(replay, orders, recorder):
    """Runs a replay to its end. Returns ORDERED, or why it stops before: then it is called again, after ORDER_ASKED with the scores."""
    state = refer(replay)
    counts = orders.counts
    while run_replay(state) == WANT_ORDER:
        list_waiting(state, orders)
        if counts[AWAITED_TO] > counts[AWAITED_FROM] and _all_have_started(state, orders):
            return ORDERED
        if orders.scoring.kind == ASKED_SCORES:
            return ORDER_ASKED
        why = _score_queue(state, orders, recorder)
        if why != ORDERED:
            return why
        put_in_order(state, orders)
    return ORDERED


@lean
def take_scores(replay, orders):
    """After ORDER_ASKED: the scores by place become the order of the queue."""
    for place in range(orders.counts[QUEUED]):
        orders.value[orders.queue[place]] = orders.score[place]
    put_in_order(refer(replay), orders)


@lean
def free_cpus(state):
    """CPUs that nobody holds on nodes that are there."""
    engine, now = state.engine, state.clock[NOW]
    free = np.int64(0)
    for node in range(len(engine.free.cpus)):
        if engine.scratch.away[node] <= now and engine.free.whole[node] == 0:
            free += engine.free.cpus[node]
    return free


@lean
def list_waiting(state, orders):
    """Brings the queue up to date: jobs that have started or were given up leave it, and those that may start now join it by their
    submission."""
    counts, queue, now = orders.counts, orders.queue, state.clock[NOW]
    number = state.engine.running.number
    kept = _without_started(state, orders, now)
    for row in range(state.clock[PENDING]):
        job = state.pending[row, 0]
        if orders.listed[job]:
            continue
        if state.eligible[job] < 0:
            state.eligible[job] = eligible_from(state, job, now)
            if state.eligible[job] < 0:
                continue
            wake(state, now)
        orders.listed[job] = True
        place = kept
        while place > 0 and number[queue[place - 1]] > number[job]:
            queue[place] = queue[place - 1]
            place -= 1
        queue[place] = job
        kept += 1
    counts[QUEUED] = kept


@lean
def _without_started(state, orders, now):
    """Takes the jobs that have started out of the queue, and brings usage up to date. Returns how many are left."""
    counts, queue, start = orders.counts, orders.queue, state.engine.running.start
    has_usage = orders.scoring.half_life_s > 0.0
    if has_usage:
        for who in range(len(orders.usage)):
            orders.usage[who] = usage_at(orders.usage, orders.rate, orders.since, who, now, orders.scoring.half_life_s)
            orders.since[who] = now
        _count_ends(state, orders, now)
    kept = 0
    for place in range(counts[QUEUED]):
        job = queue[place]
        if start[job] < 0 and not state.giving.gave_up[job]:
            queue[kept] = job
            kept += 1
            continue
        orders.listed[job] = False
        if has_usage and start[job] >= 0:
            _change_use(orders, job, start[job], now, 1)
            if state.finished[job] >= 0:
                _change_use(orders, job, state.finished[job], now, -1)
            else:
                orders.began[job] = start[job]
                orders.counted[counts[COUNTED]] = job
                counts[COUNTED] += 1
    return kept


@lean
def _count_ends(state, orders, now):
    """Jobs that have ended since they were counted, or wait again, no longer count."""
    counts, start = orders.counts, state.engine.running.start
    kept = 0
    for k in range(counts[COUNTED]):
        job = orders.counted[k]
        is_same_run = start[job] == orders.began[job]
        if is_same_run and state.finished[job] < 0:
            orders.counted[kept] = job
            kept += 1
            continue
        end = state.finished[job] if is_same_run else state.engine.jobs.begin[job] - REQUEUE_DELAY
        _change_use(orders, job, end, now, -1)
    counts[COUNTED] = kept


@lean
def _change_use(orders, job, time, now, sign):
    """Since a time that is past, the job's user has held its processors (sign 1), or no longer has (-1)."""
    procs, half_life = sign * orders.procs[job], orders.scoring.half_life_s
    used = procs * (half_life / LOG_2) * (1.0 - 2.0 ** (-(now - time) / half_life))
    for who in (orders.user[job], len(orders.usage) - 1):
        orders.usage[who] += used
        orders.rate[who] += procs


@lean
def _all_have_started(state, orders):
    counts, start = orders.counts, state.engine.running.start
    waits = False
    for job in range(counts[AWAITED_FROM], counts[AWAITED_TO]):
        waits = waits or start[job] < 0
    return not waits


@lean
def _moment(state, orders, queued, free):
    engine = state.engine
    running = engine.running
    return Moment(
        state.clock[NOW],
        free,
        engine.site.all_cpus,
        queued,
        running.length[0],
        orders.left,
        orders.submit,
        orders.procs,
        orders.estimate,
        orders.user,
        orders.est_end,
        running.job,
        orders.usage,
        orders.rate,
        orders.since,
        orders.scoring.half_life_s,
    )


@lean
def _score_queue(state, orders, recorder):
    """Fills `value` of all that wait. A policy that looks at free processors picks one job after another, until one does not fit."""
    counts, scoring, left, running = orders.counts, orders.scoring, orders.left, state.engine.running
    free = free_cpus(state)
    if orders.sample != TAKE_BEST and not _has_changed(state, orders, free):
        return ORDERED
    queued = np.int64(counts[QUEUED])
    for place in range(queued):
        left[place] = orders.queue[place]
    for k in range(running.length[0]):
        orders.est_end[k] = running.end[running.job[k]]
    picked = 0
    while picked < MOST_PICKS and queued > 1 and _any_fits(orders, queued, free):
        if orders.sample == TAKE_BEST and not scoring.follows_free:
            break
        place = _pick(state, orders, recorder, queued, free)
        if place < 0:
            return ORDER_FAILED if counts[FAILED] >= 0 else ROOM_IS_FULL
        job = left[place]
        orders.value[job] = PICKED + picked * PICKED_STEP
        picked += 1
        queued -= 1
        for k in range(place, queued):
            left[k] = left[k + 1]
        if orders.procs[job] > free:
            break
        free -= orders.procs[job]
    if not _score_all(state, orders, queued, free):
        return ORDER_FAILED
    for place in range(queued):
        orders.value[left[place]] = orders.score[place]
    return ORDERED


@lean
def _pick(state, orders, recorder, queued, free):
    """The place of the job that goes next, and -1 where a formula failed or the choice could not be recorded."""
    within = jobs_within_cap(orders.scoring.weights.signals, orders.submit, orders.left, queued)
    visible = min(within, VISIBLE_JOBS)
    place, log_probability = np.int64(0), 0.0
    if orders.sample == DRAW:
        score_blocks(_moment(state, orders, queued, free), orders.scoring, orders.scratch, orders.score, 0, 0)
        place, log_probability = draw_choice(orders.scratch.outputs, visible)
    else:
        if not _score_all(state, orders, queued, free):
            return np.int64(-1)
        for k in range(1, within):
            if orders.score[k] < orders.score[place]:
                place = np.int64(k)
    if orders.sample == TAKE_BEST or visible == 1 or place >= visible:
        return place
    is_kept = record_choice(recorder, orders.scratch.rows, visible, place, log_probability, state.clock[NOW])
    return place if is_kept else np.int64(-1)


@lean
def _score_all(state, orders, queued, free):
    """Scores of the jobs that are left, by place. False where a formula failed."""
    scoring = orders.scoring
    if queued == 0:
        return True
    if scoring.kind != FIXED:
        moment = _moment(state, orders, queued, free)
        place, operation = fill_scores(moment, scoring, orders.scratch, orders.score)
        if place >= 0:
            orders.counts[FAILED], orders.counts[FAILED_OPERATION] = orders.left[place], operation
            return False
    if scoring.kind == FIXED or orders.sample == FOLLOW:
        for place in range(queued):
            orders.score[place] = scoring.fixed[orders.left[place]]
    return True


@lean
def _any_fits(orders, queued, free):
    fits = False
    for place in range(queued):
        fits = fits or orders.procs[orders.left[place]] <= free
    return fits


@lean
def _has_changed(state, orders, free):
    """Whether a job was submitted, has started or has ended since the last draw. What was drawn stands until then."""
    clock, seen = state.clock, orders.seen
    now_seen = (orders.counts[QUEUED], clock[CAME], clock[ENDING], free)
    has_changed = False
    for k in range(4):
        has_changed = has_changed or seen[k] != now_seen[k]
        seen[k] = now_seen[k]
    return has_changed


@lean
def put_in_order(state, orders):
    """The priorities of the queue by the values of its jobs, the least first. Those that something keeps come last."""
    pending, least = state.pending, np.int64(-(1 << 63))
    for row in range(state.clock[PENDING]):
        job = pending[row, 0]
        pending[row, 2] = least
        if orders.listed[job]:
            orders.value[job] += 0.0  # of two zeros one has a sign
            bits = orders.bits[job]
            # the bits of floats are in the order of the floats, and those below zero in the opposite one
            pending[row, 2] = -(bits if bits >= 0 else bits ^ np.int64(0x7FFFFFFFFFFFFFFF))
    sort_queue(state.engine, pending, state.clock[PENDING], state.room)
