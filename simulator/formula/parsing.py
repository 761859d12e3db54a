"""Scheduling priorities given as text, like PBS Professional's `job_sort_formula`: the highest value goes first.

`parse_formula` turns a Python expression over the attributes of a waiting job into a program for a small stack machine.
`evaluate` runs such a program inside compiled loops; nothing is compiled per formula. Rules: docs/reference/semantics.md.

Scores of formulas that do not change while a job waits: one number per job, computed before the replay.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled
from simulator.formula import machine
from simulator.formula.language import ATTRIBUTES, STATIC_SLOTS
from simulator.formula.machine import FREE, LOAD, evaluate
from simulator.formula.program import arrays_of, blamed_column, compile_formula, describe_failure
from simulator.formula.text import FormulaError, check_characters, syntax_tree
from simulator.jobs.jobs import Jobs


@dataclass(frozen=True)
class Formula:
    """A formula ready to be evaluated; two with the same text are equal.

    text: without blanks around it, every tab or line break a blank. ops: operation and argument, int64 (num_ops, 2).
    constants: float64 (num_constants,). columns: where in `text` an error of an operation is shown, counted from 1,
    int64 (num_ops,). uses: slots of the attributes that the text names.
    """

    text: str
    ops: NDArray[np.int64] = field(compare=False, repr=False)
    constants: NDArray[np.float64] = field(compare=False, repr=False)
    columns: NDArray[np.int64] = field(compare=False, repr=False)
    uses: frozenset[int] = field(compare=False)

    @property
    def is_static(self) -> bool:
        """True when the priority of a job does not change while it waits, so that a queue can stay sorted."""
        return self.uses <= STATIC_SLOTS

    @property
    def depends_on_free(self) -> bool:
        """True when every start of a job changes the priorities of the others."""
        return FREE in self.uses


def parse_formula(text: str) -> Formula:
    """Turns the text of a formula into a program for `evaluate`.

    Raises FormulaError for whatever is not a formula, and for a part without attributes that has no finite value: that
    part would fail for every job.
    """
    text = re.sub(r"[\t\r\n]", " ", text).strip(" ")
    check_characters(text)
    program = compile_formula(text)
    return Formula(
        text,
        *arrays_of(program),
        columns=np.array([blamed_column(text, step) for step in program], dtype=np.int64),
        uses=frozenset(int(step.argument) for step in program if step.op == LOAD),
    )


def explain_failure(formula: Formula, failed_op: int, slots: NDArray[np.float64]) -> FormulaError:
    """Puts a failure of `evaluate` into words, with the values of the attributes that the formula uses.

    failed_op: the index that `evaluate` returned. slots: the values that it read, float64 (NUM_SLOTS,).
    """
    step = compile_formula(formula.text)[failed_op]
    problem, remedy = describe_failure(formula.text, step, slots)
    names = {
        node.id for node in ast.walk(syntax_tree(formula.text)) if isinstance(node, ast.Name) and node.id in ATTRIBUTES
    }
    values = ", ".join(f"{name} = {slots[ATTRIBUTES[name]]:g}" for name in sorted(names))
    return FormulaError(formula.text, int(formula.columns[failed_op]), problem, f"For this job, {values}. {remedy}")


# --- fixed


def formula_scores(formula: Formula, jobs: Jobs, cluster_procs: int) -> NDArray[np.float64]:
    """Minus the formula's value per job, float64 (num_jobs,): the highest value goes first. Raises FormulaError."""
    slots = np.zeros(machine.NUM_SLOTS)
    slots[machine.CLUSTER] = cluster_procs
    score = np.empty(len(jobs))
    stack = np.empty(machine.STACK_SIZE)
    since_origin = jobs.submit - jobs.origin if machine.SUBMIT in formula.uses else np.zeros(len(jobs), dtype=np.int64)
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
