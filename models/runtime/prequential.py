"""Evaluation as in operation (Dawid 1984): train on what has ended by a date, predict the next period, and move on.

Every job is predicted by a model that was fitted before its period began. So scores are over the whole trace, and the
predictions are those that a centre would have had at the time.

Predictions and their scores as tables: rows of predictions.runtime_scores, runtime_scores_by_period and predictions themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.named import make_predictor
from models.runtime.predictor import LEVELS, QUANTILE_COLUMNS, FloatArray, Prediction
from models.runtime.scores import USER_CLASSES, gain_interval, score, user_classes

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


# --- score tables


BASELINE = "last_two"
"""The predictor that every other one is compared with."""


def prediction_rows(job_index: pl.Series, prediction: Prediction, predictor: str) -> pl.DataFrame:
    """Predictions as the warehouse stores them: job_index, predicted_runtime_s, QUANTILE_COLUMNS, predictor."""
    columns = {"job_index": job_index, "predicted_runtime_s": prediction.point}
    columns |= {name: prediction.quantiles[:, k] for k, name in enumerate(QUANTILE_COLUMNS)}
    return pl.DataFrame(columns).with_columns(pl.lit(predictor).alias("predictor"))


def prediction_of_rows(rows: pl.DataFrame) -> Prediction:
    """The inverse of `prediction_rows`."""
    return Prediction(rows["predicted_runtime_s"].to_numpy(), rows.select(QUANTILE_COLUMNS).to_numpy())


def first_then(early: Prediction, count: int, late: Prediction) -> Prediction:
    """The first `count` predictions of `early`, then all of `late`."""
    return Prediction(
        np.concatenate([early.point[:count], late.point]), np.concatenate([early.quantiles[:count], late.quantiles])
    )


def user_class_scores(
    rows: pl.DataFrame,
    predictions: dict[str, Prediction],
    fallback: dict[str, NDArray[np.bool_]],
    true: FloatArray,
    seed: int,
) -> pl.DataFrame:
    """Rows of predictions.runtime_scores: every predictor on all users and on each class of users.

    rows: the jobs, with user_name. predictions: by predictor, BASELINE among them. fallback: by predictor, the jobs that another
    one predicted in its place, (jobs,). true: run times in seconds, (jobs,). seed: of the bootstrap over users.
    """
    users = rows["user_name"].fill_null("").to_numpy()
    class_of = user_classes(users)
    parts = {"all users": np.ones(len(true), dtype=np.bool_)}
    parts |= {name: class_of == k for k, name in enumerate(USER_CLASSES) if (class_of == k).any()}
    gain_names = ("mae_gain_over_last_two_s", "mae_gain_low_s", "mae_gain_high_s")
    scores = []
    for name, prediction in predictions.items():
        for label, part in parts.items():
            error, baseline = (np.abs(x.point[part] - true[part]) for x in (prediction, predictions[BASELINE]))
            gain = (None,) * 3 if name == BASELINE else gain_interval(error, baseline, users[part], seed)
            row = {"predictor": name, "user_class": label, "jobs": int(part.sum())}
            row |= {"fallback_jobs": int(fallback[name][part].sum())}
            scores.append(row | score(_part(prediction, part), true[part]) | dict(zip(gain_names, gain, strict=True)))
    return pl.DataFrame(scores, infer_schema_length=None)


def period_scores_of_predictors(
    periods: list[Period], predictions: dict[str, Prediction], fallback: dict[str, NDArray[np.bool_]], true: FloatArray
) -> pl.DataFrame:
    """Rows of predictions.runtime_scores_by_period: every predictor in every period; arguments as in `user_class_scores`."""
    kept = ("mean_absolute_error_s", "mean_accuracy", "underestimated_share", "pinball_loss_s", "coverage_80")
    scores = []
    for name, prediction in predictions.items():
        for period in periods:
            part = slice(period.first, period.last)
            values = score(_part(prediction, part), true[part])
            row = {"predictor": name, "period_start": period.start, "jobs": period.last - period.first}
            row |= {"jobs_fitted": period.fitted, "fallback_jobs": int(fallback[name][part].sum())}
            scores.append(row | {key: values[key] for key in kept})
    return pl.DataFrame(scores, infer_schema_length=None)


def _part(prediction: Prediction, which: Any) -> Prediction:
    return Prediction(prediction.point[which], prediction.quantiles[which])
