"""How well remaining times are predicted, at every tenth of a run, on systems that were not learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.remaining.multimodal import Multimodal
from models.remaining.predictors import InputsOnly, Progress, RemainingPredictor, held_out_groups
from models.remaining.runs import FloatArray, IntArray, Runs
from models.remaining.snapshots import MEDIAN, at_shares

PREDICTORS: dict[str, type[RemainingPredictor]] = {cls.name: cls for cls in (InputsOnly, Progress, Multimodal)}
SHARES = np.arange(1, 11) / 10


@dataclass(frozen=True)
class Trial:
    """One predictor, each run predicted once by a fit that has not seen its system.

    which: the runs, int64 (runs,). used_s, quantiles: at each of SHARES, float64 (runs, shares) and
    (runs, shares, levels): remaining seconds. before_s: the median whole run time from the parameters alone, float64 (runs,);
    NaN for predictors without one.
    """

    name: str
    which: IntArray
    used_s: FloatArray
    quantiles: FloatArray
    before_s: FloatArray

    def errors(self, runs: Runs) -> FloatArray:
        """|predicted - true| / true whole run time (equation 12), (runs, shares): what was used is known, so that the error of
        the remaining time is that of the whole."""
        total = runs.total_s[self.which][:, None]
        return np.abs(self.used_s + self.quantiles[:, :, MEDIAN] - total) / total

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


def try_out(runs: Runs, name: str, folds: int, seed: int, on_fold: Callable[[], None] = lambda: None) -> Trial:
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
    used = np.empty((len(which), len(SHARES)))
    quantiles, before = np.empty((len(which), len(SHARES), 5)), np.full(len(which), np.nan)
    for held in held_out_groups(runs.group[which], seed, folds):
        predictor = PREDICTORS[name]()
        predictor.fit(runs, which[~held], seed)
        moments = at_shares(runs, which[held], SHARES)
        used[held] = moments.used_s.reshape(-1, len(SHARES))
        quantiles[held] = predictor.predict(runs, moments).reshape(-1, len(SHARES), quantiles.shape[2])
        if isinstance(predictor, InputsOnly):
            before[held] = predictor.totals(runs, which[held])[:, MEDIAN]
        on_fold()
    return Trial(name, which, used, quantiles, before)
