"""The text of a formula, and errors that point at it."""

from __future__ import annotations

import pickle

import pytest

from simulator.formula.parsing import parse_formula
from simulator.formula.text import FormulaError


def test_an_error_shows_a_long_formula_around_the_caret() -> None:
    text = " + ".join(["wait"] * 40) + " + $ + " + " + ".join(["procs"] * 40)
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)
    _, shown, pointer, _ = str(caught.value).split("\n")
    assert len(shown) < 120
    assert shown[pointer.index("^")] == "$"


def test_an_error_survives_the_way_from_another_process() -> None:
    error = FormulaError("wait/0", 6, "division by zero", "Change it.")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
