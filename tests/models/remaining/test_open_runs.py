"""Runs without an end: how long they have run, and when they are expected to end."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl

from models.remaining.open_runs import QUANTILES, remaining_time_rows, used_seconds
from models.remaining.predictors import RemainingPredictor
from models.remaining.runs import Runs

BEGIN = datetime(2026, 1, 1)


def open_runs(seconds: list[float | None], loops: list[float], last: list[bool]) -> pl.DataFrame:
    """Runs that changed so many seconds after they began; None: nobody knows when they began."""
    return pl.DataFrame({
        "at_time": [BEGIN + timedelta(seconds=value or 0) for value in seconds],
        "started_at": [None if value is None else BEGIN for value in seconds],
        "loops_s": loops,
        "is_last": last,
    }, schema_overrides={"started_at": pl.Datetime("us")})  # fmt: skip


def test_the_clock_counts_where_it_can_be_believed() -> None:
    """Clock; steps where they took longer; an earlier launch; clocks a hundred days apart or backwards; no clock."""
    rows = open_runs(
        [500, 500, 500, 100 * 86_400, -50, None],
        [400.0, 600.0, 30.0, 40.0, 50.0, 60.0],
        [True, True, False, True, True, True],
    )
    assert rows.select(used_seconds()).to_series().to_list() == [500, 600, 30, 40, 50, 60]


def test_rows_of_remaining_times(many: Runs, fitted: dict[str, RemainingPredictor]) -> None:
    which = np.flatnonzero(np.isnan(many.total_s))
    assert len(which)
    times = open_runs([500.0] * len(many), [100.0] * len(many), [True] * len(many))
    rows = remaining_time_rows(times.with_columns(folder=pl.lit("a")), many, fitted["progress"])
    assert rows.columns == ["at_time", "folder", "used_s", "predictor", *QUANTILES, "expected_end"]
    assert set(rows["used_s"]) == {500.0} and set(rows["predictor"]) == {"progress"}
    late = (rows["expected_end"] - rows["at_time"]).dt.total_milliseconds() / 1000
    np.testing.assert_allclose(late.to_numpy(), rows["remaining_p50_s"].to_numpy(), atol=0.002)
