"""Scores of formulas that do not change while a job waits: one number per job, computed before the replay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled
from simulator.formula import machine as language
from simulator.formula.machine import evaluate
from simulator.formula.parsing import Formula, explain_failure
from simulator.jobs.jobs import Jobs


def formula_scores(formula: Formula, jobs: Jobs, cluster_procs: int) -> NDArray[np.float64]:
    """Minus the formula's value per job, float64 (num_jobs,): the highest value goes first. Raises FormulaError."""
    slots = np.zeros(language.NUM_SLOTS)
    slots[language.CLUSTER] = cluster_procs
    score = np.empty(len(jobs))
    failed = _fill(
        formula.ops, formula.constants, slots, np.empty(language.STACK_SIZE),
        jobs.submit - jobs.origin, jobs.estimate, jobs.procs, score,
    )  # fmt: skip
    if failed >= 0:
        raise explain_failure(formula, failed, slots)
    return score


@compiled
def _fill(ops, constants, slots, stack, submit, estimate, procs, score):
    for job in range(len(procs)):
        slots[language.SUBMIT] = submit[job]
        slots[language.ESTIMATE] = estimate[job]
        slots[language.PROCS] = procs[job]
        slots[language.AREA] = float(estimate[job]) * float(procs[job])
        value, failed = evaluate(ops, constants, slots, stack)
        if failed >= 0:
            return failed
        score[job] = -value
    return -1
