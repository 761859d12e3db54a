"""How far new jobs are from those that a model learned from: the population stability index of its inputs, and its error."""

from __future__ import annotations

import re
from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.predictor import FloatArray, Predictor, recent, runtimes
from models.runtime.prequential import ended_by

BINS = 10
LEAST_SHARE = 1e-3
"""An empty bin counts as this much; else one job in a new bin would make the index infinite."""
LEAST_STRETCHES, MOST_STRETCHES, SHORTEST_STRETCH = 4, 20, 25
"""Past stretches, as long as the newest one, that show how much an input moves when nothing changes."""

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
    edges = _edges(before, bins)
    old, new = (np.bincount(_bin_of(values, edges), minlength=len(edges) + 2) for values in (before, now))
    return float(_index(old, new))


def usual_stability(before: FloatArray, jobs: int, bins: int = BINS) -> float | None:
    """The largest index of the last MOST_STRETCHES stretches of so many jobs in `before`, each against all other jobs of it.

    If `before` has fewer than LEAST_STRETCHES of them, they are shorter, which makes the index larger. None where they would have fewer
    than SHORTEST_STRETCH jobs: nobody can say what is usual. Jobs of a user come in bursts, so a short stretch is never like the whole
    log, also where nothing changes.
    """
    jobs = min(jobs, len(before) // LEAST_STRETCHES)
    if jobs < SHORTEST_STRETCH:
        return None
    stretches = min(len(before) // jobs, MOST_STRETCHES)
    edges = _edges(before, bins)
    bin_of = _bin_of(before, edges)
    whole = np.bincount(bin_of, minlength=len(edges) + 2)
    first = len(before) - stretches * jobs
    parts = [
        np.bincount(bin_of[first + k * jobs : first + (k + 1) * jobs], minlength=len(whole)) for k in range(stretches)
    ]
    return max(float(_index(whole - part, part)) for part in parts)


def _edges(values: FloatArray, bins: int) -> FloatArray:
    """Where one bin ends and the next begins."""
    numbers = values[~np.isnan(values)]
    edges = np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1]) if len(numbers) else np.zeros(0)
    # a value that fills whole bins (a flag, a count that mostly is 0) is a bin by itself, apart from all above it
    often = edges[1:][edges[1:] == edges[:-1]]
    return np.unique(np.append(edges, np.nextafter(often, np.inf)))


def _bin_of(values: FloatArray, edges: FloatArray) -> NDArray[np.intp]:
    """The bin of each value. The last one is for unknown values."""
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))


def _index(before: NDArray[np.intp], now: NDArray[np.intp]) -> float:
    """The index of two counts by bin."""
    old, new = (np.maximum(counts / counts.sum(), LEAST_SHARE) for counts in (before, now))
    return ((new - old) * np.log(new / old)).sum()


def input_drift(before: pl.DataFrame, now: pl.DataFrame, columns: tuple[str, ...]) -> dict[str, float]:
    """The index of each column, most shifted first."""
    values = {}
    for name in columns:
        values[name] = population_stability(_numbers(before, name), _numbers(now, name))
    return dict(sorted(values.items(), key=lambda item: -item[1]))


def _numbers(rows: pl.DataFrame, name: str) -> FloatArray:
    return rows[name].cast(pl.Float64).to_numpy().astype(np.float64)


def champion_drift(
    rows: pl.DataFrame, champion: Predictor, trained_until: datetime, jobs_tested: int, tested_error_s: float
) -> pl.DataFrame:
    """The newest jobs beside those that the champion learned from: rows of predictions.model_drift, but for the version.

    rows: of the whole source, in order of submission. jobs_tested, tested_error_s: of the champion's test; as many newest jobs are
    looked at, and their mean absolute error is given as a multiple of that.
    """
    before = recent(ended_by(rows.filter(pl.col("submit_time") < trained_until), trained_until), champion.most_rows)
    now = rows.filter(pl.col("submit_time") >= trained_until)[-jobs_tested:]
    inputs = tuple(
        name for name in champion.features() if rows[name].dtype.is_numeric() and not OF_THE_LOGS_AGE.fullmatch(name)
    )
    error_s = float(np.abs(champion.predict(now).point - runtimes(now)).mean()) if now.height else 0.0
    usual = {name: usual_stability(_numbers(before, name), now.height) for name in inputs}
    shifts = [
        {"measure": "psi", "input": name, "value": value, "usual": usual[name]}
        for name, value in input_drift(before, now, inputs).items()
    ]
    error = {
        "measure": "error",
        "input": "mean_absolute_error_s",
        "value": error_s / max(tested_error_s, 1.0),
        "usual": None,
    }
    return pl.DataFrame([*shifts, error], schema_overrides={"usual": pl.Float64}).with_columns(
        data_until=pl.lit(rows["submit_time"][-1]), jobs=pl.lit(now.height)
    )
