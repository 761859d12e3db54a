"""Steps of the general engine within a pass: order the queue, start its front, and fill behind a head that is blocked.

All take the tuples of one replay: `Tasks`, `Rules`, `Scoring`, `Episode`. Rules: docs/reference/semantics.md.
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import inlined, inlined_late, lean
from simulator.engine import episode as at
from simulator.engine.episode import (
    ANY,
    EASY_SJBF,
    EVENTS,
    FILL,
    FORMULA_FAILED,
    GO_ON,
    NO_BACKFILL,
    ORDER,
    WANT_CHOICE,
    WANT_SCORES,
    moment_of,
    scratch_of,
)
from simulator.engine.events import any_fits, change_usage, comes_before, leave_queue
from simulator.engine.plan import change_plan, earliest_in_plan, fits_now, plan_fits_now
from simulator.engine.running import enter_running, reservation
from simulator.jobs.cluster import FOREVER
from simulator.policies.agents import NO_ONE
from simulator.policies.network import VISIBLE_JOBS, jobs_within_cap
from simulator.policies.sampling import DRAW, FOLLOW, TAKE_BEST, draw_choice, record_choice
from simulator.policies.scoring import ASKED_CHOICE, ASKED_SCORES, FIXED, LEARNED, fill_scores, score_blocks


@inlined_late
def order_queue(tasks, rules, scoring, episode):
    """Scores the queue, if the policy recomputes scores in every pass. Returns GO_ON, or why the engine stops."""
    counters = episode.counters
    if scoring.kind == FIXED:
        return GO_ON
    if scoring.kind == ASKED_SCORES:
        return WANT_SCORES
    if scoring.kind == ASKED_CHOICE:
        return WANT_CHOICE if counters[at.QUEUED] > 1 else GO_ON
    moment = moment_of(tasks, rules, scoring, episode)
    if draws_first(rules, scoring):
        score_blocks(moment, scoring, scratch_of(episode), episode.score, 0, 0)
        return GO_ON
    place, operation = fill_scores(moment, scoring, scratch_of(episode), episode.score)
    if place >= 0:
        counters[at.FAILED], counters[at.FAILED_OPERATION] = episode.queue[place], operation
        return FORMULA_FAILED
    if rules.sample == FOLLOW:
        for k in range(counters[at.QUEUED]):
            episode.score[k] = scoring.fixed[episode.queue[k]]
    return GO_ON


@inlined
def draws_first(rules, scoring):
    """Whether the first of the order is drawn from the front of the queue. Then the rest is scored only where it may be backfilled."""
    return scoring.kind == LEARNED and rules.sample == DRAW and rules.picking.by == NO_ONE


@lean
def score_candidates(tasks, rules, scoring, episode, candidates):
    """Scores the jobs that wait behind the front of the queue, where one of them is a candidate."""
    moment, order = moment_of(tasks, rules, scoring, episode), episode.order
    scored = 0  # the front has its scores
    for i in range(candidates):
        block = order[i] // VISIBLE_JOBS
        if block > scored:
            score_blocks(moment, scoring, scratch_of(episode), episode.score, block, block)
            scored = block


@inlined
def start_job(tasks, rules, scoring, episode, job):
    """The job starts now."""
    counters = episode.counters
    now = counters[at.NOW]
    episode.start[job] = now
    enter_running(tasks, episode, job, now, now + tasks.hold[job])
    if counters[at.AWAITED_FROM] <= job < counters[at.AWAITED_TO]:
        counters[at.AWAITED] -= 1
    if scoring.half_life_s > 0.0:
        change_usage(tasks, scoring, episode, job, now, tasks.procs[job])
    if counters[at.PENDING] == 1:
        change_plan(episode, now, now + tasks.hold[job], -tasks.procs[job])


@inlined
def start_front(tasks, rules, scoring, episode, recorder, choice):
    """Starts jobs from the front of the order while they fit, and sets the phase that follows. CHOOSE means that a choice could
    not be recorded. Returns the place of the blocked head, or -1."""
    counters = episode.counters
    while True:
        place, log_probability = first_of_order(tasks, rules, scoring, episode, choice)
        queued = counters[at.QUEUED]
        if rules.sample != TAKE_BEST and queued > 1:
            visible = jobs_within_cap(scoring.weights.signals, tasks.submit, episode.queue, min(queued, VISIBLE_JOBS))
            is_choice = visible > 1 and place < visible
            if is_choice and not record_choice(
                recorder, episode.rows, visible, place, log_probability, counters[at.NOW]
            ):
                return np.int64(-1)
        job = episode.queue[place]
        fits = tasks.procs[job] <= counters[at.FREE]
        if fits and counters[at.PENDING] == 1:
            fits = plan_fits_now(tasks, episode, job)
        if not fits:
            counters[at.PHASE] = FILL
            return place
        start_job(tasks, rules, scoring, episode, job)
        leave_queue(episode, place)
        if counters[at.QUEUED] == 0:
            counters[at.PHASE] = EVENTS
            return np.int64(-1)
        if scoring.follows_free or rules.inspecting.by != NO_ONE:  # where no job fits any more, no answer is needed
            counters[at.PHASE] = ORDER if any_fits(tasks, episode) else EVENTS
            return np.int64(-1)


@inlined
def first_of_order(tasks, rules, scoring, episode, choice):
    """The place of the job that goes first, and the log-probability of that choice if it was drawn."""
    queued, score = episode.counters[at.QUEUED], episode.score
    place = np.int64(0)
    if scoring.kind == ASKED_CHOICE:
        if queued > 1:
            place = np.int64(choice)
    elif rules.sample == DRAW:
        visible = min(queued, VISIBLE_JOBS)
        visible = jobs_within_cap(scoring.weights.signals, tasks.submit, episode.queue, visible)
        return draw_choice(episode.outputs, visible)
    elif scoring.kind != FIXED:
        lowest = score[0]
        for k in range(1, jobs_within_cap(scoring.weights.signals, tasks.submit, episode.queue, queued)):
            if score[k] < lowest:
                lowest = score[k]
                place = np.int64(k)
    return place, 0.0


@inlined
def start_behind(tasks, rules, scoring, episode, head):
    """Starts jobs behind the blocked head as long as they do not delay it."""
    counters, queue = episode.counters, episode.queue
    if rules.promises and rules.backfill != ANY and episode.promised[queue[head]] < 0:
        episode.promised[queue[head]], _ = head_reservation(tasks, episode, head)
    if rules.backfill == NO_BACKFILL or counters[at.QUEUED] == 1 or counters[at.FREE] <= 0:
        return
    shadow, extra = kept_for_head(tasks, rules, episode, head)
    now = counters[at.NOW]
    candidates = find_candidates(tasks, episode, head, shadow, extra)
    if draws_first(rules, scoring):
        score_candidates(tasks, rules, scoring, episode, candidates)
    while True:
        place, candidates = best_candidate(tasks, rules, scoring, episode, candidates, shadow, extra)
        if place < 0:
            break
        job = queue[place]
        episode.backfilled[job] = True
        if now + tasks.admit[job] > shadow:
            extra -= tasks.procs[job]
        start_job(tasks, rules, scoring, episode, job)
        queue[place] = -1
        if counters[at.FREE] == 0:
            break
    close_gaps(episode)


@inlined
def kept_for_head(tasks, rules, episode, head):
    """When the blocked head is to start, and how many processors it leaves free then. FOREVER where nothing is kept for it."""
    shadow, extra = np.int64(FOREVER), np.int64(0)
    if rules.backfill == ANY:
        pass
    elif episode.counters[at.PENDING] == 1:
        shadow = plan_head(tasks, episode, head)
    else:
        shadow, extra = head_reservation(tasks, episode, head)
    return shadow, extra


@inlined
def head_reservation(tasks, episode, head):
    """Shadow time and extra processors of the blocked head."""
    counters = episode.counters
    need = tasks.procs[episode.queue[head]]
    return reservation(counters[at.FREE], need, episode.est_end, episode.est_job, counters[at.RUNNING], tasks.procs)


@inlined
def plan_head(tasks, episode, head):
    """Enters the blocked head into the plan at its earliest start, which is its shadow time."""
    job = episode.queue[head]
    shadow = earliest_in_plan(tasks, episode, job)
    if shadow < FOREVER:
        change_plan(episode, shadow, shadow + tasks.estimate[job], -tasks.procs[job])
    return shadow


@inlined
def find_candidates(tasks, episode, head, shadow, extra):
    """Fills `order` with the places behind the head whose jobs may start. Returns how many."""
    queue, order = episode.queue, episode.order
    candidates = 0
    for k in range(episode.counters[at.QUEUED]):
        if k != head and may_start(tasks, episode, queue[k], shadow, extra):
            order[candidates] = k
            candidates += 1
    return candidates


@inlined
def may_start(tasks, episode, job, shadow, extra):
    """Whether a job fits now, and does not delay the blocked head."""
    counters, procs = episode.counters, tasks.procs[job]
    fits = procs <= counters[at.FREE]
    if fits and counters[at.PENDING] == 1:
        fits = fits_now(episode.plan_time, episode.plan_room, counters[at.PLAN_STEPS], procs, tasks.admit[job])
    elif fits:
        fits = counters[at.NOW] + tasks.admit[job] <= shadow or procs <= extra
    return fits


@inlined
def best_candidate(tasks, rules, scoring, episode, candidates, shadow, extra):
    """The place of the candidate that starts next, or -1, and how many candidates are left. A candidate that is refused now would
    also be refused later in the pass, so it is dropped."""
    queue, order, score, estimate = episode.queue, episode.order, episode.score, tasks.estimate
    place = np.int64(-1)
    kept = 0
    for i in range(candidates):
        k = order[i]
        job = queue[k]
        if not may_start(tasks, episode, job, shadow, extra):
            continue
        order[kept] = k
        kept += 1
        if place < 0:
            place = k
        elif rules.backfill == EASY_SJBF:
            best = queue[place]
            if estimate[job] < estimate[best] or (estimate[job] == estimate[best] and comes_before(tasks, job, best)):
                place = k
        elif scoring.kind != ASKED_CHOICE and score[k] < score[place]:
            place = k
    left = 0
    for i in range(kept):
        if order[i] != place:
            order[left] = order[i]
            left += 1
    return place, left


@inlined
def close_gaps(episode):
    """Closes the gaps that jobs have left in the queue, where the value is -1."""
    queue, score = episode.queue, episode.score
    kept = 0
    for k in range(episode.counters[at.QUEUED]):
        if queue[k] >= 0:
            queue[kept] = queue[k]
            score[kept] = score[k]
            kept += 1
    episode.counters[at.QUEUED] = kept
