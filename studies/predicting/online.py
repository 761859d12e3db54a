"""Online linear regression of Gaussier, Glesser, Reis and Trystram ("Improving backfilling by using machine learning to predict
running times", SC 2015): degree-2 polynomial features, an asymmetric loss, normalised adaptive gradients.

It learns from every job when it ends. Overestimates cost the square of the error, underestimates the error itself, and
a job weighs log(processors x run time), as in the loss that their evaluation found best.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models import NothingToLearn
from models.compiled import compiled
from models.runtime.predictor import (
    UNKNOWN_SPREAD,
    FloatArray,
    Prediction,
    Predictor,
    from_points,
    ratio_quantiles,
    runtimes,
    within_request,
)

TIME_FEATURES = (
    "requested_walltime_s",
    "last_runtime_s",
    "second_last_runtime_s",
    "third_last_runtime_s",
    "last_two_runtime_s",
    "user_mean_runtime_s",
    "user_running_elapsed_s",
    "seconds_since_last_end",
)
COUNT_FEATURES = ("requested_procs", "user_mean_requested_procs", "user_jobs_running", "procs_running")
HOUR_S = 3600.0
SPREAD_JOBS = 20_000
LONGEST_S = 30 * 86_400.0
"""Polynomials can become very large. Where no request limits a prediction, this does."""


class _Examples(NamedTuple):
    """Jobs in order of submission. x: float64 (jobs, features). submit, end: microseconds, int64 (jobs,). by_end: the jobs that
    ended, by their end, int64. true: run times, seconds, float64 (jobs,). importance: weight in the loss, float64 (jobs,)."""

    x: FloatArray
    submit: NDArray[np.int64]
    end: NDArray[np.int64]
    by_end: NDArray[np.int64]
    true: FloatArray
    importance: FloatArray


class _Learned(NamedTuple):
    """weight, scale, gradient: float64 (features,). totals: examples and sum of their norms, float64 (2,)."""

    weight: FloatArray
    scale: FloatArray
    gradient: FloatArray
    totals: FloatArray


class OnlineRegression(Predictor):
    """asymmetric: the loss above. Otherwise it is the square of the error in both directions.

    `fit` goes through the rows once. `predict` continues to learn from the rows that it predicts. It uses each one once its job has ended
    before the submission of the next row to predict. Then it forgets what it has learned on the way, so that the same rows are always
    predicted the same.
    """

    needs_fit = False

    def __init__(self, name: str = "online_regression", asymmetric: bool = True, rate: float = 0.1) -> None:
        self.name = name
        self.asymmetric = asymmetric
        self.rate = rate
        self._forget()

    def _forget(self) -> None:
        size = _polynomial(np.zeros((1, len(TIME_FEATURES) + len(COUNT_FEATURES) + 4))).shape[1]
        self.weight, self.scale, self.gradient = np.zeros(size), np.zeros(size), np.zeros(size)
        self.totals = np.zeros(2)
        self.ratios = UNKNOWN_SPREAD

    def fit(self, rows: pl.DataFrame) -> None:
        """See `Predictor.fit`."""
        if rows.is_empty():
            raise NothingToLearn(f"predictor {self.name}: no job has ended yet, there is nothing to learn from")
        self._forget()
        point = self._go(rows)
        self.ratios = ratio_quantiles(point[-SPREAD_JOBS:], runtimes(rows)[-SPREAD_JOBS:])

    def predict(self, rows: pl.DataFrame) -> Prediction:
        """See `Predictor.predict`."""
        fitted = (self.weight, self.scale, self.gradient, self.totals)
        self.weight, self.scale, self.gradient, self.totals = (array.copy() for array in fitted)
        try:
            return from_points(self._go(rows), self.ratios)
        finally:
            self.weight, self.scale, self.gradient, self.totals = fitted

    def _go(self, rows: pl.DataFrame) -> FloatArray:
        has_ended = pl.col("end_time").is_not_null() & pl.col("runtime_s").is_not_null()
        ended = np.flatnonzero(rows.select(has_ended).to_series().to_numpy())
        end = rows["end_time"].dt.epoch("us").fill_null(0).to_numpy()
        by_end = ended[np.argsort(end[ended], kind="stable")]
        true = np.maximum(rows["runtime_s"].fill_null(1).to_numpy().astype(np.float64), 1.0)
        procs = np.fmax(rows.get_column("requested_procs").to_numpy().astype(np.float64), 1.0)
        examples = _Examples(
            _polynomial(_features(rows)),
            rows["submit_time"].dt.epoch("us").to_numpy(),
            end,
            by_end,
            true,
            np.log(np.maximum(procs * true, 2.0)),
        )
        learned = _Learned(self.weight, self.scale, self.gradient, self.totals)
        predicted = np.zeros(rows.height)
        _learn_and_predict(examples, learned, self.asymmetric, self.rate, predicted)
        return within_request(np.clip(np.nan_to_num(predicted, nan=1.0), 1.0, LONGEST_S), rows)

    def features(self) -> tuple[str, ...]:
        """See `Predictor.features`."""
        return (*TIME_FEATURES, *COUNT_FEATURES, "hour_of_day", "day_of_week")

    def state(self) -> dict[str, Any]:
        """See `Predictor.state`."""
        arrays = {name: getattr(self, name).tolist() for name in ("weight", "scale", "gradient", "totals", "ratios")}
        return arrays | {"asymmetric": self.asymmetric, "rate": self.rate}

    def restore(self, state: dict[str, Any]) -> None:
        """See `Predictor.restore`."""
        for name in ("weight", "scale", "gradient", "totals", "ratios"):
            setattr(self, name, np.array(state[name], dtype=np.float64))
        self.asymmetric, self.rate = bool(state["asymmetric"]), float(state["rate"])


ONLINE = {
    "online_regression": lambda: OnlineRegression("online_regression", asymmetric=True),
    "online_squared": lambda: OnlineRegression("online_squared", asymmetric=False),
}
"""Rivals by name."""


def _features(rows: pl.DataFrame) -> FloatArray:
    """(rows, features): times in hours, counts, and the hour of day and day of week as points on circles."""
    columns = [pl.col(name).cast(pl.Float64).fill_null(0.0) / HOUR_S for name in TIME_FEATURES]
    columns += [pl.col(name).cast(pl.Float64).fill_null(0.0) for name in COUNT_FEATURES]
    for name, period in (("hour_of_day", 24), ("day_of_week", 7)):
        angle = pl.col(name).cast(pl.Float64) * (2 * np.pi / period)
        columns += [angle.sin().alias(f"{name}_sin"), angle.cos().alias(f"{name}_cos")]
    return rows.select(columns).to_numpy().astype(np.float64)


def _polynomial(x: FloatArray) -> FloatArray:
    """The number 1, every feature, and every product of two, `(rows, 1 + n + n * (n + 1) / 2)`."""
    first, second = np.triu_indices(x.shape[1])
    return np.ascontiguousarray(np.hstack([np.ones((len(x), 1)), x, x[:, first] * x[:, second]]))


@compiled
def _learn_and_predict(
    examples: _Examples, learned: _Learned, asymmetric: bool, rate: float, predicted: FloatArray
) -> None:
    """Normalised adaptive gradients: Ross, Mineiro and Langford 2013, algorithm 2. Fills `predicted`, seconds, (jobs,)."""
    x, submit, end, by_end, true, importance = examples
    weight, scale, gradient, totals = learned
    waiting = 0
    num, size = x.shape
    for row in range(num + 1):
        while waiting < len(by_end) and (row == num or end[by_end[waiting]] < submit[row]):
            job = by_end[waiting]
            waiting += 1
            value = 0.0
            for i in range(size):
                size_here = abs(x[job, i])
                if size_here > scale[i]:
                    if scale[i] > 0.0:
                        weight[i] *= scale[i] / size_here
                    scale[i] = size_here
                value += weight[i] * x[job, i]
            totals[0] += 1.0
            for i in range(size):
                if scale[i] > 0.0:
                    totals[1] += (x[job, i] / scale[i]) ** 2
            error = value - true[job]
            slope = 2.0 * error if (error > 0.0 or not asymmetric) else -1.0
            slope *= importance[job]
            # the gradient is normalised, so steps need the target's unit
            step = rate * HOUR_S * np.sqrt(totals[0] / totals[1])
            for i in range(size):
                g = slope * x[job, i]
                if g != 0.0:
                    gradient[i] += g * g
                    weight[i] -= step * g / (scale[i] * np.sqrt(gradient[i]))
        if row < num:
            value = 0.0
            for i in range(size):
                value += weight[i] * x[row, i]
            predicted[row] = value
