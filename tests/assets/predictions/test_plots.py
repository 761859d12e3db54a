"""Figures of predictions show the numbers they are given."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl

from assets.predictions import plots
from models.runtime.predictor import LEVELS
from models.waits.neighbours import POINTS


def test_the_most_important_features_stand_on_top() -> None:
    (axis,) = plots.feature_importance({"a": 1.0, "b": 3.0, "c": 2.0}, most=2).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["c", "b"]
    assert [bar.get_width() for bar in axis.patches] == [2.0, 3.0]


def test_errors_over_time_are_in_hours_and_percent() -> None:
    rows = pl.DataFrame({
        "predictor": ["x", "x"], "period_start": [datetime(2026, 1, 1), datetime(2026, 2, 1)], "jobs": [5, 5],
        "mean_absolute_error_s": [3600.0, 7200.0], "coverage_80": [0.5, 0.75],
    })  # fmt: skip
    top, bottom = plots.error_over_time(rows).axes
    assert top.lines[0].get_ydata().tolist() == [1.0, 2.0]
    assert bottom.lines[0].get_ydata().tolist() == [50.0, 75.0]


def test_coverage_of_quantiles() -> None:
    quantiles = np.repeat(np.arange(1.0, len(LEVELS) + 1)[None], 4, axis=0)
    (axis,) = plots.quantile_coverage(quantiles, np.array([1.0, 1.0, 3.0, 99.0])).axes
    assert axis.lines[1].get_ydata().tolist() == [50, 50, 75, 75, 75, 75, 75, 75]


def test_requests_that_are_unknown_are_left_out() -> None:
    true, requested = np.array([10.0, 10.0]), np.array([100.0, np.nan])
    (axis,) = plots.estimates_over_true(np.array([10.0, 1.0]), true, requested).axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["requested", "predicted"] or len(
        axis.patches
    ) == 2


def test_ties_count_half_in_the_calibration_of_waits() -> None:
    names = [f"wait_p{round(100 * point)}_s" for point in POINTS] + [f"replay_p{p}_s" for p in (10, 50, 90)]
    rows = pl.DataFrame({"wait_s": [0, 10]} | {name: [0.0, 0.0] for name in names})
    (axis,) = plots.calibration_plot(rows).axes
    assert axis.lines[1].get_ydata().tolist() == [0.25] * len(POINTS)
