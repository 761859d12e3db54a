"""What people read: hours, percentages, intervals."""

from __future__ import annotations

import pytest

from assets.replay.scenarios.columns import hours, percent, typical_change, verdict_cell


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (1.234, "1.23"), (12.34, "12.3"), (9.996, "10.0"), (1234.5, "1,234"), (-0.5, "-0.50"), (None, "")],
)
def test_hours(value: float | None, text: str) -> None:
    assert hours(value) == text


@pytest.mark.parametrize(
    ("value", "sign", "text"),
    [
        (0.7049, "", "70 %"),
        (0.05, "", "5 %"),
        (-0.43, "+", "-43 %"),
        (0.073, "+", "+7.3 %"),
        (1.3, "+", "+130 %"),
        (None, "+", ""),
    ],
)
def test_percentages(value: float | None, sign: str, text: str) -> None:
    assert percent(value, sign) == text


def test_a_typical_change_has_its_interval_or_none() -> None:
    row = {"typical_ratio": 0.8, "typical_ratio_low": 0.6, "typical_ratio_high": 1.063}
    assert typical_change(row) == "-20 % (-40 to +6.3)"
    assert typical_change(row | {"typical_ratio_low": None, "typical_ratio_high": None}) == "-20 % (none)"
    assert typical_change(dict.fromkeys(row)) == ""


def test_a_star_says_that_jobs_are_missing() -> None:
    row = {"scenario": "x", "verdict": "trades", "base_only_jobs": 0, "scenario_only_jobs": 0, "failed_because": None}
    assert verdict_cell(row) == "trades" and verdict_cell(row | {"base_only_jobs": 3}) == "trades *"
    assert (
        verdict_cell(dict.fromkeys(row)) == "" and verdict_cell(dict.fromkeys(row) | {"scenario": "base"}) == "baseline"
    )
    assert verdict_cell(dict.fromkeys(row) | {"failed_because": "no such file"}) == "failed"
