"""What all predictors share: bounds of a prediction, and the spread around points."""

from __future__ import annotations

import numpy as np
import polars as pl

from models.runtime.predictor import (
    LEVELS,
    MEDIAN,
    QUANTILE_COLUMNS,
    from_points,
    ratio_quantiles,
    recent,
    requests,
    runtimes,
    within_request,
)

ROWS = pl.DataFrame({"requested_walltime_s": [100, None, 0, -1], "runtime_s": [0, 50, 60, 70]})


def test_requests_and_runtimes_in_seconds() -> None:
    np.testing.assert_array_equal(requests(ROWS), [100, np.nan, np.nan, np.nan])
    assert runtimes(ROWS).tolist() == [1, 50, 60, 70]  # never below 1 s


def test_points_lie_between_one_second_and_the_request() -> None:
    assert within_request(np.array([500.0, 500.0, 0.2, -3.0]), ROWS).tolist() == [100, 500, 1, 1]


def test_the_spread_of_earlier_jobs_around_new_points() -> None:
    ratios = ratio_quantiles(np.full(101, 10.0), np.arange(101.0))
    np.testing.assert_allclose(ratios, [10 * level for level in LEVELS])
    prediction = from_points(np.array([2.0, 100.0]), ratios)
    assert prediction.quantiles[:, MEDIAN].tolist() == [10, 500] and prediction.quantiles[0, 0] == 1
    assert len(prediction) == 2 and len(QUANTILE_COLUMNS) == len(LEVELS)


def test_the_newest_rows() -> None:
    assert recent(ROWS, 2).equals(ROWS[2:]) and recent(ROWS, 9).equals(ROWS) and recent(ROWS, None).equals(ROWS)
