"""The step of the general engine in which an inspector accepts or rejects the first of the order (docs/reference/semantics.md, "Inspected
picks")."""

from __future__ import annotations

import numpy as np

from simulator.compiled import inlined
from simulator.engine import episode as at
from simulator.engine.episode import moment_of
from simulator.engine.events import any_fits
from simulator.engine.plan import plan_fits_now
from simulator.engine.rules import CHOOSE, EVENTS, GO_ON, INSPECT, INSPECTED, RECORDER_FULL, WANT_VERDICT
from simulator.engine.starting import first_of_order
from simulator.policies.agent_sight import observe_pick
from simulator.policies.agents import ASKED, NETWORK, REJECT, UNFIT
from simulator.policies.network import NetworkInputs
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
    place, _ = first_of_order(rules, scoring, episode, 0)
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
