"""Predictors that read their point from a column, by hand."""

from __future__ import annotations

import polars as pl

from models.runtime.predictor import LEVELS
from models.runtime.predictors.columns import ColumnPredictor


def test_a_column_by_hand(rows: pl.DataFrame) -> None:
    """Ratios of true to point are 0.5, 1, 1.5, 2 and 4: the last one because the point is capped at its request."""
    base = rows[:5].with_columns(
        pl.Series("last_two_runtime_s", [100.0, 100.0, 100.0, None, 900.0]),
        pl.Series("requested_walltime_s", [1000, None, 1000, 300, 50]),
        pl.Series("runtime_s", [50, 100, 150, 600, 200]),
    )
    predictor = ColumnPredictor("last_two", "last_two_runtime_s")
    predictor.fit(base)
    asked = base[:4].with_columns(
        pl.Series("last_two_runtime_s", [10.0, None, None, 80.0]),
        pl.Series("requested_walltime_s", [1000, None, 20, 40]),
    )
    found = predictor.predict(asked)
    assert found.point.tolist() == [10, 150, 20, 40]  # 150 s: the median of what it learned from
    assert found.quantiles[0, LEVELS.index(0.5)] == 15 and found.quantiles[0, LEVELS.index(0.25)] == 10
    assert found.quantiles[0, LEVELS.index(0.75)] == 20 and found.quantiles[1, LEVELS.index(0.75)] == 300
