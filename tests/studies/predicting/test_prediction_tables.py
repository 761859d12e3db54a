"""Tables of run-time prediction, of its uses, and of predicted waits."""

from __future__ import annotations

from models.runtime.search import ReplayOutcome
from studies.predicting.prediction_tables import (
    FIRST_FIVE,
    chosen_uses_table,
    predictors_table,
    uses_table,
)


def test_predictors_are_compared_with_the_best_of_the_first_five() -> None:
    coverage = {"coverage_50": 0.498, "coverage_80": 0.798, "coverage_90": 0.896}
    errors = dict(zip(FIRST_FIVE, (4828.0, 5265.0, 5694.0, 8866.0, 6129.0), strict=True)) | {"stack": 4014.0}
    scores = {"KTH-SP2": {name: {"mean_absolute_error_s": error} | coverage for name, error in errors.items()}}
    lines = predictors_table(scores, {"KTH-SP2": "stack"}).splitlines()
    assert lines[2] == "| `requested` | 4,828 |" and "| `stack` | **4,014** |" in lines
    assert lines[-3:] == [
        "| chosen on the other three logs | stack |",
        "| its error against the best of the first five | -16.9 % |",
        "| its coverage at 50 / 80 / 90 % | 49.8 / 79.8 / 89.6 |",
    ]


def test_uses_stand_above_their_aims() -> None:
    lines = uses_table({"KTH-SP2": {"EASY": "90.9 (1.0 to 2.0)", "SJF, clairvoyant": "22.7 (1.0 to 2.0)"}}).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| EASY", "| SJF, clairvoyant", "| aim for any order"]


def test_waits_of_uses_are_in_hours() -> None:
    easy, mine = (
        ReplayOutcome(9.0, 7200.0, 36_000.0, 0.0, 0.0, 0.0),
        ReplayOutcome(5.0, 3600.0, 18_000.0, 0.73, 0.101, 25_200.0),
    )
    rule = "predicted, FCFS order"
    table = chosen_uses_table(
        {"KTH-SP2": {"EASY": easy, rule: mine}}, {"KTH-SP2": {rule: "0.67 (0.53 to 0.80)"}}, (rule,)
    )
    assert table.splitlines()[2:] == [
        f"| ratio: {rule} | 0.67 (0.53 to 0.80) |",
        "| mean wait, h: EASY | 2.0 |",
        f"| mean wait, h: {rule} | 1.0 |",
        "| p99 of waits, h: EASY | 10.0 |",
        f"| p99 of waits, h: {rule} | 5.0 |",
        f"| jobs underestimated, %: {rule} | 73 |",
        f"| reservations delayed, %: {rule} | 10.1 |",
        f"| mean delay of those, h: {rule} | 7.0 |",
    ]
