"""Steps of the general engine in which somebody picks the jobs that start past others.

Rules: docs/reference/semantics.md, "Picked backfilling". All take the tuples of one replay: `Tasks`, `Rules`, `Scoring`, `Episode`.
A slot is the number of a visible job; `Episode.order` has its place in the queue.
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.engine.episode import EVENTS, GO_ON, ORDER, PICK, PICKED, RECORDER_FULL, WANT_PICK, moment_of
from simulator.engine.events import comes_before, leave_queue, time_of_next_event
from simulator.engine.plan import fits_now
from simulator.engine.reserving import order_places
from simulator.engine.starting import head_reservation, plan_head, start_job
from simulator.jobs.cluster import FOREVER
from simulator.policies.agents import ASKED, FIRST, NARROWEST, NETWORK, SHORTEST, SMALLEST
from simulator.policies.network import NetworkInputs
from simulator.policies.observation import Sight, observe_candidates
from simulator.policies.sampling import choose_row

NONE, NO_ROOM = -1, -2
"""In place of a slot: no job is picked, or the recorder is full."""


@inlined
def begin_picking(tasks, rules, episode, head):
    """The blocked head (its place, or -1) and what is kept for it."""
    counters, picking = episode.counters, rules.picking
    counters[at.HEAD] = head
    counters[at.SHADOW], counters[at.EXTRA], counters[at.LATEST] = FOREVER, 0, 0
    counters[at.PHASE] = PICK
    if head >= 0 and picking.guarded:
        if counters[at.PENDING] == 1:
            counters[at.SHADOW] = plan_head(tasks, episode, head)
        else:
            counters[at.SHADOW], counters[at.EXTRA] = head_reservation(tasks, episode, head)
        job = episode.queue[head]
        if len(episode.promised) > 1:
            if episode.promised[job] < 0:
                episode.promised[job] = counters[at.SHADOW]
            slack = max(picking.slack_s, np.int64(picking.slack_share * tasks.estimate[job]))
            if (picking.slack_s > 0 or picking.slack_share > 0.0) and episode.promised[job] < FOREVER:
                counters[at.LATEST] = episode.promised[job] + slack


@inlined
def pick_jobs(tasks, rules, scoring, episode, recorder, choice):
    """Goes on with the pass until it ends or somebody has to be asked. Returns GO_ON, or why the engine stops.

    choice: the slot that was answered, where somebody was asked."""
    counters, picking = episode.counters, rules.picking
    while True:
        slot = np.int64(choice)
        if counters[at.PHASE] == PICK:
            list_slots(scoring, episode, picking)
            mark_candidates(tasks, rules, episode)
            if counters[at.CANDIDATES] == 0 and not picking.every_event:
                counters[at.PHASE] = EVENTS
                return GO_ON
            if picking.by == ASKED:
                if not picking.must or counters[at.CANDIDATES] != 1:
                    counters[at.PHASE] = PICKED
                    return WANT_PICK
                slot = first_candidate(episode)
            elif picking.by == NETWORK:
                slot = network_slot(tasks, rules, scoring, episode, recorder)
                if slot == NO_ROOM:
                    return RECORDER_FULL
            else:
                slot = slot_by_rule(tasks, picking.by, episode)
        counters[at.PHASE] = PICK
        none = slot < 0 or slot >= counters[at.SLOTS] or not episode.candidate[slot]
        if none and counters[at.CANDIDATES] > 0 and not may_pick_none(tasks, rules, episode):
            slot = first_candidate(episode)
        elif none:
            counters[at.PHASE] = EVENTS
            return GO_ON
        start_picked(tasks, rules, scoring, episode, slot)
        if picking.whole and scoring.follows_free:
            counters[at.PHASE] = ORDER
            return GO_ON


@inlined
def list_slots(scoring, episode, picking):
    """Fills `order` with the places of the visible jobs by slot."""
    counters, order = episode.counters, episode.order
    order_places(scoring, episode)
    counters[at.FRONT] = order[0] if counters[at.QUEUED] > 0 else -1
    jobs = 0
    for i in range(counters[at.QUEUED]):
        if order[i] != counters[at.HEAD]:
            order[jobs] = order[i]
            jobs += 1
    front = min(jobs, picking.front)
    low, high = front, jobs - 1
    while low < high:  # the last one comes first
        order[low], order[high] = order[high], order[low]
        low += 1
        high -= 1
    counters[at.AT_FRONT] = front
    counters[at.SLOTS] = front + min(jobs - front, picking.back)


@inlined
def mark_candidates(tasks, rules, episode):
    """Says of every slot whether its job may start now."""
    counters, picking = episode.counters, rules.picking
    now, free = counters[at.NOW], counters[at.FREE]
    candidates = 0
    for slot in range(counters[at.SLOTS]):
        job = episode.queue[episode.order[slot]]
        procs, end = tasks.procs[job], now + tasks.admit[job]
        fits = procs <= free
        if fits and picking.keep_free > 0 and tasks.admit[job] > picking.keep_over_s:
            fits = free - procs >= min(picking.keep_free, rules.cluster_procs - procs)
        if fits and counters[at.PENDING] == 1:
            steps = counters[at.PLAN_STEPS]
            fits = fits_now(episode.plan_time, episode.plan_room, steps, procs, tasks.admit[job])
        elif fits and picking.guarded and counters[at.HEAD] >= 0:
            fits = end <= counters[at.SHADOW] or procs <= counters[at.EXTRA] or end <= counters[at.LATEST]
        episode.candidate[slot] = fits
        if fits:
            candidates += 1
    counters[at.CANDIDATES] = candidates


@inlined
def may_pick_none(tasks, rules, episode):
    """Whether it is an answer to pick nothing."""
    if rules.picking.must and episode.counters[at.CANDIDATES] > 0:
        return False
    return time_of_next_event(tasks, rules, episode) < FOREVER


@inlined
def first_candidate(episode):
    """The first slot that has a candidate."""
    slot = np.int64(0)
    while not episode.candidate[slot]:
        slot += 1
    return slot


@inlined
def start_picked(tasks, rules, scoring, episode, slot):
    """The job of this slot starts."""
    counters, picking = episode.counters, rules.picking
    place = episode.order[slot]
    job = episode.queue[place]
    end = counters[at.NOW] + tasks.admit[job]
    if picking.guarded and end > counters[at.SHADOW] and end > counters[at.LATEST]:
        counters[at.EXTRA] -= tasks.procs[job]
    episode.backfilled[job] = not picking.whole or place != counters[at.FRONT]
    start_job(tasks, rules, scoring, episode, job)
    leave_queue(episode, place)
    if place < counters[at.HEAD]:
        counters[at.HEAD] -= 1


@lean
def slot_by_rule(tasks, by, episode):
    """The slot that a rule picks."""
    best, best_key, best_job = np.int64(NONE), np.int64(0), np.int64(0)
    for slot in range(episode.counters[at.SLOTS]):
        if not episode.candidate[slot]:
            continue
        job = episode.queue[episode.order[slot]]
        key = np.int64(0)
        if by == SHORTEST:
            key = tasks.estimate[job]
        elif by == NARROWEST:
            key = tasks.procs[job]
        elif by == SMALLEST:
            key = tasks.estimate[job] * tasks.procs[job]
        if best < 0 or key < best_key or (key == best_key and by != FIRST and comes_before(tasks, job, best_job)):
            best, best_key, best_job = np.int64(slot), key, job
    return best


@inlined
def network_slot(tasks, rules, scoring, episode, recorder):
    """The slot that the network picks, NONE, or NO_ROOM where the choice could not be recorded."""
    rows = see_candidates(tasks, rules, scoring, episode, episode.rows)
    row, now = np.int64(0), episode.counters[at.NOW]
    if rows > 1:
        sample, weights = rules.picking.sample, scoring.weights
        row = choose_row(recorder, sample, episode.rows, rows, weights, episode.outputs, now)
    return slot_of_row(episode, row) if row >= 0 else np.int64(NO_ROOM)


@inlined
def see_candidates(tasks, rules, scoring, episode, features):
    """Lists the candidates in `sighted` and `sighted_slot`, and fills `features` with their rows and with that of none, if it is an
    answer. Returns how many rows there are. A single one is not filled.

    Rows are in the order of submission, whatever the slots: of equal outputs the first counts, and rules break ties so, too."""
    counters, jobs, slots = episode.counters, episode.sighted, episode.sighted_slot
    candidates, front = 0, counters[at.AT_FRONT]
    for k in range(counters[at.SLOTS]):
        slot = k if k < front else front + counters[at.SLOTS] - 1 - k  # in queue order, often that of the log already
        if episode.candidate[slot]:
            job, row = episode.queue[episode.order[slot]], candidates
            while row > 0 and comes_before(tasks, job, jobs[row - 1]):
                jobs[row], slots[row] = jobs[row - 1], slots[row - 1]
                row -= 1
            jobs[row], slots[row] = job, slot
            candidates += 1
    rows = candidates
    if may_pick_none(tasks, rules, episode):
        rows += 1
    if rows > 1:
        head = episode.queue[counters[at.HEAD]] if counters[at.HEAD] >= 0 else np.int64(-1)
        sight = Sight(head, counters[at.SHADOW], counters[at.EXTRA], slots, front, 0, candidates, rows)
        moment = moment_of(tasks, rules, scoring, episode)
        inputs = NetworkInputs(scoring.weights, scoring.facts)
        observe_candidates(moment, sight, inputs, jobs, tasks.admit, episode.room, features)
    return np.int64(rows)


@inlined
def slot_of_row(episode, row):
    """The slot of a row that `see_candidates` has filled, NONE for that of none."""
    return episode.sighted_slot[row] if row < episode.counters[at.CANDIDATES] else np.int64(NONE)
