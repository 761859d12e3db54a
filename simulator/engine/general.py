"""The general event loop, for every policy and backfilling rule. It can stop to get scores or a choice from its caller.

Rules: docs/reference/semantics.md. Priorities that are fixed at submission go faster without reservations through
simulator/engine/static.py, which must give the same schedules. Nothing here allocates, and nothing counts references
(`_nrt=False`): all arrays come in as a `simulator.engine.episode.Episode`. The steps are in the modules events, starting
and reserving.
"""

from __future__ import annotations

import numpy as np

from compilation.apart import apart
from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.engine.episode import (
    CHOOSE,
    DONE,
    EVENTS,
    FILL,
    GO_ON,
    INSPECT,
    INSPECTED,
    ORDER,
    PAUSED,
    PICK,
    PICKED,
    RECORDER_FULL,
    RENEW,
    RESERVE,
    STUCK,
    WANT_ESTIMATES,
    WANT_VERDICT,
    moment_of,
)
from simulator.engine.events import (
    announce_outages,
    any_fits,
    begin_replay,
    cancel_jobs,
    comes_now,
    correct_estimates,
    end_jobs,
    needs_pass,
    next_event,
    nothing_comes,
    plan_outages,
    start_outages,
    submit_jobs,
)
from simulator.engine.picking import begin_picking, pick_jobs
from simulator.engine.plan import plan_fits_now
from simulator.engine.reserving import reserve, start_reserved
from simulator.engine.starting import first_of_order, order_queue, start_behind, start_front
from simulator.policies.agents import ASKED, NETWORK, NO_ONE, REJECT, UNFIT
from simulator.policies.network import NetworkInputs
from simulator.policies.observation import observe_pick
from simulator.policies.sampling import choose_row

REJECTED, ACCEPTED = 0, 1


@inlined
def inspect_first(tasks, rules, scoring, episode, recorder, choice):
    """Goes on to CHOOSE where the first of the order is accepted, and to EVENTS where it is rejected or nothing fits. Returns GO_ON,
    or why the engine stops. choice: the verdict that was answered, where somebody was asked."""
    counters, by = episode.counters, rules.inspecting.by
    if not any_fits(tasks, episode):
        counters[at.PHASE] = EVENTS
        return GO_ON
    place, _ = first_of_order(tasks, rules, scoring, episode, 0)
    job = episode.queue[place]
    verdict = np.int64(choice)
    if counters[at.PHASE] == INSPECT:
        verdict = np.int64(ACCEPTED)
        if episode.rejected[job] < rules.inspecting.rejections:
            if by == ASKED:
                counters[at.PHASE] = INSPECTED
                counters[at.INSPECTED_JOB], counters[at.WOULD_START] = job, would_start(tasks, episode, job)
                return WANT_VERDICT
            if by == NETWORK:
                moment = moment_of(tasks, rules, scoring, episode)
                inputs = NetworkInputs(scoring.weights, scoring.facts)
                episode.sighted[0] = job
                rejected_s = episode.rejected_s[job]
                observe_pick(moment, rejected_s, inputs, episode.sighted, tasks.admit, episode.room, episode.rows)
                sample = rules.inspecting.sample
                row = choose_row(recorder, sample, episode.rows, 2, scoring.weights, episode.outputs, counters[at.NOW])
                if row < 0:
                    return RECORDER_FULL
                verdict = np.int64(ACCEPTED - row)
            elif by == REJECT or (by == UNFIT and not would_start(tasks, episode, job)):
                verdict = np.int64(REJECTED)
    if verdict == REJECTED and episode.rejected[job] < rules.inspecting.rejections:
        episode.rejected[job] += 1
        counters[at.WAKE] = counters[at.NOW] + rules.inspecting.interval_s
        counters[at.LAST_REJECTED] = job + 1
        counters[at.PHASE] = EVENTS
    else:
        counters[at.PHASE] = CHOOSE
    return GO_ON


@inlined
def would_start(tasks, episode, job):
    """Whether the job starts if it is accepted."""
    counters = episode.counters
    fits = tasks.procs[job] <= counters[at.FREE]
    if fits and counters[at.PENDING] == 1:
        fits = plan_fits_now(tasks, episode, job)
    return fits


@inlined
def end_rejection(rules, episode):
    """Something happens: the time that has passed since a rejection is the rejected job's."""
    counters = episode.counters
    if counters[at.LAST_REJECTED] > 0:
        since = counters[at.WAKE] - rules.inspecting.interval_s
        episode.rejected_s[counters[at.LAST_REJECTED] - 1] += counters[at.NOW] - since
        counters[at.LAST_REJECTED] = 0
    counters[at.WAKE] = 0


@apart
@lean
def advance(tasks, rules, scoring, episode, recorder, choice):
    """Continues until the replay is done or needs an answer. Returns why it stops (simulator/engine/episode.py).

    After WANT_ESTIMATES the caller may change tasks.estimate and tasks.hold of waiting jobs; episode.ended says which jobs have
    ended. After WANT_SCORES the caller fills episode.score (by place in the queue) and calls again. After WANT_CHOICE it calls
    again with the place in the queue of the job to take first, below min(queued, VISIBLE_JOBS). After WANT_PICK it calls again with
    a slot, or -1 for none: slot k is the job at place `episode.order[k]` of the queue, and `episode.candidate` says which may be
    picked. After WANT_VERDICT it calls again with 1 to accept the job, else 0. In all other cases `choice` is not read.
    """
    counters = episode.counters
    if counters[at.BEGUN] == 0:
        begin_replay(tasks, rules, scoring, episode)
    while True:
        if counters[at.PHASE] == EVENTS:
            if counters[at.QUEUED] == 0 and nothing_comes(tasks, episode):
                return DONE
            if counters[at.AWAITED_TO] > 0 and counters[at.AWAITED] == 0:
                return DONE
            if not next_event(tasks, rules, episode):
                return STUCK if counters[at.QUEUED] > 0 else DONE
            if 0 < counters[at.PAUSE] <= counters[at.NOW] + 1:
                return PAUSED
            take_events(tasks, rules, scoring, episode)
            if not needs_pass(tasks, rules, episode):
                continue
            correct_estimates(tasks, rules, episode)
            if rules.planned and rules.backfill != RESERVE:
                plan_outages(tasks, episode)
            counters[at.PHASE] = RENEW if rules.live else ORDER
        if counters[at.PHASE] == RENEW:
            counters[at.PHASE] = ORDER
            return WANT_ESTIMATES
        if counters[at.PHASE] == ORDER:
            counters[at.PHASE] = CHOOSE if rules.inspecting.by == NO_ONE else INSPECT
            why = order_queue(tasks, rules, scoring, episode)
            if why != GO_ON:
                return why
        if rules.backfill == RESERVE:
            reserve(tasks, rules, scoring, episode)
            start_reserved(tasks, rules, scoring, episode)
            counters[at.PHASE] = EVENTS
            continue
        if counters[at.PHASE] == INSPECT or counters[at.PHASE] == INSPECTED:
            why = inspect_first(tasks, rules, scoring, episode, recorder, choice)
            if why != GO_ON:
                return why
        if counters[at.PHASE] == CHOOSE:
            head = start_first(tasks, rules, scoring, episode, recorder, choice)
            if counters[at.PHASE] == CHOOSE:
                return RECORDER_FULL
            if counters[at.PHASE] == FILL and rules.picking.by != NO_ONE:
                begin_picking(tasks, rules, episode, head)
            elif counters[at.PHASE] == FILL:
                start_behind(tasks, rules, scoring, episode, head)
                counters[at.PHASE] = EVENTS
        if counters[at.PHASE] == PICK or counters[at.PHASE] == PICKED:
            why = pick_jobs(tasks, rules, scoring, episode, recorder, choice)
            if why != GO_ON:
                return why


@inlined
def start_first(tasks, rules, scoring, episode, recorder, choice):
    """Starts jobs from the front of the order, unless all are picked. Returns the place of the blocked head, or -1."""
    head = np.int64(-1)
    if rules.picking.whole:
        episode.counters[at.PHASE] = FILL
    else:
        head = start_front(tasks, rules, scoring, episode, recorder, choice)
    return head


@inlined
def take_events(tasks, rules, scoring, episode):
    """All that happens at this second, in the order of docs/reference/semantics.md."""
    counters = episode.counters
    end_jobs(tasks, rules, scoring, episode)
    announce_outages(tasks, rules, episode)
    start_outages(tasks, rules, episode)
    while True:
        submit_jobs(tasks, rules, scoring, episode)
        if counters[at.WAKE] > 0:
            end_rejection(rules, episode)
        cancel_jobs(tasks, rules, episode)
        if not comes_now(tasks, episode):
            break
