"""Programs of formulas: what is computed once, and what is not computed at all."""

from __future__ import annotations

from simulator.formula.parsing import parse_formula
from tests.simulator.formula.formulas import failure, value


def test_what_is_not_needed_is_not_computed() -> None:
    assert value("estimate/wait if wait > 0 else 0", wait=0) == 0
    assert value("0 if wait == 0 else estimate/wait", wait=0) == 0
    assert value("wait > 0 and estimate/wait > 1", wait=0) == 0
    assert value("wait == 0 or estimate/wait > 1", wait=0) == 1
    assert value("0 > wait > 1/wait", wait=0) == 0
    assert failure("estimate/wait if wait == 0 else 0", wait=0).column == 10


def test_constant_parts_are_computed_once() -> None:
    formula = parse_formula("wait * (2 ** 10 / sqrt(4) + (3 if 1 < 2 else 4))")
    assert len(formula.ops) == 3
    assert formula.constants.tolist() == [515]
