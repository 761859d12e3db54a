"""How well remaining times are predicted, at every tenth of a run, on systems that were not learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.remaining.multimodal import Multimodal
from models.remaining.predictors import InputsOnly, ProgressTrees, RemainingPredictor, held_out_groups
from models.remaining.runs import FloatArray, IntArray, Runs
from models.remaining.snapshots import MEDIAN_LEVEL, at_shares

REMAINING_PREDICTORS: dict[str, type[RemainingPredictor]] = {
    cls.name: cls for cls in (InputsOnly, ProgressTrees, Multimodal)
}
PROGRESS_SHARES = np.arange(1, 11) / 10
"""Shares of its electronic steps at which a run is predicted."""


@dataclass(frozen=True)
class HeldOutTrial:
    """One predictor, each run predicted once by a fit that has not seen its system.

    which: the runs, int64 (runs,). used_s: seconds at each of PROGRESS_SHARES, float64 (runs, shares). quantiles: remaining seconds,
    float64 (runs, shares, levels). before_s: the median whole run time from the parameters alone, float64 (runs,), NaN for predictors
    without one.
    """

    name: str
    which: IntArray
    used_s: FloatArray
    quantiles: FloatArray
    before_s: FloatArray

    def errors(self, runs: Runs) -> FloatArray:
        """|predicted - true| / true whole run time (RLSchert, equation 12), (runs, shares). The time used is no prediction, so that
        the error of the remaining time is that of the whole."""
        total = runs.total_s[self.which][:, None]
        return np.abs(self.used_s + self.quantiles[:, :, MEDIAN_LEVEL] - total) / total

    def errors_before(self, runs: Runs) -> FloatArray:
        """The same of before_s, (runs,)."""
        total = runs.total_s[self.which]
        return np.abs(self.before_s - total) / total

    def covered(self, runs: Runs) -> NDArray[np.bool_]:
        """Whether the true remaining time lies between the outer quantiles, (runs, shares)."""
        left = runs.total_s[self.which][:, None] - self.used_s
        return (self.quantiles[:, :, 0] <= left + 1e-6) & (left <= self.quantiles[:, :, -1] + 1e-6)


def finished(runs: Runs) -> IntArray:
    """Runs that can be learned from: their end is known, and at least one electronic step."""
    return np.flatnonzero(~np.isnan(runs.total_s) & (runs.total_s > 0) & (np.diff(runs.step) > 0))


def try_out(runs: Runs, name: str, folds: int, seed: int, on_fold: Callable[[], None] = lambda: None) -> HeldOutTrial:
    """Grouped cross-validation of one predictor: no system is in what is learned from and in what is judged.

    Raises ValueError for fewer systems than folds.
    """
    which = finished(runs)
    systems = len(np.unique(runs.group[which]))
    if systems < max(folds, 2):
        raise ValueError(
            f"judging predictors needs at least {max(folds, 2)} systems (elements, ions and electrons), found {systems}: add "
            "runs of other systems or lower `folds`"
        )
    used = np.empty((len(which), len(PROGRESS_SHARES)))
    quantiles, before = np.empty((len(which), len(PROGRESS_SHARES), 5)), np.full(len(which), np.nan)
    for held in held_out_groups(runs.group[which], seed, folds):
        predictor = REMAINING_PREDICTORS[name]()
        predictor.fit(runs, which[~held], seed)
        moments = at_shares(runs, which[held], PROGRESS_SHARES)
        used[held] = moments.used_s.reshape(-1, len(PROGRESS_SHARES))
        quantiles[held] = predictor.predict(runs, moments).reshape(-1, len(PROGRESS_SHARES), quantiles.shape[2])
        if isinstance(predictor, InputsOnly):
            before[held] = predictor.totals(runs, which[held])[:, MEDIAN_LEVEL]
        on_fold()
    return HeldOutTrial(name, which, used, quantiles, before)
