"""studies.planted.reacting_grades: letters of replays whose users react, and whether their promises are kept."""

from __future__ import annotations

import polars as pl
import pytest

from models.judging.fidelity import NO_REACTION, Reacting
from studies.planted.reacting import reacting_users
from studies.planted.reacting_grades import CLOSED, NO_CHANGE, OPEN, PROMISED, Replayed, fit_rows, kept_cells
from studies.planted.users_react import PLANTED_CHANGES, PlantedLog


@pytest.fixture(scope="module")
def patient() -> PlantedLog:
    """A cluster on which nobody follows or gives up."""
    return PlantedLog.of(reacting_users(1, share=0.0, gives_up=0.0))


def test_where_nobody_reacts_both_replays_are_the_truth(patient: PlantedLog) -> None:
    cases = list(Replayed.of(patient, 1.0).cases(NO_REACTION))
    assert {case["change"] for case in cases} == set(PLANTED_CHANGES)
    assert all(case[OPEN] == case[CLOSED] == 1.0 and case["letter"] == case["resemblance"] == "A" for case in cases)
    assert max(case[NO_CHANGE] for case in cases) > 1.1


def test_a_letter_is_capped_by_the_users(patient: PlantedLog) -> None:
    letters = {case["figure"]: case["letter"] for case in Replayed.of(patient, 1.0).cases(Reacting(0.3))}
    assert letters == {"mean": "B", "median": "D", "p95": "C"}


def test_a_wrong_model_has_worse_letters_and_errors(patient: PlantedLog) -> None:
    cases = list(Replayed.of(patient, 0.95).cases(NO_REACTION))
    assert min(case["resemblance"] for case in cases) > "A" and max(case[OPEN] for case in cases) > 1.0


def test_shares_of_kept_promises() -> None:
    cases = pl.DataFrame({"letter": ["A", "A", "C", "D"], "cluster": [1, 2, 3, 3], PROMISED: [1.05, 1.2, 1.9, 9.0]})
    cells = kept_cells(cases.with_columns(pl.lit(1.0).alias(NO_CHANGE)))
    assert cells == ["4", "50 %", "50 % ± 35", "100 % ± 0", "0 %", "", "", "25 %", "100 % ± 0", "100 % ± 0"]
    alike = kept_cells(cases.with_columns(pl.lit(1).alias("cluster"), pl.lit(1.0).alias(NO_CHANGE)))
    assert alike[2] == "50 % ± 0", "one cluster has no error over clusters"


def test_what_promises_would_keep_without_bounds() -> None:
    cases = pl.DataFrame(
        {
            "figure": ["mean", "mean", "mean", "p95"],
            "following": [0.0, 0.65, 0.0, 0.0],
            "gave_up": [0.0, 0.0, 0.01, 0.0],
            "gives_up": [0.0, 0.0, 1.0, 0.0],
            "cluster": [1, 2, 3, 1],
            PROMISED: [1.0, 1.2, 1.5, 1.0],
        }
    )
    rows = {tuple(row[:2]): row[2:] for row in fit_rows(cases)}
    assert rows["mean wait", "from 0 %"] == ["1", "100 % ± 0", "100 % ± 0", "100 % ± 0"]
    assert rows["mean wait", "from 60 %"] == ["1", "0 % ± 0", "100 % ± 0", "100 % ± 0"]
    assert rows["mean wait", "given up"] == ["1", "0 % ± 0", "0 % ± 0", "100 % ± 0"]
    assert rows["95th percentile of wait", "given up"] == ["0", "", "", ""]
