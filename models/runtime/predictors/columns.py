"""Predictors that read their point from one feature: the request, the user's last two jobs, the user's mean, similar jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from models import NothingToLearn
from models.runtime.predictor import (
    MEDIAN,
    SIMILAR_COLUMNS,
    UNKNOWN_SPREAD,
    WITHOUT_HISTORY_S,
    Prediction,
    Predictor,
    from_points,
    ratio_quantiles,
    recent,
    requests,
    runtimes,
    within_request,
)

SPREAD_ROWS = 20_000
"""Jobs, the newest, from which the spread around a point is taken."""


class ColumnPredictor(Predictor):
    """A feature as the point: the request where it is unknown, and at most the request.

    The spread around it is the one that true run times had around the points of earlier jobs."""

    most_rows = SPREAD_ROWS
    needs_fit = False

    def __init__(self, name: str, column: str) -> None:
        self.name = name
        self.column = column
        self.ratios = UNKNOWN_SPREAD
        self.typical_s = WITHOUT_HISTORY_S

    def fit(self, rows: pl.DataFrame) -> None:
        """See `Predictor.fit`; learns the spread and what stands for an unknown point."""
        rows = recent(rows, self.most_rows)
        if rows.is_empty():
            raise NothingToLearn(f"predictor {self.name}: no job has ended yet, there is nothing to learn from")
        true = runtimes(rows)
        self.typical_s = float(np.median(true))
        self.ratios = ratio_quantiles(self._points(rows), true)

    def predict(self, rows: pl.DataFrame) -> Prediction:
        """See `Predictor.predict`."""
        return from_points(self._points(rows), self.ratios)

    def features(self) -> tuple[str, ...]:
        """See `Predictor.features`."""
        return (self.column, "requested_walltime_s")

    def state(self) -> dict[str, Any]:
        """See `Predictor.state`."""
        return {"ratios": self.ratios.tolist(), "typical_s": self.typical_s}

    def restore(self, state: dict[str, Any]) -> None:
        """See `Predictor.restore`."""
        self.ratios, self.typical_s = np.array(state["ratios"]), float(state["typical_s"])

    def _points(self, rows: pl.DataFrame) -> np.ndarray:
        point = rows.get_column(self.column).to_numpy().astype(np.float64)
        point = np.where(point > 0, point, requests(rows))
        return within_request(np.where(np.isnan(point), self.typical_s, point), rows)


class SimilarJobs(Predictor):
    """The median and the quantiles of similar jobs (models/runtime/past/similar.py), as the features hold them."""

    name = "similar_jobs"
    needs_fit = False

    def fit(self, rows: pl.DataFrame) -> None:
        """Nothing: similar jobs are looked up for each job, not learned."""

    def predict(self, rows: pl.DataFrame) -> Prediction:
        """See `Predictor.predict`."""
        quantiles = np.column_stack([rows.get_column(name).to_numpy() for name in self.features()])
        quantiles = np.maximum(1.0, quantiles.astype(np.float64))
        return Prediction(quantiles[:, MEDIAN].copy(), quantiles)

    def features(self) -> tuple[str, ...]:
        """See `Predictor.features`."""
        return SIMILAR_COLUMNS

    def state(self) -> dict[str, Any]:
        """See `Predictor.state`."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing, see `fit`."""
