"""Attributes of formulas, and the terms of PBS that there is no value for."""

from __future__ import annotations

import pytest

from simulator.formula.language import ATTRIBUTES, PBS_ONLY
from simulator.formula.parsing import parse_formula
from simulator.formula.text import FormulaError
from tests.simulator.formula.formulas import SLOTS, value


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    assert value(name) == SLOTS[ATTRIBUTES[name]]
    assert parse_formula(name).uses == {ATTRIBUTES[name]}


@pytest.mark.parametrize("name", PBS_ONLY)
def test_terms_of_pbs_without_a_value_are_named(name: str) -> None:
    with pytest.raises(FormulaError, match="term of PBS"):
        parse_formula(f"2*{name}")
