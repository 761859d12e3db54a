"""Scores of the waiting jobs, for policies whose order changes while jobs wait: the lowest score goes first.

Definitions: docs/semantics.md. Orders that never change are numbers per job (simulator/policies/registry.py), kind FIXED here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled
from simulator.formula import machine as formula_machine
from simulator.policies.network import VISIBLE_JOBS, KernelWeights, observe, score_rows
from simulator.policies.usage import usage_at

FIXED, SEXP, LEXP, WFP3, UNICEP, TETRIS, TETRIS_STAR, FAIRSHARE, MULTIFACTOR, FORMULA, LEARNED = range(11)
ASKED_SCORES, ASKED_CHOICE = 11, 12
"""Whoever steps the engine gives the scores, or chooses the next job."""

LAST = 1e300
"""Score of a job that does not fit, where the policy looks at the free processors."""


class Scoring(NamedTuple):
    """A policy as the engine takes it.

    kind: above. fixed: scores by task, float64 (num_tasks,), of kind FIXED. parameters: float64; multifactor's
    (age, max_age_s, fairshare, size). half_life_s: of usage; 0 where nothing asks for usage. users: how many there are.
    follows_free: order the rest again after every start. ops, constants: of a formula. weights: of a network; facts: what it
    reads of each task, float32 (num_tasks, facts). A network that follows a teacher has the teacher's scores in `fixed`.
    origin: second of the log's clock from which a formula counts submit times.
    """

    kind: int
    fixed: NDArray[np.float64]
    parameters: NDArray[np.float64]
    half_life_s: float
    users: int
    follows_free: bool
    ops: NDArray[np.int64]
    constants: NDArray[np.float64]
    weights: KernelWeights
    facts: NDArray[np.float32]
    origin: int


@compiled
def fill_scores(
    kind, parameters, half_life_s, users, ops, constants, weights, facts, origin,
    queue, queued, now, free, cluster_procs, submit, procs, estimate, user_of,
    est_end, est_job, running, usage, rate, since, scratch, rows, outputs, room, score,
):  # fmt: skip
    """Fills `score` (by place in the queue) at `now`. Returns -1, or the place of the job whose formula failed."""
    if kind in (SEXP, LEXP):
        sign = 1.0 if kind == SEXP else -1.0
        for k in range(queued):
            job = queue[k]
            score[k] = sign * (now - submit[job] + estimate[job]) / estimate[job]
    elif kind == WFP3:  # Tang et al. 2009
        for k in range(queued):
            job = queue[k]
            score[k] = -(((now - submit[job]) / estimate[job]) ** 3) * procs[job]
    elif kind == UNICEP:  # ibid.; the small term lets a serial job (log2(1) = 0) come first instead of dividing by zero
        for k in range(queued):
            job = queue[k]
            score[k] = -(now - submit[job]) / (math.log2(procs[job] + 1e-15) * estimate[job])
    elif kind == TETRIS:
        for k in range(queued):
            width = procs[queue[k]]
            score[k] = -(width / cluster_procs) * (free / cluster_procs) if width <= free else 1.0
    elif kind == TETRIS_STAR:
        _tetris_star(queue, queued, free, cluster_procs, procs, estimate, score)
    elif kind == FAIRSHARE:
        for k in range(queued):
            score[k] = usage_at(usage, rate, since, user_of[queue[k]], now, half_life_s)
    elif kind == MULTIFACTOR:
        everyone = usage_at(usage, rate, since, len(usage) - 1, now, half_life_s)
        for k in range(queued):
            job = queue[k]
            age = min((now - submit[job]) / parameters[1], 1.0)
            fair = 1.0
            if everyone > 0.0:
                fair = 2.0 ** (-(usage_at(usage, rate, since, user_of[job], now, half_life_s) / everyone) * users)
            size = procs[job] / cluster_procs
            score[k] = -(parameters[0] * age + parameters[2] * fair + parameters[3] * size)
    elif kind == FORMULA:
        slots = scratch[: formula_machine.NUM_SLOTS]
        stack = scratch[formula_machine.NUM_SLOTS :]
        everyone = 0.0
        if half_life_s > 0.0:
            everyone = usage_at(usage, rate, since, len(usage) - 1, now, half_life_s)
        slots[formula_machine.FREE] = free
        slots[formula_machine.CLUSTER] = cluster_procs
        slots[formula_machine.QUEUED] = queued
        for k in range(queued):
            job = queue[k]
            slots[formula_machine.SUBMIT] = submit[job] - origin
            slots[formula_machine.WAIT] = now - submit[job]
            slots[formula_machine.ESTIMATE] = estimate[job]
            slots[formula_machine.PROCS] = procs[job]
            slots[formula_machine.AREA] = float(estimate[job]) * float(procs[job])
            if half_life_s > 0.0:
                own = usage_at(usage, rate, since, user_of[job], now, half_life_s)
                slots[formula_machine.USAGE] = own
                slots[formula_machine.USER_SHARE] = own / everyone if everyone > 0.0 else 0.0
            value, failed = formula_machine.evaluate(ops, constants, slots, stack)
            if failed >= 0:
                scratch[-1] = failed
                return k
            score[k] = -value
    elif kind == LEARNED:
        # the front of the queue last: its rows and outputs stay, for a choice that is drawn and recorded
        for block in range((queued - 1) // VISIBLE_JOBS, -1, -1):
            begin = block * VISIBLE_JOBS
            visible = min(queued - begin, VISIBLE_JOBS)
            observe(
                queue, begin, visible, queued, now, free, submit, procs, estimate, cluster_procs, facts, weights.signals,
                est_end, est_job, running, user_of, usage, rate, since, half_life_s, room, rows,
            )  # fmt: skip
            score_rows(rows, visible, weights, outputs)
            for k in range(visible):
                score[begin + k] = -outputs[k]
    return -1


@compiled
def _tetris_star(queue, queued, free, cluster_procs, procs, estimate, score):
    alignment = 0.0
    length = 0.0
    fitting = 0
    for k in range(queued):
        job = queue[k]
        if procs[job] <= free:
            alignment += (procs[job] / cluster_procs) * (free / cluster_procs)
            length += estimate[job]
            fitting += 1
    if fitting > 0:
        alignment /= fitting
        length /= fitting
    for k in range(queued):
        job = queue[k]
        if procs[job] <= free:
            aligned = (procs[job] / cluster_procs) * (free / cluster_procs)
            score[k] = -(aligned - (alignment / length) * estimate[job])
        else:
            score[k] = LAST
