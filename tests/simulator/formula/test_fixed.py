"""Scores of formulas that do not change while a job waits."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.formula.fixed import formula_scores
from simulator.formula.parsing import parse_formula
from simulator.formula.text import FormulaError
from tests.simulator.busy import PROCS, busy_jobs


def test_the_highest_value_has_the_lowest_score() -> None:
    jobs = busy_jobs(200)
    scores = formula_scores(parse_formula("area / cluster - 2 * submit + min(estimate, 600) * procs"), jobs, PROCS)
    submit = jobs.submit - jobs.origin
    value = jobs.estimate * jobs.procs / PROCS - 2 * submit + np.minimum(jobs.estimate, 600) * jobs.procs
    assert scores == pytest.approx(-value, rel=1e-12)


def test_a_job_without_a_value_is_an_error_that_shows_it() -> None:
    jobs = busy_jobs(200)
    with pytest.raises(FormulaError, match=f"(?s)division by zero.*procs = {jobs.procs[3]}") as caught:
        formula_scores(parse_formula(f"1 / (procs - {jobs.procs[3]})"), jobs, PROCS)
    assert caught.value.column == 6
