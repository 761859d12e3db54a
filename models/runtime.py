"""Predicting run times at submission: gradient-boosted trees against the request and the user's last two jobs.

The split is chronological: the model learns from the first jobs of a trace and predicts the rest. Targets are
logarithms of run times under absolute error, so that the model predicts medians.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
MIN_TRAINING_JOBS = 50
MOST_QUEUES = 32


@dataclass(frozen=True)
class RuntimeModelOptions:
    """Hyper-parameters of the run-time model."""

    train_share: float = 0.6
    seed: int = 1
    max_trees: int = 400
    max_depth: int = 6
    learning_rate: float = 0.1
    patience: int = 20


@dataclass(frozen=True)
class RuntimeModel:
    """booster: the trees; queues: queue names the model knows, in the order of their codes; trees: boosting rounds used;
    parameters: hyper-parameters and seed."""

    booster: xgboost.Booster
    queues: list[str]
    trees: int
    parameters: dict[str, Any]


def split_position(jobs: int, train_share: float) -> int:
    """Number of jobs before the chronological split. Raises ValueError when either side would be too small."""
    position = int(jobs * train_share)
    if position < MIN_TRAINING_JOBS or jobs - position < 1:
        raise ValueError(
            f"{jobs} jobs with a known run time are too few: training takes {train_share:.0%} of them and needs at least "
            f"{MIN_TRAINING_JOBS}, and one must be left to test on"
        )
    return position


def train_runtime_model(rows: pl.DataFrame, options: RuntimeModelOptions) -> RuntimeModel:
    """Trains on `rows` (columns of features.job_features plus runtime_s >= 1, in submit order).

    The last tenth of the rows decides when to stop adding trees. One thread, fixed seed: same rows, same model.
    """
    import xgboost

    counts = rows.group_by("queue").len().drop_nulls("queue").sort(["len", "queue"], descending=[True, False])
    queues = counts["queue"].head(MOST_QUEUES).to_list()
    matrix, target = feature_matrix(rows, queues), np.log(rows["runtime_s"].to_numpy().astype(np.float64))
    held = max(1, rows.height // 10)
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
        xgboost.DMatrix(matrix[:-held], target[:-held], feature_names=list(FEATURE_NAMES)),
        num_boost_round=options.max_trees,
        evals=[(xgboost.DMatrix(matrix[-held:], target[-held:], feature_names=list(FEATURE_NAMES)), "held")],
        early_stopping_rounds=options.patience,
        verbose_eval=False,
    )
    trees = booster.best_iteration + 1
    return RuntimeModel(booster[:trees], queues, trees, parameters | {"train_share": options.train_share})


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
    return np.where(np.isnan(matrix.astype(np.float64)), np.nan, matrix.astype(np.float64))


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
) -> tuple[float, float, float]:
    """(mean, low, high) of baseline error minus error in seconds, 95 % bootstrap over users.

    Jobs of a user are alike, so users are resampled whole; single jobs would make the interval far too narrow.
    """
    _, group = np.unique(users, return_inverse=True)
    gain = np.bincount(group, weights=baseline_error - error)
    jobs = np.bincount(group).astype(np.float64)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(jobs), size=(resamples, len(jobs)))
    means = gain[drawn].sum(axis=1) / jobs[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(gain.sum() / jobs.sum()), float(low), float(high)


def save_runtime_model(model: RuntimeModel, path: Path) -> str:
    """Writes trees and queue codes as one JSON file; returns its SHA-256."""
    trees = json.loads(model.booster.save_raw("json").decode())
    content = json.dumps({"queues": model.queues, "parameters": model.parameters, "booster": trees}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    temporary.replace(path)
    return hashlib.sha256(content).hexdigest()


def load_runtime_model(path: Path) -> RuntimeModel:
    """Reads what `save_runtime_model` wrote. Raises ValueError naming the file when it is missing or no such model."""
    import xgboost

    try:
        document = json.loads(path.read_text())
        booster = xgboost.Booster()
        booster.load_model(bytearray(json.dumps(document["booster"]).encode()))
    except FileNotFoundError:
        raise ValueError(f"{path}: no such run-time model; materialize predictions/runtime_model") from None
    except (KeyError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: not a run-time model of this tracehouse ({error})") from None
    return RuntimeModel(booster, document["queues"], booster.num_boosted_rounds(), document["parameters"])


def _within_request(seconds: FloatArray, rows: pl.DataFrame) -> FloatArray:
    request = rows["requested_walltime_s"].cast(pl.Float64).to_numpy()
    return np.maximum(1.0, np.fmin(seconds, request))
