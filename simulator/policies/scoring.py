"""Scores of the waiting jobs, for policies whose order changes while jobs wait. The lowest score goes first.

Definitions: docs/reference/semantics.md. Orders that never change are numbers per job (simulator/policies/registry.py), kind FIXED here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean
from simulator.formula import machine as formula_machine
from simulator.policies.moment import usage_of
from simulator.policies.network import VISIBLE_JOBS, KernelWeights, NetworkInputs, observe, score_rows

FIXED, SEXP, LEXP, WFP3, UNICEP, TETRIS, TETRIS_STAR, FAIRSHARE, MULTIFACTOR, FORMULA, LEARNED = range(11)
ASKED_SCORES, ASKED_CHOICE = 11, 12
"""The caller of the engine gives the scores, or chooses the next job."""

LAST = 1e300
"""Score of a job that does not fit, where the policy looks at the free processors."""


class Scoring(NamedTuple):
    """A policy in the form that the engine takes. A network that follows a teacher has the teacher's scores in `fixed`."""

    kind: int  # see above
    fixed: NDArray[np.float64]  # (tasks,), scores of kind FIXED, else (1,)
    parameters: NDArray[np.float64]  # multifactor: (age, max_age_s, fairshare, size), else (1,)
    half_life_s: float  # of usage, 0 where nothing reads usage
    users: int  # how many there are
    follows_free: bool  # order the rest again after every start
    ops: NDArray[np.int64]  # (operations, 2), of a formula
    constants: NDArray[np.float64]  # (constants,), of a formula
    weights: KernelWeights  # of a network
    facts: NDArray[np.float32]  # (tasks, facts), what a network reads of each task
    origin: int  # second of the log's clock from which a formula counts submit times
    steady: bool  # a formula is computed again only where `Episode.score` is not a number, which code that changes an estimate writes.
    # To scores of kind FIXED, the submission is added


class Scratch(NamedTuple):
    """Room in which scores are computed. After a network has scored, `rows` and `outputs` hold the front of the queue."""

    slots: NDArray[np.float64]  # (formula_machine.NUM_SLOTS,)
    stack: NDArray[np.float64]  # (formula_machine.STACK_SIZE,)
    rows: NDArray[np.float32]  # (VISIBLE_JOBS, inputs)
    outputs: NDArray[np.float32]  # (VISIBLE_JOBS,)
    room: NDArray[np.float64]  # (most jobs that run at once,)


@lean
def fill_scores(moment, scoring, scratch, score):
    """Fills `score`, by place in the queue. Returns -1 and -1. If a formula fails, returns the place of the job and the operation
    that failed."""
    kind = scoring.kind
    if kind == SEXP:
        _expansion_factors(moment, 1.0, score)
    elif kind == LEXP:
        _expansion_factors(moment, -1.0, score)
    elif kind == WFP3:
        _wfp3(moment, score)
    elif kind == UNICEP:
        _unicep(moment, score)
    elif kind == TETRIS:
        _tetris(moment, score)
    elif kind == TETRIS_STAR:
        _tetris_star(moment, score)
    elif kind == FAIRSHARE:
        _fairshare(moment, score)
    elif kind == MULTIFACTOR:
        _multifactor(moment, scoring.parameters, scoring.users, score)
    elif kind == FORMULA:
        return _formula(moment, scoring, scratch, score)
    elif kind == LEARNED:
        _network(moment, scoring, scratch, score)
    return -1, -1


@lean
def _expansion_factors(moment, sign, score):
    submit, estimate = moment.submit, moment.estimate
    for k in range(moment.queued):
        job = moment.queue[k]
        score[k] = sign * (moment.now - submit[job] + estimate[job]) / estimate[job]


@lean
def _wfp3(moment, score):
    """Tang et al. 2009."""
    submit, procs, estimate = moment.submit, moment.procs, moment.estimate
    for k in range(moment.queued):
        job = moment.queue[k]
        score[k] = -(((moment.now - submit[job]) / estimate[job]) ** 3) * procs[job]


@lean
def _unicep(moment, score):
    """Tang et al. 2009. The small term lets a serial job (`log2(1) = 0`) come first instead of dividing by zero."""
    submit, procs, estimate = moment.submit, moment.procs, moment.estimate
    for k in range(moment.queued):
        job = moment.queue[k]
        score[k] = -(moment.now - submit[job]) / (math.log2(procs[job] + 1e-15) * estimate[job])


@lean
def _tetris(moment, score):
    free, cluster_procs = moment.free, moment.cluster_procs
    for k in range(moment.queued):
        width = moment.procs[moment.queue[k]]
        score[k] = -(width / cluster_procs) * (free / cluster_procs) if width <= free else 1.0


@lean
def _tetris_star(moment, score):
    queue, procs, estimate = moment.queue, moment.procs, moment.estimate
    queued, free, cluster_procs = moment.queued, moment.free, moment.cluster_procs
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


@lean
def _fairshare(moment, score):
    for k in range(moment.queued):
        score[k] = usage_of(moment, moment.user[moment.queue[k]])


@lean
def _multifactor(moment, parameters, users, score):
    submit, procs = moment.submit, moment.procs
    everyone = usage_of(moment, -1)
    for k in range(moment.queued):
        job = moment.queue[k]
        age = min((moment.now - submit[job]) / parameters[1], 1.0)
        fair = 1.0
        if everyone > 0.0:
            fair = 2.0 ** (-(usage_of(moment, moment.user[job]) / everyone) * users)
        size = procs[job] / moment.cluster_procs
        score[k] = -(parameters[0] * age + parameters[2] * fair + parameters[3] * size)


@lean
def _formula(moment, scoring, scratch, score):
    """Minus the formula's value. Returns the place of the job and the operation that failed, or -1 and -1."""
    slots = scratch.slots
    accounts = moment.half_life_s > 0.0
    everyone = usage_of(moment, -1) if accounts else 0.0
    slots[formula_machine.FREE] = moment.free
    slots[formula_machine.CLUSTER] = moment.cluster_procs
    slots[formula_machine.QUEUED] = moment.queued
    for k in range(moment.queued):
        if scoring.steady and not math.isnan(score[k]):
            continue
        job = moment.queue[k]
        estimate, procs = moment.estimate[job], moment.procs[job]
        slots[formula_machine.SUBMIT] = moment.submit[job] - scoring.origin
        slots[formula_machine.WAIT] = moment.now - moment.submit[job]
        slots[formula_machine.ESTIMATE] = estimate
        slots[formula_machine.PROCS] = procs
        slots[formula_machine.AREA] = float(estimate) * float(procs)
        if accounts:
            own = usage_of(moment, moment.user[job])
            slots[formula_machine.USAGE] = own
            slots[formula_machine.USER_SHARE] = own / everyone if everyone > 0.0 else 0.0
        value, failed_op = formula_machine.evaluate(scoring.ops, scoring.constants, slots, scratch.stack)
        if failed_op >= 0:
            return k, failed_op
        score[k] = -value
    return -1, -1


@lean
def _network(moment, scoring, scratch, score):
    score_blocks(moment, scoring, scratch, score, 0, (moment.queued - 1) // VISIBLE_JOBS)


@lean
def score_blocks(moment, scoring, scratch, score, first, last):
    """Minus the network's output, for blocks `first` to `last` of VISIBLE_JOBS waiting jobs each. The first block is computed last, so
    that its rows and outputs remain for a choice."""
    inputs = NetworkInputs(scoring.weights, scoring.facts)
    for block in range(last, first - 1, -1):
        begin = block * VISIBLE_JOBS
        visible = min(moment.queued - begin, VISIBLE_JOBS)
        observe(moment, inputs, begin, visible, scratch.room, scratch.rows)
        score_rows(scratch.rows, visible, scoring.weights, scratch.outputs)
        for k in range(visible):
            score[begin + k] = -scratch.outputs[k]
