"""Predicting run times at submission: gradient-boosted trees against the request and the user's last two jobs.

The split is chronological: the model learns from the first jobs of a trace and predicts the rest. Targets are
logarithms of run times under absolute error, so that the model predicts medians.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    import xgboost

FloatArray = NDArray[np.float64]

LOG_FEATURES = (
    "requested_walltime_s", "requested_procs", "user_jobs_ended", "user_mean_runtime_s", "last_runtime_s",
    "second_last_runtime_s", "last_requested_walltime_s", "last_two_runtime_s", "seconds_since_last_end",
    "alike_jobs_ended", "alike_last_runtime_s", "alike_mean_runtime_s",
)  # fmt: skip
PLAIN_FEATURES = ("hour_of_day", "day_of_week")
FEATURE_NAMES = (*LOG_FEATURES, *PLAIN_FEATURES, "queue")
MOST_QUEUES = 32
LEAST_USERS = 5


class RuntimeModelOptions(BaseModel):
    """Hyper-parameters of the run-time model; every field says what it is."""

    seed: int = Field(default=1, ge=0, description="Seed of the trees' row sampling and of the bootstrap")
    max_trees: int = Field(
        default=400, ge=1, description="Most boosting rounds; the last tenth of training stops earlier"
    )
    max_depth: int = Field(default=6, ge=1, description="Depth of a tree")
    learning_rate: float = Field(default=0.1, gt=0, description="Shrinkage of each tree")
    patience: int = Field(default=20, ge=1, description="Rounds without improvement before it stops")


@dataclass(frozen=True)
class RuntimeModel:
    """booster: the trees; queues: queue names the model knows, in the order of their codes; trees: boosting rounds used;
    parameters: hyper-parameters and seed."""

    booster: xgboost.Booster
    queues: list[str]
    trees: int
    parameters: dict[str, Any]


def train_runtime_model(rows: pl.DataFrame, options: RuntimeModelOptions) -> RuntimeModel:
    """Trains on `rows` (columns of features.job_features plus runtime_s >= 1, in submit order).

    The last tenth of the rows decides when to stop adding trees; jobs that were still running when it begins are left
    out of the rest, since nobody knew their run times then. One thread, fixed seed: same rows, same model.
    """
    import xgboost

    counts = rows.group_by("queue").len().drop_nulls("queue").sort(["len", "queue"], descending=[True, False])
    queues = counts["queue"].head(MOST_QUEUES).to_list()
    held_rows = rows[rows.height - max(1, rows.height // 10) :]
    fitted_rows = ended_before(rows[: rows.height - held_rows.height], held_rows["submit_time"][0])
    fitted, held = (
        xgboost.DMatrix(
            feature_matrix(part, queues),
            np.log(part["runtime_s"].to_numpy().astype(np.float64)),
            feature_names=list(FEATURE_NAMES),
            nthread=1,
        )
        for part in (fitted_rows, held_rows)
    )
    parameters = {
        "objective": "reg:absoluteerror",
        "max_depth": options.max_depth,
        "eta": options.learning_rate,
        "subsample": 0.8,
        "min_child_weight": 5,
        "tree_method": "hist",
        "nthread": 1,
        "seed": options.seed,
    }
    booster = xgboost.train(
        parameters,
        fitted,
        num_boost_round=options.max_trees,
        evals=[(held, "held")],
        early_stopping_rounds=options.patience,
        verbose_eval=False,
    )
    trees = booster.best_iteration + 1
    return RuntimeModel(booster[:trees], queues, trees, parameters)


def ended_before(rows: pl.DataFrame, moment: datetime) -> pl.DataFrame:
    """The rows whose jobs had ended by `moment`; where the log knows no end, submission plus run time stands for it."""
    end = pl.coalesce("end_time", pl.col("submit_time") + pl.duration(seconds="runtime_s"))
    return rows.filter(end <= moment)


def predict_runtimes(model: RuntimeModel, rows: pl.DataFrame) -> FloatArray:
    """Predicted run times in seconds, (rows,), between 1 s and the requested wall time where there is one."""
    import xgboost

    matrix = xgboost.DMatrix(feature_matrix(rows, model.queues), feature_names=list(FEATURE_NAMES), nthread=1)
    return _within_request(np.exp(model.booster.predict(matrix).astype(np.float64)), rows)


def predict_last_two(rows: pl.DataFrame, fallback_s: float) -> FloatArray:
    """Mean of the user's last two run times (Tsafrir, Etsion and Feitelson 2007), in seconds, (rows,).

    Without a history: the request; without that: `fallback_s`.
    """
    guess = rows.select(
        pl.coalesce("last_two_runtime_s", pl.col("requested_walltime_s").cast(pl.Float64), pl.lit(fallback_s))
    )
    return _within_request(guess.to_series().to_numpy(), rows)


def feature_matrix(rows: pl.DataFrame, queues: list[str]) -> FloatArray:
    """(rows, len(FEATURE_NAMES)): logarithms of 1 + times and counts, NaN where unknown, the queue by its code."""
    columns = [pl.col(name).cast(pl.Float64).clip(lower_bound=0).log1p() for name in LOG_FEATURES]
    columns += [pl.col(name).cast(pl.Float64) for name in PLAIN_FEATURES]
    codes = (
        pl.Series("name", queues, dtype=pl.Utf8)
        .to_frame()
        .with_row_index("code")
        .with_columns(pl.col("code").cast(pl.Float64))
    )
    with_codes = rows.select("queue").join(codes, left_on="queue", right_on="name", how="left", maintain_order="left")
    matrix = rows.select(columns).with_columns(with_codes["code"].alias("queue")).to_numpy()
    return matrix.astype(np.float64)


def score(predicted: FloatArray, runtime: FloatArray) -> dict[str, float]:
    """Errors of (jobs,) predictions in seconds; names and units as in predictions.runtime_scores."""
    error = np.abs(predicted - runtime)
    return {
        "mean_absolute_error_s": float(error.mean()),
        "median_absolute_error_s": float(np.median(error)),
        "mean_accuracy": float((np.minimum(predicted, runtime) / np.maximum(predicted, runtime)).mean()),
        "underestimated_share": float((runtime > predicted).mean()),
    }


def gain_interval(
    error: FloatArray, baseline_error: FloatArray, users: NDArray[Any], seed: int, resamples: int = 1000
) -> tuple[float, float | None, float | None]:
    """(mean, low, high) of baseline error minus error in seconds, 95 % bootstrap over users.

    Jobs of a user are alike, so users are resampled whole; single jobs would make the interval far too narrow. With
    fewer than `LEAST_USERS` users there is nothing to resample and the interval is unknown (None).
    """
    _, group = np.unique(users, return_inverse=True)
    gain = np.bincount(group, weights=baseline_error - error)
    jobs = np.bincount(group).astype(np.float64)
    if len(jobs) < LEAST_USERS:
        return float(gain.sum() / jobs.sum()), None, None
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(jobs), size=(resamples, len(jobs)))
    means = gain[drawn].sum(axis=1) / jobs[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(gain.sum() / jobs.sum()), float(low), float(high)


def runtime_model_to_bytes(model: RuntimeModel) -> bytes:
    """Trees, queue codes and parameters as JSON; the same model gives the same bytes."""
    trees = json.loads(model.booster.save_raw("json").decode())
    return json.dumps({"queues": model.queues, "parameters": model.parameters, "booster": trees}).encode()


def runtime_model_from_bytes(content: bytes) -> RuntimeModel:
    """The inverse of `runtime_model_to_bytes`. Raises ValueError for anything else."""
    import xgboost

    try:
        document = json.loads(content)
        booster = xgboost.Booster()
        booster.load_model(bytearray(json.dumps(document["booster"]).encode()))
    except (KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"not a run-time model of this tracehouse ({error})") from None
    return RuntimeModel(booster, document["queues"], booster.num_boosted_rounds(), document["parameters"])


def _within_request(seconds: FloatArray, rows: pl.DataFrame) -> FloatArray:
    request = rows["requested_walltime_s"].cast(pl.Float64).to_numpy()
    return np.maximum(1.0, np.fmin(seconds, request))
