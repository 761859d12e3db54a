"""What every run-time predictor can do: learn from jobs that have ended, predict a point and quantiles, and be stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95)
"""Levels of the quantiles that every predictor returns."""

MEDIAN = LEVELS.index(0.5)
PERCENTS = tuple(f"p{100 * level:02.0f}" for level in LEVELS)
QUANTILE_COLUMNS = tuple(f"runtime_{percent}_s" for percent in PERCENTS)
"""Columns of predicted quantiles, in predictions.runtime_predictions and in rows of jobs."""
SIMILAR_COLUMNS = tuple(f"similar_{percent}_s" for percent in PERCENTS)
"""Columns of the quantiles of similar jobs, in features.similar_jobs."""
WITHOUT_HISTORY_S = 3600.0
"""The predicted run time where nothing is known of a job, not even a request."""
UNKNOWN_SPREAD = np.geomspace(0.02, 5.0, len(LEVELS))
"""True over predicted at the quantiles, before there is any experience."""


@dataclass(frozen=True)
class Prediction:
    """point: run times in seconds, (jobs,), at least 1. quantiles: seconds, (jobs, len(LEVELS)), at least 1, no row
    descending."""

    point: FloatArray
    quantiles: FloatArray

    def __len__(self) -> int:
        return len(self.point)


class Predictor(ABC):
    """Learns from rows and predicts rows: frames with the columns of the query features.runtime_rows, in order of submission.

    `predict` reads no run time of the rows that it predicts.
    """

    name: str
    most_rows: int | None = None  # it learns from this number of newest rows, or from all where None
    needs_fit = True  # where False, its points are its own from the first job on, before any `fit`

    @abstractmethod
    def fit(self, rows: pl.DataFrame) -> None:
        """Learns from jobs that have ended, and forgets earlier fits. runtime_s is known and at least 1. Raises ValueError for no rows."""

    @abstractmethod
    def predict(self, rows: pl.DataFrame) -> Prediction:
        """Predictions for rows, which may be none. Call `fit` first, except where `needs_fit` is False."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What `fit` has learned, as values that JSON can hold."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """The inverse of `state`."""

    @abstractmethod
    def features(self) -> tuple[str, ...]:
        """Columns that it reads."""

    def card(self) -> dict[str, Any]:
        """Options, for the registry."""
        return {}

    def importance(self) -> dict[str, float]:
        """Mean gain of the splits on each feature. Empty for a predictor without trees."""
        return {}


def within_request(seconds: FloatArray, rows: pl.DataFrame) -> FloatArray:
    """At least 1 s and at most the requested time, where there is one, (jobs,)."""
    return np.maximum(1.0, np.fmin(seconds, requests(rows)))


def requests(rows: pl.DataFrame) -> FloatArray:
    """Requested times in seconds, NaN for none, (jobs,)."""
    asked = rows.get_column("requested_walltime_s").to_numpy().astype(np.float64)
    return np.where(asked > 0, asked, np.nan)


def runtimes(rows: pl.DataFrame) -> FloatArray:
    """True run times in seconds, at least 1, (jobs,)."""
    return np.maximum(rows["runtime_s"].to_numpy().astype(np.float64), 1.0)


def ratio_quantiles(point: FloatArray, true: FloatArray) -> FloatArray:
    """Quantiles of true / point at LEVELS, (len(LEVELS),). They are the spread of a predictor that returns points alone."""
    return np.quantile(true / np.maximum(point, 1.0), LEVELS)


def from_points(point: FloatArray, ratios: FloatArray) -> Prediction:
    """Points with the same relative spread around each."""
    return Prediction(point, np.maximum(1.0, point[:, None] * ratios[None, :]))


def recent(rows: pl.DataFrame, most: int | None) -> pl.DataFrame:
    """The last `most` rows, all for None. Recent jobs say more about the next jobs than old ones."""
    return rows if most is None else rows[max(0, rows.height - most) :]
