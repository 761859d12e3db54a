"""studies.planted.reacting_grades: letters of replays whose users react, and whether their promises are kept."""

from __future__ import annotations

import polars as pl
import pytest

from models.judging.fidelity import NO_REACTION, Reacting
from studies.planted.reacting import reacting_users
from studies.planted.reacting_grades import CLOSED, NO_CHANGE, OPEN, PROMISED, Replayed, kept_cells
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
    errors = {OPEN: [1.2, 1.05, 2.5, 9.0], CLOSED: [1.05, 1.05, 1.9, 9.0], NO_CHANGE: [3.0, 1.0, 1.0, 1.0]}
    errors[PROMISED] = errors[CLOSED]
    cases = pl.DataFrame({"letter": ["A", "A", "C", "D"], **errors})
    kept_a, kept_b, kept_c = ["100 %", "50 %", "100 %", "50 %"], [""] * 4, ["100 %", "0 %", "100 %", "100 %"]
    assert kept_cells(cases) == ["4", "75 %", "50 %", *kept_a, "0 %", *kept_b, "25 %", *kept_c]
