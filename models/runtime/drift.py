"""How far new jobs are from those that a model learned from: the population stability index of its inputs, and its error."""

from __future__ import annotations

import re
from datetime import datetime

import numpy as np
import polars as pl

from models.runtime.predictor import FloatArray, Predictor, recent, runtimes
from models.runtime.prequential import ended_by

BINS = 10
LEAST_SHARE = 1e-3
"""An empty bin counts as this much; else one job in a new bin would make the index infinite."""

OF_THE_LOGS_AGE = re.compile(
    r"similar_jobs|day_of_week|(user|alike|executable|group)_(jobs_ended|mean_.*|median_.*|log_spread|failed_share)"
    r"|(jobs|procs|user_jobs)_(running|waiting)"
)
"""Inputs that do not show whether users have changed. Counts of ended jobs only grow, and means over all of them settle. A test of
less than a week has its own days, and what runs and waits changes by the hour."""


def population_stability(before: FloatArray, now: FloatArray, bins: int = BINS) -> float:
    """Sum over bins of (now - before) ln(now / before), shares of jobs; 0 where either is empty.

    before, now: values of one input, (jobs,), NaN where unknown. Bins are the deciles of `before`, and one for unknown. A value that
    several deciles share is a bin by itself."""
    if not len(before) or not len(now):
        return 0.0
    numbers = before[~np.isnan(before)]
    edges = np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1]) if len(numbers) else np.zeros(0)
    # a value that fills whole bins (a flag, a count that mostly is 0) is a bin by itself, apart from all above it
    often = edges[1:][edges[1:] == edges[:-1]]
    edges = np.unique(np.append(edges, np.nextafter(often, np.inf)))
    shares = []
    for values in (before, now):
        unknown = np.isnan(values)
        counts = np.bincount(np.searchsorted(edges, values[~unknown], side="right"), minlength=len(edges) + 1)
        shares.append(np.maximum(np.append(counts, unknown.sum()) / len(values), LEAST_SHARE))
    old, new = shares
    return float(((new - old) * np.log(new / old)).sum())


def input_drift(before: pl.DataFrame, now: pl.DataFrame, columns: tuple[str, ...]) -> dict[str, float]:
    """The index of each column, most shifted first."""
    values = {}
    for name in columns:
        old, new = (frame[name].cast(pl.Float64).to_numpy().astype(np.float64) for frame in (before, now))
        values[name] = population_stability(old, new)
    return dict(sorted(values.items(), key=lambda item: -item[1]))


def champion_drift(
    rows: pl.DataFrame, champion: Predictor, trained_until: datetime, jobs_tested: int, tested_error_s: float
) -> pl.DataFrame:
    """The newest jobs beside those that the champion learned from: rows of predictions.model_drift, but for the version.

    rows: of the whole source, in order of submission. jobs_tested, tested_error_s: of the champion's test; as many newest jobs are
    looked at, and their mean absolute error is told as a multiple of that.
    """
    before = recent(ended_by(rows.filter(pl.col("submit_time") < trained_until), trained_until), champion.most_rows)
    now = rows.filter(pl.col("submit_time") >= trained_until)[-jobs_tested:]
    inputs = tuple(
        name for name in champion.features() if rows[name].dtype.is_numeric() and not OF_THE_LOGS_AGE.fullmatch(name)
    )
    error_s = float(np.abs(champion.predict(now).point - runtimes(now)).mean()) if now.height else 0.0
    shifts = [
        {"measure": "psi", "input": name, "value": value} for name, value in input_drift(before, now, inputs).items()
    ]
    error = {"measure": "error", "input": "mean_absolute_error_s", "value": error_s / max(tested_error_s, 1.0)}
    return pl.DataFrame([*shifts, error]).with_columns(
        data_until=pl.lit(rows["submit_time"][-1]), jobs=pl.lit(now.height)
    )
