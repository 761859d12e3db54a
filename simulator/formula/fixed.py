"""Scores of formulas that do not change while a job waits: one number per job, computed before the replay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled
from simulator.formula import machine
from simulator.formula.machine import evaluate
from simulator.formula.parsing import Formula, explain_failure
from simulator.jobs.jobs import Jobs


def formula_scores(formula: Formula, jobs: Jobs, cluster_procs: int) -> NDArray[np.float64]:
    """Minus the formula's value per job, float64 (num_jobs,): the highest value goes first. Raises FormulaError."""
    slots = np.zeros(machine.NUM_SLOTS)
    slots[machine.CLUSTER] = cluster_procs
    score = np.empty(len(jobs))
    stack = np.empty(machine.STACK_SIZE)
    since_origin = jobs.submit - jobs.origin
    failed = _fill(formula.ops, formula.constants, slots, stack, since_origin, jobs.estimate, jobs.procs, score)
    if failed >= 0:
        raise explain_failure(formula, failed, slots)
    return score


@compiled
def _fill(ops, constants, slots, stack, submit, estimate, procs, score):
    for job in range(len(procs)):
        slots[machine.SUBMIT] = submit[job]
        slots[machine.ESTIMATE] = estimate[job]
        slots[machine.PROCS] = procs[job]
        slots[machine.AREA] = float(estimate[job]) * float(procs[job])
        value, failed = evaluate(ops, constants, slots, stack)
        if failed >= 0:
            return failed
        score[job] = -value
    return -1
