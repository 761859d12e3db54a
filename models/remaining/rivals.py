"""What needs no learning to speak of: every predictor of remaining time has to beat it."""

from __future__ import annotations

import numpy as np

from models.remaining.predictors import RemainingPredictor, weighted_levels
from models.remaining.runs import FloatArray, IntArray, Runs
from models.remaining.snapshots import PROGRESS_SHARES, REMAINING_LEVELS, Moments, at_shares


class EndsNow(RemainingPredictor):
    """Every run ends now: nothing is left. Its error is the share of the run that is left."""

    name = "ends_now"

    def _fit(self, runs: Runs, which: IntArray, seed: int) -> None:
        """There is nothing to learn."""

    def predict(self, runs: Runs, moments: Moments) -> FloatArray:
        """See `RemainingPredictor.predict`."""
        return np.zeros((len(moments), len(REMAINING_LEVELS)))


class MedianWhole(RemainingPredictor):
    """Every run takes the median whole run time of those learned from; what is left of it is what has not been used."""

    name = "constant_median"

    def __init__(self) -> None:
        self._whole_s = np.zeros(len(REMAINING_LEVELS))

    def _fit(self, runs: Runs, which: IntArray, seed: int) -> None:
        self._whole_s = weighted_levels(runs.total_s[which], np.ones(len(which)))

    def predict(self, runs: Runs, moments: Moments) -> FloatArray:
        """See `RemainingPredictor.predict`."""
        return np.maximum(self._whole_s[None] - moments.used_s[:, None], 0.0)


class SameShare(RemainingPredictor):
    """Every run is as far as the others, at any moment: it takes so many times what it has used.

    The factor has the least mean error on the runs learned from, at every tenth of their steps. The error is relative to the whole
    run time, so that it is the median of the factors, each with the share that was over as its weight.
    """

    name = "constant_share"

    def __init__(self) -> None:
        self._factor = np.ones(len(REMAINING_LEVELS))

    def _fit(self, runs: Runs, which: IntArray, seed: int) -> None:
        moments = at_shares(runs, which, PROGRESS_SHARES)
        share = np.clip(moments.used_s / runs.total_s[moments.run], 1e-6, 1.0)
        self._factor = weighted_levels(1 / share, share)

    def predict(self, runs: Runs, moments: Moments) -> FloatArray:
        """See `RemainingPredictor.predict`."""
        return moments.used_s[:, None] * (self._factor - 1)
