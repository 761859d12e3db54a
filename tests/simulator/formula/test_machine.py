"""The stack machine: one compiled loop runs every formula."""

from __future__ import annotations

import numba
import numpy as np

from simulator.formula.machine import FREE, NUM_SLOTS, PROCS, STACK_SIZE, WAIT, evaluate
from simulator.formula.parsing import explain_failure, parse_formula


@numba.njit
def priorities(ops, constants, table, stack, values):
    for job in range(len(table)):
        values[job], failed = evaluate(ops, constants, table[job], stack)
        if failed >= 0:
            return job, failed
    return -1, -1


def test_one_compiled_loop_runs_every_formula() -> None:
    table = np.random.default_rng(1).uniform(1, 1000, (1000, NUM_SLOTS))
    values, stack = np.empty(1000), np.empty(STACK_SIZE)
    for text, expected in [
        ("7", np.full(1000, 7.0)),
        ("wait", table[:, WAIT]),
        (
            "2*wait + ncpus if free > 500 else -1",
            np.where(table[:, FREE] > 500, 2 * table[:, WAIT] + table[:, PROCS], -1),
        ),
    ]:
        formula = parse_formula(text)
        assert priorities(formula.ops, formula.constants, table, stack, values) == (-1, -1)
        np.testing.assert_array_equal(values, expected)
    assert len(priorities.signatures) == 1

    table[17, WAIT] = 0
    formula = parse_formula("estimate / wait")
    assert priorities(formula.ops, formula.constants, table, stack, values) == (17, 2)
    assert "`wait` is 0" in str(explain_failure(formula, 2, table[17]))
    assert len(priorities.signatures) == 1
