"""Remaining times of runs without an end: what they have used so far, and what they still need."""

from __future__ import annotations

import numpy as np
import polars as pl

from models.remaining.predictors import RemainingPredictor
from models.remaining.runs import Runs
from models.remaining.snapshots import Moments

QUANTILES = [f"remaining_p{percent}_s" for percent in (10, 25, 50, 75, 90)]
"""Columns of predicted quantiles, in predictions.remaining_times and remaining_time_trials."""

_LONGEST_S = 90 * 86400
"""Clocks that are further apart do not belong to one run: its time is taken from its steps then."""


def used_seconds() -> pl.Expr:
    """How long each run has run, seconds, from at_time, started_at, loops_s and is_last.

    The clock counts for the last launch of a folder only. The file goes on after a launch that was started again in it, and one that
    was put aside may be a copy of a later time. So the steps of an earlier launch say how long it ran. Steps count at least.
    """
    clock = (pl.col("at_time") - pl.col("started_at")).dt.total_seconds().cast(pl.Float64)
    return pl.max_horizontal(pl.when(pl.col("is_last") & clock.is_between(0, _LONGEST_S)).then(clock), "loops_s")


def remaining_time_rows(open_runs: pl.DataFrame, runs: Runs, predictor: RemainingPredictor) -> pl.DataFrame:
    """Rows of predictions.remaining_times.

    open_runs: folder, outcar, launch, state, at_time, started_at, loops_s, electronic_steps, ionic_steps and is_last (whether no
    launch of the folder is later). runs: the same runs in the same order.
    """
    rows = open_runs.with_columns(used_s=used_seconds(), predictor=pl.lit(predictor.name))
    quantiles = predictor.predict(runs, Moments(np.arange(len(runs)), rows["used_s"].to_numpy()))
    columns = {name: pl.Series(quantiles[:, k], dtype=pl.Float64) for k, name in enumerate(QUANTILES)}
    return (
        rows.with_columns(**columns)
        .with_columns(expected_end=pl.col("at_time") + pl.duration(milliseconds=1000 * pl.col("remaining_p50_s")))
        .drop("started_at", "loops_s", "is_last")
    )
