"""What the network of an agent reads at a decision: a row for each answer, with facts and signals (docs/guides/backfilling.md).

The facts are those of any kernel network. To the signals of simulator/policies/network.py come those that only an agent has.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean
from simulator.jobs.cluster import FOREVER
from simulator.policies.network import (
    ANSWERS_NO,
    AT_FRONT,
    ENDS_BY_SHADOW,
    ESTIMATE_OVER_SHADOW,
    EXTRA_PROCS,
    FREE_PROCS,
    HEAD_ESTIMATE,
    HEAD_PROCS,
    HEAD_WAIT,
    LEFT_FREE,
    NEXT_END,
    QUEUE_LENGTH,
    QUEUE_URGENCY,
    QUEUED_WORK,
    REJECTED_OF_12_H,
    RUNNING_WORK,
    START_DELAY,
    TIME_TO_SHADOW,
    signal_of_all,
    signals_of_jobs,
    start_delays,
)

URGENCY_SCALE = 60.0 * 128.0
"""SchedInspector's scale: 128 jobs of at most ten seconds whose slowdown grows for 600 s."""


class Sight(NamedTuple):
    """What an agent's decision is about, beside the moment."""

    head: int | np.int64  # the blocked head, a task, -1 for none
    shadow: int | np.int64  # its shadow time, seconds. FOREVER where nothing is kept for the head
    extra: int | np.int64  # its extra processors
    slots: NDArray[np.int64]  # (candidates,), where each is in the window. It is not read for an inspected job
    at_front: int | np.int64  # slots in the front part of the window, 0 for an inspected job
    rejected_s: int  # how long rejections have delayed the inspected job
    jobs: int  # candidates
    rows: int  # answers: the candidates and, if it is one more, none


@lean
def observe_candidates(moment, sight, inputs, candidates, admit, room, out):
    """Fills `out` (VISIBLE_JOBS, inputs) with a row for each answer.

    candidates: tasks, as many as the sight says. admit: of each task, seconds. room: scratch, see simulator.policies.network.observe.
    """
    jobs, rows = sight.jobs, sight.rows
    num_facts = inputs.facts.shape[1]
    for k in range(jobs):
        for fact in range(num_facts):
            out[k, fact] = inputs.facts[candidates[k], fact]
    if rows > jobs:
        for i in range(out.shape[1]):
            out[jobs, i] = 0.0
    signals = inputs.weights.signals
    for i in range(len(signals)):
        signal, column = signals[i], num_facts + i
        if is_of_all(signal):
            value = _value_of_all(moment, sight, signal)
            for k in range(rows):
                out[k, column] = value
        elif signal == START_DELAY:
            start_delays(moment, candidates, jobs, room, out, column)
        elif signal >= FIRST_OF_AGENTS:
            _signals_of_candidates(moment, sight, signal, candidates, jobs, admit, out, column)
            if signal == ANSWERS_NO and rows > jobs:
                out[jobs, column] = 1.0
        else:
            signals_of_jobs(moment, signal, candidates, jobs, out, column)


@lean
def observe_pick(moment, rejected_s, inputs, picked, admit, room, out):
    """Fills two rows of `out`, to accept the job picked[0], the only one in sight, and to reject it.

    They differ only in the signal answers_no. rejected_s: how long rejections have delayed the job."""
    sight = Sight(np.int64(-1), np.int64(0), np.int64(0), picked, 0, rejected_s, 1, 1)
    observe_candidates(moment, sight, inputs, picked, admit, room, out)
    num_facts = inputs.facts.shape[1]
    for i in range(out.shape[1]):
        out[1, i] = out[0, i]
    signals = inputs.weights.signals
    for i in range(len(signals)):
        if signals[i] == ANSWERS_NO:
            out[1, num_facts + i] = 1.0


FIRST_OF_AGENTS = ENDS_BY_SHADOW


@lean
def is_of_all(signal):
    """Whether the signal describes the queue or the cluster, and not a job."""
    if signal < FIRST_OF_AGENTS:
        return signal in (FREE_PROCS, QUEUE_LENGTH, QUEUED_WORK, RUNNING_WORK)
    return signal in (TIME_TO_SHADOW, EXTRA_PROCS, HEAD_WAIT, HEAD_PROCS, HEAD_ESTIMATE, NEXT_END, QUEUE_URGENCY)


@lean
def _value_of_all(moment, sight, signal):
    if signal < FIRST_OF_AGENTS:
        return signal_of_all(moment, signal)
    if signal == NEXT_END:
        wait = moment.est_end[0] - moment.now if moment.running > 0 else 0
        return math.log2(1.0 + float(max(wait, 0))) / 20.0
    if signal == QUEUE_URGENCY:
        total = 0.0
        for k in range(moment.queued):
            total += 600.0 / max(moment.estimate[moment.queue[k]], 10)
        return min(total / URGENCY_SCALE, 1.0)
    head = sight.head
    if head < 0 or (sight.shadow >= FOREVER and signal in (TIME_TO_SHADOW, EXTRA_PROCS)):
        return 0.0
    if signal == TIME_TO_SHADOW:
        return math.log2(1.0 + float(max(sight.shadow - moment.now, 0))) / 20.0
    if signal == EXTRA_PROCS:
        return max(sight.extra, 0) / moment.cluster_procs  # beside an announced outage nothing is set against picks
    if signal == HEAD_WAIT:
        return math.log2(1.0 + float(moment.now - moment.submit[head])) / 20.0
    if signal == HEAD_PROCS:
        return moment.procs[head] / moment.cluster_procs
    return math.log2(1.0 + float(moment.estimate[head])) / 20.0


@lean
def _signals_of_candidates(moment, sight, signal, candidates, jobs, admit, out, column):
    now = moment.now
    for k in range(jobs):
        job = candidates[k]
        value = 0.0
        if signal == ENDS_BY_SHADOW:
            value = 1.0 if now + admit[job] <= sight.shadow else 0.0
        elif signal == ESTIMATE_OVER_SHADOW:
            if sight.shadow < FOREVER:
                value = math.log2(1.0 + float(admit[job]) / float(max(sight.shadow - now, 0) + 1)) / 10.0
        elif signal == LEFT_FREE:
            value = (moment.free - moment.procs[job]) / moment.cluster_procs
        elif signal == AT_FRONT:
            value = 1.0 if sight.slots[k] < sight.at_front else 0.0
        elif signal == REJECTED_OF_12_H:
            value = min(float(sight.rejected_s) / 43200.0, 1.0)
        out[k, column] = value
