"""Evaluation as in operation (Dawid 1984): train on what has ended by a date, predict the next period, and move on.

Every job is predicted by a model that was fitted before its period began. So scores are over the whole trace, and the
predictions are those that a centre would have had at the time.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.named import make_predictor
from models.runtime.predictor import LEVELS, Prediction
from models.runtime.predictors.online import OnlineRegression

LEAST_FITTED = 200
"""With fewer jobs that have ended, a predictor that needs a fit leaves a period to FALLBACK."""

FALLBACK = "similar_jobs"
"""The predictor that is used in place of one that has too few jobs for a fit."""


@dataclass(frozen=True)
class Period:
    """Rows of the trace from `first` to before `last`, submitted from `start` on. fitted: rows that had ended by then."""

    start: datetime
    first: int
    last: int
    fitted: int


def periods_of(rows: pl.DataFrame, days: int = 30) -> list[Period]:
    """The trace in periods of `days` from its first submission on. Periods without a job are left out."""
    if rows.is_empty():
        return []
    begin = rows["submit_time"][0]
    number = ((rows["submit_time"] - begin).dt.total_seconds() // (days * 86_400)).to_numpy()
    firsts = np.flatnonzero(np.diff(number, prepend=-1)).tolist()
    starts = [begin + timedelta(days=days * int(number[first])) for first in firsts]
    return [
        Period(start, first, last, ended_by(rows[:first], start).height)
        for start, first, last in zip(starts, firsts, [*firsts[1:], rows.height], strict=True)
    ]


def ended_by(rows: pl.DataFrame, moment: datetime) -> pl.DataFrame:
    """The rows whose jobs had ended before `moment`, with a run time to learn from."""
    return rows.filter(pl.col("end_time") < moment, pl.col("runtime_s") > 0)


def prequential(
    rows: pl.DataFrame,
    name: str,
    days: int = 30,
    threads: int = 2,
    done: Callable[[], object] | None = None,
) -> Prediction:
    """The predictor's predictions of all rows, each from a fit on what had ended before its period.

    A predictor that needs a fit leaves its first periods to FALLBACK, and `fallback_jobs` says which jobs these are. Every other one
    predicts by itself from the first job on.

    rows: all jobs of a trace (the query features.runtime_rows), in order of submission. Periods do not depend on each other, so
    `threads` of them are computed at once. done: called after each period. Quantiles are not calibrated yet, see
    models/runtime/calibration.py. Raises ValueError for an unknown name.
    """
    periods = periods_of(rows, days)
    after_each = done or (lambda: None)
    if isinstance(make_predictor(name), OnlineRegression):
        whole = make_predictor(name).predict(rows)  # it learns from every job when it ends, and needs no periods
        for _ in periods:
            after_each()
        return whole
    point, quantiles = np.empty(rows.height), np.empty((rows.height, len(LEVELS)))

    def predict(period: Period) -> None:
        predictor = make_predictor(FALLBACK if _falls_back(name, period) else name)
        if period.fitted:
            predictor.fit(ended_by(rows[: period.first], period.start))
        predicted = predictor.predict(rows[period.first : period.last])
        point[period.first : period.last] = predicted.point
        quantiles[period.first : period.last] = predicted.quantiles

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(predict, periods):
            after_each()
    return Prediction(point, quantiles)


def fallback_jobs(name: str, periods: list[Period]) -> NDArray[np.bool_]:
    """Which jobs FALLBACK predicts in the predictor's place, (jobs,). Raises ValueError for an unknown name."""
    masks = [np.full(period.last - period.first, _falls_back(name, period)) for period in periods]
    return np.concatenate(masks) if masks else np.zeros(0, dtype=np.bool_)


def _falls_back(name: str, period: Period) -> bool:
    return period.fitted < LEAST_FITTED and make_predictor(name).needs_fit
