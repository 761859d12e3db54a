"""Predictions and their scores as tables."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from models.runtime.predictor import LEVELS, Prediction
from models.runtime.prequential import Period
from models.runtime.score_tables import (
    BASELINE,
    first_then,
    period_scores_of_predictors,
    prediction_of_rows,
    prediction_rows,
    user_class_scores,
)


def flat(points: list[float]) -> Prediction:
    """Points whose quantiles are all the same."""
    point = np.array(points)
    return Prediction(point, np.repeat(point[:, None], len(LEVELS), axis=1))


def test_rows_and_back() -> None:
    prediction = flat([10.0, 20.0, 30.0])
    rows = prediction_rows(pl.Series("job_index", [4, 5, 6]), prediction, "x")
    assert rows["job_index"].to_list() == [4, 5, 6] and set(rows["predictor"]) == {"x"}
    again = prediction_of_rows(rows)
    assert (again.point == prediction.point).all() and (again.quantiles == prediction.quantiles).all()
    joined = first_then(prediction, 2, flat([7.0]))
    assert joined.point.tolist() == [10, 20, 7] and joined.quantiles[:, 0].tolist() == [10, 20, 7]


def test_scores_by_class_of_users_against_the_baseline() -> None:
    """One user with 40 jobs, predicted 10 s too short; six with 5 each, predicted exactly. The baseline is 20 s off."""
    users = ["a"] * 40 + [name for name in "bcdefg" for _ in range(5)]
    true = np.full(70, 100.0)
    predictions = {"x": flat([90.0] * 40 + [100.0] * 30), BASELINE: flat([120.0] * 70)}
    fallback = {"x": np.arange(70) < 45, BASELINE: np.zeros(70, dtype=bool)}
    rows = user_class_scores(pl.DataFrame({"user_name": users}), predictions, fallback, true, seed=1)
    of_x = {row["user_class"]: row for row in rows.filter(pl.col("predictor") == "x").to_dicts()}
    assert {name: row["jobs"] for name, row in of_x.items()} == {
        "all users": 70, "up to 30 jobs": 30, "31 to 1,000 jobs": 40
    }  # fmt: skip
    assert [row["fallback_jobs"] for row in of_x.values()] == [45, 5, 40]
    assert rows.filter(pl.col("predictor") == BASELINE)["fallback_jobs"].to_list() == [0] * 3
    assert (
        of_x["31 to 1,000 jobs"]["mean_absolute_error_s"] == 10 and of_x["up to 30 jobs"]["mean_absolute_error_s"] == 0
    )
    assert of_x["up to 30 jobs"]["mae_gain_over_last_two_s"] == 20
    assert of_x["31 to 1,000 jobs"]["mae_gain_low_s"] is None  # one user tells nothing of others
    assert of_x["all users"]["mae_gain_over_last_two_s"] == pytest.approx((40 * 10 + 30 * 20) / 70)
    assert rows.filter(pl.col("predictor") == BASELINE)["mae_gain_over_last_two_s"].null_count() == 3


def test_scores_by_period() -> None:
    periods = [Period(datetime(2026, 1, 1), 0, 3, 7), Period(datetime(2026, 2, 1), 3, 4, 9)]
    fallback = {"x": np.array([True] * 3 + [False])}
    true = np.array([20.0, 10.0, 10.0, 30.0])
    rows = period_scores_of_predictors(periods, {"x": flat([10.0, 10.0, 10.0, 40.0])}, fallback, true)
    assert rows["fallback_jobs"].to_list() == [3, 0]
    assert rows["jobs"].to_list() == [3, 1] and rows["jobs_fitted"].to_list() == [7, 9]
    assert rows["mean_absolute_error_s"].to_list() == [pytest.approx(10 / 3), 10]
