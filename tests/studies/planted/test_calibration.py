"""Errors of predicted changes, and thresholds that follow."""

import numpy as np
import polars as pl
import pytest

from models.judging.fidelity import LETTER_RULES
from studies.planted.calibration import fitted_rules, rows_by_letter, with_errors
from studies.planted.effects import SCHEMA

ROW = {
    "predictor": "p",
    "part": "all",
    "value": "",
    "change": "c",
    "jobs": 9,
    "rank": 1.0,
    "alike": 1.0,
    "distance": 0.0,
}


def test_an_error_is_the_factor_between_two_changes() -> None:
    """The wait is halved. It is said to be a third, by a replay that is exact today."""
    waits = {"logged_s": 6000.0, "replayed_s": 6000.0, "true_s": 3000.0, "predicted_s": 2000.0}
    (row,) = with_errors(pl.DataFrame([ROW | waits | {"figure": "mean"}], schema=SCHEMA)).to_dicts()
    assert row["error"] == pytest.approx(3060 / 2060) and row["no_change"] == pytest.approx(6060 / 3060)
    assert row["off"] == 1.0 and row["letter"] == "A"
    nobody = dict.fromkeys(waits, 30.0) | {"figure": "median"}
    assert not with_errors(pl.DataFrame([ROW | nobody], schema=SCHEMA)).height


def cases(seed: int) -> pl.DataFrame:
    """Predicted changes are the more wrong the farther the replay is off today."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(1500):
        sigma = rng.uniform(0, 1)
        off, error = np.exp(sigma * rng.uniform(-1, 1)), np.exp(sigma * rng.uniform(-1, 1))
        waits = {"logged_s": 9000.0, "replayed_s": 9000 * off, "true_s": 5000.0, "predicted_s": 5000 * off * error}
        rows.append(ROW | waits | {"rank": 1 - sigma / 2, "distance": sigma / 4, "figure": ("mean", "p95")[number % 2]})
    return with_errors(pl.DataFrame(rows, schema=SCHEMA)).with_columns(number=pl.int_range(pl.len()))


def test_fitted_thresholds_keep_their_promises_on_other_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = fitted_rules(cases(1))
    for figure, rules in fitted.items():
        assert list(rules) == list(LETTER_RULES[figure]) and rules["A"].off <= rules["B"].off <= rules["C"].off
        monkeypatch.setitem(LETTER_RULES, figure, rules)
    fresh = cases(2)
    rows = rows_by_letter(with_errors(fresh.select(*SCHEMA)).with_columns(number=fresh["number"]))
    for letter, count, _, kept, *_ in rows[:3]:
        assert int(count.replace(",", "")) > 50 and int(kept.removesuffix(" %")) >= 88, letter
    assert rows[-1][3] == ""
