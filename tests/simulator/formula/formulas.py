"""Formulas run on numbers that a test gives: their values, and their failures."""

from __future__ import annotations

import math

import numpy as np

from simulator.formula.language import ATTRIBUTES
from simulator.formula.machine import NUM_SLOTS, STACK_SIZE, evaluate
from simulator.formula.parsing import Formula, explain_failure, parse_formula
from simulator.formula.text import FormulaError

# In this order the slots are 100, 101, ...: no two attributes are equal.
SLOTS = np.arange(NUM_SLOTS, dtype=np.float64) + 100


def slots_with(**values: float) -> np.ndarray:
    slots = SLOTS.copy()
    for name, value in values.items():
        slots[ATTRIBUTES[name]] = value
    return slots


def run(formula: Formula, slots: np.ndarray = SLOTS) -> tuple[float, int]:
    return evaluate(formula.ops, formula.constants, slots, np.full(STACK_SIZE, np.nan))


def value(text: str, **values: float) -> float:
    number, failed = run(parse_formula(text), slots_with(**values))
    assert failed == -1
    return number


def failure(text: str, **values: float) -> FormulaError:
    formula, slots = parse_formula(text), slots_with(**values)
    number, failed = run(formula, slots)
    assert failed >= 0
    assert math.isnan(number)
    return explain_failure(formula, failed, slots)
