"""The kernel network of RLScheduler inside the compiled engine: one small perceptron, applied to each waiting job.

Zhang et al. 2020, section IV-B: the same 32-16-8 network scores every visible job, so the order of the queue cannot matter.
What it reads of a job is the network's own *layout*. First come the facts, which are known when the job is submitted and do not
change (simulator/policies/observation.py). Then come the signals, which the engine computes at every decision. All are in about [0, 1].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled, lean
from simulator.policies.moment import usage_of

VISIBLE_JOBS = 128
HIDDEN = (32, 16, 8)

SIGNALS = (
    "wait",
    "wait_over_estimate",
    "fits",
    "free_procs",
    "queue_length",
    "wait_of_12_h",
    "start_delay",
    "queued_work",
    "running_work",
    "user_share",
    "wait_of_cap",
)
"""What the engine can compute at a decision. docs/guides/policies.md defines each."""
AGENT_SIGNALS = (
    "ends_by_shadow",
    "time_to_shadow",
    "estimate_over_shadow",
    "extra_procs",
    "left_free",
    "at_front",
    "head_wait",
    "head_procs",
    "head_estimate",
    "next_end",
    "rejected_of_12_h",
    "queue_urgency",
    "answers_no",
)
"""What the engine can also compute for agents. docs/guides/backfilling.md defines each. Their indices follow those of SIGNALS."""
WAIT, WAIT_OVER_ESTIMATE, FITS, FREE_PROCS, QUEUE_LENGTH = range(5)
WAIT_OF_12_H, START_DELAY, QUEUED_WORK, RUNNING_WORK, USER_SHARE, WAIT_OF_CAP = range(5, 11)
ENDS_BY_SHADOW, TIME_TO_SHADOW, ESTIMATE_OVER_SHADOW, EXTRA_PROCS, LEFT_FREE, AT_FRONT = range(11, 17)
HEAD_WAIT, HEAD_PROCS, HEAD_ESTIMATE, NEXT_END, REJECTED_OF_12_H, QUEUE_URGENCY, ANSWERS_NO = range(17, 24)

BALANCED_SETBACK = (
    "min(1010000*min(min((procs/sqrt(cluster)), (procs/sqrt(cluster))*(estimate/14400)), (estimate/14400)), 119000)"
)
"""Seconds by which searched:balanced sets a job back."""
CAP_S = 119_000
"""Seconds. A network that reads wait_of_cap keeps a promise of searched:balanced: it chooses no job before one that came earlier by
more."""

FloatArray = NDArray[np.float32]


class KernelWeights(NamedTuple):
    """A kernel network: what it reads, and its weights. A matrix is (inputs, outputs). The inputs are first the facts, then the
    signals."""

    facts: NDArray[np.int64]  # (facts,), indices in simulator.policies.observation.FACTS
    signals: NDArray[np.int64]  # (signals,), indices in SIGNALS + AGENT_SIGNALS
    w1: FloatArray  # (inputs, 32)
    b1: FloatArray  # (32,)
    w2: FloatArray  # (32, 16)
    b2: FloatArray  # (16,)
    w3: FloatArray  # (16, 8)
    b3: FloatArray  # (8,)
    w4: FloatArray  # (8,)


class NetworkInputs(NamedTuple):
    """What a kernel network reads of the tasks of one replay. Its weights say which facts and which signals."""

    weights: KernelWeights
    facts: FloatArray  # (tasks, facts)


@lean
def observe(moment, inputs, begin, visible, room, rows):
    """Fills `rows` (VISIBLE_JOBS, inputs) with the inputs of `visible` jobs of the queue, from place `begin` on.

    room: scratch, float64 (as many jobs as can run,).
    """
    num_facts = inputs.facts.shape[1]
    for k in range(visible):
        job = moment.queue[begin + k]
        for fact in range(num_facts):
            rows[k, fact] = inputs.facts[job, fact]
    signals = inputs.weights.signals
    for i in range(len(signals)):
        signal = signals[i]
        column = num_facts + i
        if signal == START_DELAY:
            start_delays(moment, moment.queue[begin:], visible, room, rows, column)
        elif signal in (FREE_PROCS, QUEUE_LENGTH, QUEUED_WORK, RUNNING_WORK):
            value = signal_of_all(moment, signal)
            for k in range(visible):
                rows[k, column] = value
        else:
            signals_of_jobs(moment, signal, moment.queue[begin:], visible, rows, column)


@lean
def signals_of_jobs(moment, signal, queue, visible, rows, column):
    """Signals that each waiting job has by itself. queue: these jobs, of which the first `visible` count."""
    now, submit = moment.now, moment.submit
    if signal == WAIT:
        for k in range(visible):
            rows[k, column] = math.log2(1.0 + float(now - submit[queue[k]])) / 20.0
    elif signal == WAIT_OVER_ESTIMATE:
        for k in range(visible):
            job = queue[k]
            rows[k, column] = math.log2(1.0 + float(now - submit[job]) / moment.estimate[job]) / 10.0
    elif signal == FITS:
        for k in range(visible):
            rows[k, column] = 1.0 if moment.procs[queue[k]] <= moment.free else 0.0
    elif signal == WAIT_OF_12_H:
        for k in range(visible):
            rows[k, column] = min(float(now - submit[queue[k]]) / 43200.0, 1.0)
    elif signal == WAIT_OF_CAP:
        for k in range(visible):
            rows[k, column] = float(now - submit[queue[k]]) / CAP_S
    elif signal == USER_SHARE:
        everyone = usage_of(moment, -1)
        for k in range(visible):
            own = usage_of(moment, moment.user[queue[k]])
            rows[k, column] = own / everyone if everyone > 0.0 else 0.0


@lean
def jobs_within_cap(signals, submit, queue, queued):
    """How many of the first `queued` jobs may go first: all, unless the network reads wait_of_cap. queue: in the order of submission."""
    for i in range(len(signals)):
        if signals[i] == WAIT_OF_CAP:
            while submit[queue[queued - 1]] > submit[queue[0]] + CAP_S:
                queued -= 1
    return queued


@lean
def start_delays(moment, queue, visible, room, rows, column):
    """How long it takes, by the estimated ends, until as many processors are free as each job needs. queue: as in `signals_of_jobs`."""
    procs, est_end, running = moment.procs, moment.est_end, moment.running
    total = float(moment.free)
    for r in range(running):
        total += procs[moment.est_job[r]]
        room[r] = total
    for k in range(visible):
        job = queue[k]
        delay = 0.0
        if procs[job] > moment.free and running > 0:
            first, last = 0, running - 1  # the first end after which there is room
            while first < last:
                middle = (first + last) // 2
                if room[middle] >= procs[job]:
                    last = middle
                else:
                    first = middle + 1
            delay = float(max(est_end[first] - moment.now, 0))
        rows[k, column] = math.log2(1.0 + delay) / 20.0


@lean
def signal_of_all(moment, signal):
    """A signal of the queue or the cluster, the same for all waiting jobs."""
    if signal == QUEUE_LENGTH:
        return min(moment.queued, VISIBLE_JOBS) / VISIBLE_JOBS
    if signal == FREE_PROCS:
        return moment.free / moment.cluster_procs
    work = 0.0
    if signal == QUEUED_WORK:
        for k in range(moment.queued):
            job = moment.queue[k]
            work += float(moment.estimate[job]) * moment.procs[job]
    else:
        for r in range(moment.running):
            work += float(max(moment.est_end[r] - moment.now, 0)) * moment.procs[moment.est_job[r]]
    return math.log2(1.0 + work / moment.cluster_procs) / 20.0


@compiled
def score_rows(rows, visible, weights, scores):
    """Network outputs of the first `visible` rows into `scores` (VISIBLE_JOBS,), float32. The job with the largest goes first.

    Both ways below add up in the same order, so a job's output does not depend on how many others wait.
    """
    if visible < FEW_ROWS:
        _score_one_by_one(rows, visible, weights, scores)
        return
    inputs = weights.w1.shape[0]
    columns = np.zeros((inputs, -(-visible // LANES) * LANES), dtype=np.float32)
    for i in range(inputs):
        for k in range(visible):
            columns[i, k] = rows[k, i]
    hidden1 = _layer(columns, weights.w1, weights.b1)
    hidden2 = _layer(hidden1, weights.w2, weights.b2)
    hidden3 = _layer(hidden2, weights.w3, weights.b3)
    for k in range(visible):
        total = np.float32(0.0)
        for i in range(HIDDEN[2]):
            total += hidden3[i, k] * weights.w4[i]
        scores[k] = total


FEW_ROWS = 12
"""From this number of rows on it is faster to take all jobs through one unit than one job through all units."""
LANES = 32
"""How many jobs a compiled loop takes at a time, four vectors of eight. The rest goes job by job."""


@compiled
def _layer(columns, weight, bias):
    """ReLU(weight.T @ columns + bias), float32 (outputs, jobs). Eight inputs at a time: a load and a store for eight products."""
    inputs, outputs = weight.shape
    jobs = columns.shape[1]
    layer = np.empty((outputs, jobs), dtype=np.float32)
    half = np.float32(0.5)
    for o in range(outputs):
        y = layer[o]
        for k in range(jobs):
            y[k] = bias[o]
        i = 0
        while i + 8 <= inputs:
            w0, w1, w2, w3 = weight[i, o], weight[i + 1, o], weight[i + 2, o], weight[i + 3, o]
            w4, w5, w6, w7 = weight[i + 4, o], weight[i + 5, o], weight[i + 6, o], weight[i + 7, o]
            x0, x1, x2, x3 = columns[i], columns[i + 1], columns[i + 2], columns[i + 3]
            x4, x5, x6, x7 = columns[i + 4], columns[i + 5], columns[i + 6], columns[i + 7]
            for k in range(jobs):
                y[k] = (
                    y[k]
                    + x0[k] * w0
                    + x1[k] * w1
                    + x2[k] * w2
                    + x3[k] * w3
                    + x4[k] * w4
                    + x5[k] * w5
                    + x6[k] * w6
                    + x7[k] * w7
                )
            i += 8
        while i < inputs:
            w0, x0 = weight[i, o], columns[i]
            for k in range(jobs):
                y[k] = y[k] + x0[k] * w0
            i += 1
        for k in range(jobs):
            y[k] = (y[k] + abs(y[k])) * half  # exact, and many at a time, unlike max
    return layer


@compiled
def _score_one_by_one(rows, visible, weights, scores):
    hidden1 = np.empty(32, dtype=np.float32)
    hidden2 = np.empty(16, dtype=np.float32)
    hidden3 = np.empty(8, dtype=np.float32)
    zero = np.float32(0.0)
    for k in range(visible):
        for o in range(32):
            hidden1[o] = weights.b1[o]
        for i in range(weights.w1.shape[0]):
            x = rows[k, i]
            for o in range(32):
                hidden1[o] += x * weights.w1[i, o]
        for o in range(16):
            hidden2[o] = weights.b2[o]
        for i in range(32):
            x = hidden1[i]
            if x > zero:
                for o in range(16):
                    hidden2[o] += x * weights.w2[i, o]
        for o in range(8):
            hidden3[o] = weights.b3[o]
        for i in range(16):
            x = hidden2[i]
            if x > zero:
                for o in range(8):
                    hidden3[o] += x * weights.w3[i, o]
        total = zero
        for i in range(8):
            x = hidden3[i]
            if x > zero:
                total += x * weights.w4[i]
        scores[k] = total
