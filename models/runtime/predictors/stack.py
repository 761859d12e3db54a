"""A stack: the mean of those predictors that together would have been best on the newest jobs known.

Members are chosen greedily, with repeats, on jobs that they were not fitted on (Caruana, Niculescu-Mizil, Crew and Ksikes 2004).
Few jobs suffice to choose well, because only whole members are weighed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from models.runtime.predictor import LEVELS, FloatArray, Prediction, Predictor, recent, runtimes, within_request
from models.runtime.predictors.columns import ColumnPredictor, SimilarJobs
from models.runtime.predictors.trees import LEARN_ROWS, XgboostAfterSimilar

CHOOSING_SHARE = 0.2
CHOOSING_ROUNDS = 12


def _members() -> list[Predictor]:
    return [SimilarJobs(), XgboostAfterSimilar(), ColumnPredictor("last_two", "last_two_runtime_s")]


class Stack(Predictor):
    """Similar jobs, xgboost that corrects them with all other features, and the user's last two."""

    name = "stack"
    most_rows = LEARN_ROWS

    def __init__(self) -> None:
        self.members = _members()
        self.shares = np.full(len(self.members), 1 / len(self.members))

    def fit(self, rows: pl.DataFrame) -> None:
        """See `Predictor.fit`; members are chosen on the newest jobs, which they were not fitted on."""
        rows = recent(rows, self.most_rows)
        held = max(1, int(rows.height * CHOOSING_SHARE))
        for member in self.members:
            member.fit(rows[: rows.height - held] if rows.height > held else rows)
        newest = rows[rows.height - held :]
        self.shares = _greedy_shares([member.predict(newest).point for member in self.members], runtimes(newest))

    def predict(self, rows: pl.DataFrame) -> Prediction:
        """See `Predictor.predict`."""
        used = [(share, member) for share, member in zip(self.shares, self.members, strict=True) if share > 0]
        point, quantiles = np.zeros(rows.height), np.zeros((rows.height, len(LEVELS)))
        for share, member in used:
            prediction = member.predict(rows)
            point += share * prediction.point
            quantiles += share * prediction.quantiles
        return Prediction(within_request(point, rows), np.maximum(1.0, quantiles))

    def features(self) -> tuple[str, ...]:
        """Columns that any member reads, once each."""
        return tuple(dict.fromkeys(name for member in self.members for name in member.features()))

    def importance(self) -> dict[str, float]:
        """Those of the members that are trees."""
        return {name: gain for member in self.members for name, gain in member.importance().items()}

    def state(self) -> dict[str, Any]:
        """See `Predictor.state`."""
        return {"shares": self.shares.tolist(), "members": {member.name: member.state() for member in self.members}}

    def restore(self, state: dict[str, Any]) -> None:
        """See `Predictor.restore`."""
        self.shares = np.array(state["shares"], dtype=np.float64)
        for member in self.members:
            member.restore(state["members"][member.name])

    def card(self) -> dict[str, Any]:
        """The share of each member."""
        return {"shares": dict(zip((m.name for m in self.members), self.shares.tolist(), strict=True))}


def _greedy_shares(points: list[FloatArray], true: FloatArray) -> FloatArray:
    counts = np.zeros(len(points))
    total = np.zeros(len(true))
    for chosen in range(CHOOSING_ROUNDS):
        errors = [np.abs((total + point) / (chosen + 1) - true).mean() for point in points]
        best = int(np.argmin(errors))
        counts[best] += 1
        total += points[best]
    return counts / counts.sum()
