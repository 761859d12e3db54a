"""The general event loop: every policy, every backfilling rule, and it can stop to be asked for scores or a choice.

Rules: docs/semantics.md. Priorities that are fixed at submission go faster without reservations through
simulator/engine/static.py, which must give the same schedules. Nothing here allocates, and nothing counts references
(`_nrt=False`): all arrays come in as a `simulator.engine.episode.Episode`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean
from simulator.engine import episode as at
from simulator.engine.episode import UNPROTECTED, UNRESERVED
from simulator.engine.plan import begin_plan, change, earliest_start, fits_now, forget_past
from simulator.engine.reserving import expansion_factor_reached, reserve_and_start
from simulator.engine.running import add_running, corrected_end, heap_pop, insert_running, remove_running, reservation
from simulator.jobs.cluster import FOREVER
from simulator.jobs.schedule import CANCELLED
from simulator.policies.network import VISIBLE_JOBS
from simulator.policies.sampling import DRAW, FOLLOW, TAKE_BEST, draw_choice, record_choice
from simulator.policies.scoring import ASKED_CHOICE, ASKED_SCORES, FIXED, fill_scores
from simulator.policies.usage import change_rate

DONE, STUCK, WANT_SCORES, WANT_CHOICE, FORMULA_FAILED, RECORDER_FULL, WANT_ESTIMATES = range(7)
"""Why the engine stops: finished; outages leave a job that can never start; to be asked; and failures."""

EVENTS, ORDER, CHOOSE, FILL, RENEW = range(5)
"""What comes next: the next event; new estimates, where they are wanted (RENEW); ordering the queue; starting the first of the
order; jobs behind the blocked head."""

NO_BACKFILL, EASY, EASY_SJBF, RESERVE = range(4)


class Rules(NamedTuple):
    """backfill: above; RESERVE is conservative and selective, with `threshold` the expansion factor from which a job holds a
    reservation. correction: see simulator/engine/running.py. planned: outages are announced before they start, so that
    starts must be checked against a plan. sample: how a network chooses, see simulator/policies/sampling.py. live: ask for new
    estimates of the waiting jobs before every pass. promises: note what blocked heads are promised."""

    cluster_procs: int
    backfill: int
    threshold: float
    correction: int
    planned: bool
    sample: int
    live: bool
    promises: bool


class Recorder(NamedTuple):
    """Buffers for recorded choices; see simulator.agents.trajectories.Trajectories."""

    features: NDArray[np.float32]
    first_row: NDArray[np.int64]
    num_rows: NDArray[np.int64]
    choice: NDArray[np.int64]
    log_prob: NDArray[np.float32]


@lean
def advance(tasks, rules, scoring, episode, recorder, choice):
    """Goes on until the replay is done or somebody has to be asked; returns why it stops (above).

    After WANT_ESTIMATES the caller may change tasks.estimate and tasks.hold of waiting jobs; episode.ended says which jobs have
    ended. After WANT_SCORES the caller fills episode.score (by place in the queue) and calls again. After WANT_CHOICE it calls
    again with the place in the queue of the job to take first, below min(queued, VISIBLE_JOBS); else `choice` is not read.
    """
    submit, runtime, procs, estimate, limit = tasks.submit, tasks.runtime, tasks.procs, tasks.estimate, tasks.limit
    user, cancel, cancel_order, hold = tasks.user, tasks.cancel, tasks.cancel_order, tasks.hold
    announced, announced_task = tasks.announced, tasks.announced_task
    first, last, num_tasks = tasks.first, tasks.last, len(submit)
    counters, queue, score, order = episode.counters, episode.queue, episode.score, episode.order
    heap_end, heap_job = episode.heap_end, episode.heap_job
    est_end, est_job, believed = episode.est_end, episode.est_job, episode.believed
    start, backfilled, reserved = episode.start, episode.backfilled, episode.reserved
    plan_time, plan_room = episode.plan_time, episode.plan_room
    usage, rate, since, half_life = episode.usage, episode.rate, episode.since, scoring.half_life_s
    kind = scoring.kind
    fixed_order = kind == FIXED
    accounts = half_life > 0.0
    reserves = rules.backfill == RESERVE
    now, free = counters[at.NOW], counters[at.FREE]
    queued, running, arrived = counters[at.QUEUED], counters[at.RUNNING], counters[at.ARRIVED]
    outage, known, cancelled = counters[at.OUTAGE], counters[at.ANNOUNCED], counters[at.CANCELLATION]
    phase, steps = counters[at.PHASE], counters[at.PLAN_STEPS]
    why = -1

    if counters[at.BEGUN] == 0:
        counters[at.BEGUN] = 1
        counters[at.NEXT_DUE] = FOREVER
        arrived, outage, free = first, last, rules.cluster_procs
        begin = submit[first] if last > first else 0
        for k in range(len(since)):
            since[k] = begin
        steps = begin_plan(plan_time, plan_room, begin, free)
        for job in range(first):
            believed[job] = start[job] + hold[job]
            if believed[job] <= begin:
                believed[job] = corrected_end(start[job], hold[job], limit[job], begin, rules.correction)
            add_running(heap_end, heap_job, est_end, est_job, running, start[job] + runtime[job], believed[job], job)
            running += 1
            free -= procs[job]
            if reserves:
                steps = change(plan_time, plan_room, steps, begin, believed[job], -procs[job])
            if accounts:
                change_rate(usage, rate, since, user[job], begin, procs[job], half_life)

    while why < 0:
        if phase == EVENTS:
            if arrived >= last and queued == 0:
                why = DONE
                break
            while cancelled < len(cancel_order) and start[cancel_order[cancelled]] != CANCELLED:
                cancelled += 1  # it has started
            now = np.int64(FOREVER)
            if arrived < last:
                now = submit[arrived]
            if running > 0:
                now = min(now, heap_end[0])
            if outage < num_tasks:
                now = min(now, submit[outage])
            if known < len(announced):
                now = min(now, announced[known])
            if cancelled < len(cancel_order):
                now = min(now, cancel[cancel_order[cancelled]])
            if reserves:
                now = min(now, counters[at.NEXT_DUE])
            if now == FOREVER:
                why = STUCK
                break
            if reserves:
                steps = forget_past(plan_time, plan_room, steps, now)

            while running > 0 and heap_end[0] == now:
                job = heap_job[0]
                heap_pop(heap_end, heap_job, running)
                remove_running(est_end, est_job, running, believed[job], job)
                running -= 1
                free += procs[job]
                if rules.live:
                    episode.ended[counters[at.ENDED]] = job
                    counters[at.ENDED] += 1
                if reserves and believed[job] > now:
                    steps = change(plan_time, plan_room, steps, now, believed[job], procs[job])
                    counters[at.GREW] = 1
                    counters[at.HORIZON] = max(counters[at.HORIZON], believed[job])
                if accounts and job < last:
                    change_rate(usage, rate, since, user[job], now, -procs[job], half_life)
            while known < len(announced) and announced[known] == now:
                task = announced_task[known]
                if reserves:
                    steps = change(
                        plan_time, plan_room, steps, submit[task], submit[task] + runtime[task], -procs[task]
                    )
                    counters[at.SHRUNK] = 1
                known += 1
            while outage < num_tasks and submit[outage] == now:
                believed[outage] = now + runtime[outage]
                add_running(heap_end, heap_job, est_end, est_job, running, believed[outage], believed[outage], outage)
                running += 1
                free -= procs[outage]
                if reserves:
                    was_announced = False
                    for k in range(known):
                        was_announced = was_announced or announced_task[k] == outage
                    if not was_announced:
                        steps = change(plan_time, plan_room, steps, now, believed[outage], -procs[outage])
                        counters[at.SHRUNK] = 1
                outage += 1
            while arrived < last and submit[arrived] == now:
                k = queued
                if fixed_order:
                    value = scoring.fixed[arrived]
                    while k > 0 and score[k - 1] > value:
                        k -= 1
                    for i in range(queued, k, -1):
                        score[i] = score[i - 1]
                        queue[i] = queue[i - 1]
                    score[k] = value
                queue[k] = arrived
                queued += 1
                arrived += 1
            while cancelled < len(cancel_order) and cancel[cancel_order[cancelled]] == now:
                job = cancel_order[cancelled]
                cancelled += 1
                if start[job] != CANCELLED:
                    continue
                k = 0
                while queue[k] != job:
                    k += 1
                close_gap(queue, score, k, queued)
                queued -= 1
                if reserves and 0 <= reserved[job] < FOREVER:
                    end = reserved[job] + estimate[job]
                    steps = change(plan_time, plan_room, steps, reserved[job], end, procs[job])
                    counters[at.GREW] = 1
                    counters[at.HORIZON] = max(counters[at.HORIZON], end)
            if queued == 0:
                counters[at.NEXT_DUE] = FOREVER
                continue
            if not reserves:  # a pass in which no job fits cannot start anything, whatever the order
                k = 0
                while k < queued and procs[queue[k]] > free:
                    k += 1
                if k == queued:
                    continue
            # whoever reads estimated ends below must find none that has expired
            while running > 0 and est_end[0] <= now:
                job = est_job[0]
                remove_running(est_end, est_job, running, est_end[0], job)
                believed[job] = corrected_end(start[job], hold[job], limit[job], now, rules.correction)
                insert_running(est_end, est_job, running - 1, believed[job], job)
                if reserves:
                    steps = change(plan_time, plan_room, steps, now, believed[job], -procs[job])
                    counters[at.SHRUNK] = 1
            if rules.planned and not reserves:
                steps = begin_plan(plan_time, plan_room, now, free)
                for k in range(running):
                    if est_end[k] < FOREVER:
                        steps = change(plan_time, plan_room, steps, est_end[k], FOREVER, procs[est_job[k]])
                for k in range(known):
                    task = announced_task[k]
                    if submit[task] > now:
                        end = submit[task] + runtime[task]
                        steps = change(plan_time, plan_room, steps, submit[task], end, -procs[task])
            phase = RENEW if rules.live else ORDER

        if phase == RENEW:
            phase = ORDER
            why = WANT_ESTIMATES
            break
        if phase == ORDER:
            phase = CHOOSE
            if kind == ASKED_SCORES:
                why = WANT_SCORES
                break
            if kind == ASKED_CHOICE:
                if queued > 1:
                    why = WANT_CHOICE
                    break
                choice = np.int64(0)
            elif not fixed_order:
                failed = fill_scores(
                    kind, scoring.parameters, half_life, scoring.users, scoring.ops, scoring.constants, scoring.weights,
                    scoring.facts, scoring.origin, queue, queued, now, free, rules.cluster_procs, submit, procs,
                    estimate, user, est_end, est_job, running, usage, rate, since, episode.scratch, episode.rows,
                    episode.outputs, episode.room, score,
                )  # fmt: skip
                if failed >= 0:
                    counters[at.FAILED] = queue[failed]
                    why = FORMULA_FAILED
                    break
                if rules.sample == FOLLOW:
                    for k in range(queued):
                        score[k] = scoring.fixed[queue[k]]

        if reserves:
            for k in range(queued):
                job = queue[k]
                if reserved[job] == UNPROTECTED and expansion_factor_reached(
                    now - submit[job], estimate[job], rules.threshold
                ):
                    reserved[job] = UNRESERVED
            steps = reserve_and_start(
                now, queue, queued, score, fixed_order, order, procs, estimate, reserved, start, backfilled,
                plan_time, plan_room, steps, counters,
            )  # fmt: skip
            kept = 0
            for k in range(queued):
                job = queue[k]
                if start[job] == CANCELLED:
                    queue[kept] = job
                    score[kept] = score[k]
                    kept += 1
                    continue
                free -= procs[job]
                believed[job] = now + hold[job]
                add_running(heap_end, heap_job, est_end, est_job, running, now + runtime[job], believed[job], job)
                running += 1
                if accounts:
                    change_rate(usage, rate, since, user[job], now, procs[job], half_life)
            queued = kept
            phase = EVENTS
            continue

        # jobs from the front of the order while they fit, then jobs behind the blocked head
        head = np.int64(-1)
        shadow = np.int64(0)
        extra = np.int64(0)
        candidates = 0
        while True:
            if phase == CHOOSE:
                place, log_probability = np.int64(0), 0.0
                if kind == ASKED_CHOICE:
                    place = choice
                elif rules.sample == DRAW:
                    place, log_probability = draw_choice(episode.outputs, min(queued, VISIBLE_JOBS))
                elif not fixed_order:
                    for k in range(1, queued):
                        if score[k] < score[place]:
                            place = np.int64(k)
                if rules.sample != TAKE_BEST and queued > 1 and place < VISIBLE_JOBS:
                    visible = min(queued, VISIBLE_JOBS)
                    if not record_choice(counters, recorder, episode.rows, visible, place, log_probability):
                        why = RECORDER_FULL
                        break
                job = queue[place]
                fits = procs[job] <= free
                if fits and rules.planned:
                    fits = fits_now(plan_time, plan_room, steps, procs[job], estimate[job])
                if not fits:
                    phase = FILL
                    head = place
                    if rules.promises and episode.promised[job] < 0:
                        episode.promised[job], extra = reservation(free, procs[job], est_end, est_job, running, procs)
                    if rules.backfill == NO_BACKFILL or queued == 1 or free <= 0:
                        break
                    if rules.planned:
                        shadow = earliest_start(plan_time, plan_room, steps, procs[job], estimate[job])
                        if shadow < FOREVER:
                            end = shadow + estimate[job]
                            steps = change(plan_time, plan_room, steps, shadow, end, -procs[job])
                    else:
                        shadow, extra = reservation(free, procs[job], est_end, est_job, running, procs)
                    for k in range(queued):
                        if k != head and procs[queue[k]] <= free:
                            order[candidates] = k
                            candidates += 1
                    continue
            else:
                # the best of the candidates; one that is refused now would be refused later in the pass as well
                place = np.int64(-1)
                kept = 0
                for i in range(candidates):
                    k = order[i]
                    job = queue[k]
                    fits = procs[job] <= free
                    if fits and rules.planned:
                        fits = fits_now(plan_time, plan_room, steps, procs[job], estimate[job])
                    elif fits:
                        fits = now + estimate[job] <= shadow or procs[job] <= extra
                    if not fits:
                        continue
                    order[kept] = k
                    kept += 1
                    if place < 0:
                        place = k
                    elif rules.backfill == EASY_SJBF:
                        best = queue[place]
                        if estimate[job] < estimate[best] or (estimate[job] == estimate[best] and job < best):
                            place = k
                    elif kind != ASKED_CHOICE and score[k] < score[place]:
                        place = k
                candidates = kept
                if place < 0:
                    break
                kept = 0
                for i in range(candidates):
                    if order[i] != place:
                        order[kept] = order[i]
                        kept += 1
                candidates = kept
                job = queue[place]
                backfilled[job] = True
                if now + estimate[job] > shadow:
                    extra -= procs[job]

            start[job] = now
            free -= procs[job]
            believed[job] = now + hold[job]
            add_running(heap_end, heap_job, est_end, est_job, running, now + runtime[job], believed[job], job)
            running += 1
            if accounts:
                change_rate(usage, rate, since, user[job], now, procs[job], half_life)
            if rules.planned:
                steps = change(plan_time, plan_room, steps, now, believed[job], -procs[job])
            if phase == CHOOSE:
                close_gap(queue, score, place, queued)
                queued -= 1
                if queued == 0:
                    break
                if scoring.follows_free:
                    # where no job fits any more nobody need be asked
                    k = 0
                    while k < queued and procs[queue[k]] > free:
                        k += 1
                    phase = ORDER if k < queued else EVENTS
                    break
            else:
                queue[place] = -1
                if free == 0:
                    break
        if why >= 0 or phase in (ORDER, EVENTS):
            continue
        if phase == FILL:
            kept = 0
            for k in range(queued):
                if queue[k] >= 0:
                    queue[kept] = queue[k]
                    score[kept] = score[k]
                    kept += 1
            queued = kept
        phase = EVENTS

    counters[at.NOW], counters[at.FREE] = now, free
    counters[at.QUEUED], counters[at.RUNNING], counters[at.ARRIVED] = queued, running, arrived
    counters[at.OUTAGE], counters[at.ANNOUNCED], counters[at.CANCELLATION] = outage, known, cancelled
    counters[at.PHASE], counters[at.PLAN_STEPS] = phase, steps
    return why


@lean
def close_gap(queue, score, place, queued):
    for i in range(np.uint64(place), np.uint64(queued - 1)):
        queue[i] = queue[i + np.uint64(1)]
    for i in range(np.uint64(place), np.uint64(queued - 1)):
        score[i] = score[i + np.uint64(1)]
