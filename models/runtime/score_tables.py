"""Predictions and their scores as tables: rows of predictions.runtime_scores, runtime_scores_by_period and predictions themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.predictor import QUANTILE_COLUMNS, FloatArray, Prediction
from models.runtime.prequential import Period
from models.runtime.scores import USER_CLASSES, gain_interval, score, user_classes

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
