"""How well remaining times are predicted, at every tenth of a run, on systems that were learned from and on others.

The file of a predictor of remaining time: one JSON document of names and numbers. Reading it executes no code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models import NothingToLearn
from models.remaining.multimodal import Multimodal
from models.remaining.predictors import (
    InputsOnly,
    ProgressTrees,
    RemainingPredictor,
    StoredPredictor,
    held_out_groups,
    weighted_levels,
)
from models.remaining.runs import FloatArray, IntArray, Runs
from models.remaining.snapshots import MEDIAN_LEVEL, PROGRESS_SHARES, REMAINING_LEVELS, Moments, at_shares

REMAINING_PREDICTORS: dict[str, type[StoredPredictor]] = {
    cls.name: cls for cls in (InputsOnly, ProgressTrees, Multimodal)
}
SPLITS = ("unseen", "seen")
"""Kinds of split: no run of a run's system is learned from, or others of it are."""


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


REMAINING_RIVALS: dict[str, type[RemainingPredictor]] = {cls.name: cls for cls in (EndsNow, MedianWhole, SameShare)}
"""What needs no learning to speak of. Every predictor is judged against them."""


@dataclass(frozen=True)
class HeldOutTrial:
    """One predictor, each run predicted once by a fit that has not seen it.

    which: the runs, int64 (runs,). used_s: seconds at each of PROGRESS_SHARES, float64 (runs, shares). quantiles: remaining seconds,
    float64 (runs, shares, levels). before_s: the median whole run time from the parameters alone, float64 (runs,), NaN for predictors
    without one. seen: whether others of its system were learned from, bool (runs,).
    """

    name: str
    which: IntArray
    used_s: FloatArray
    quantiles: FloatArray
    before_s: FloatArray
    seen: NDArray[np.bool_]

    def errors(self, runs: Runs) -> FloatArray:
        """|predicted - true| / true whole run time (RLSchert, equation 12), (runs, shares). The time used is no prediction, so that
        the error of the remaining time is that of the whole."""
        total = runs.total_s[self.which][:, None]
        return np.abs(self.used_s + self.quantiles[:, :, MEDIAN_LEVEL] - total) / total

    def errors_before(self, runs: Runs) -> FloatArray:
        """Errors of before_s relative to the true whole run time, (runs,)."""
        total = runs.total_s[self.which]
        return np.abs(self.before_s - total) / total

    def covered(self, runs: Runs) -> NDArray[np.bool_]:
        """Whether the true remaining time lies between the outer quantiles, (runs, shares)."""
        left = runs.total_s[self.which][:, None] - self.used_s
        return (self.quantiles[:, :, 0] <= left + 1e-6) & (left <= self.quantiles[:, :, -1] + 1e-6)


def finished(runs: Runs) -> IntArray:
    """Runs that can be learned from: their end is known, and at least one electronic step."""
    return np.flatnonzero(~np.isnan(runs.total_s) & (runs.total_s > 0) & (np.diff(runs.step) > 0))


def try_out(
    runs: Runs, name: str, folds: int, seed: int, on_fold: Callable[[], None] = lambda: None, split: str = "unseen"
) -> HeldOutTrial:
    """Cross-validation of a predictor or rival. split: one of SPLITS. Unseen: no system is in what is learned from and in what is
    judged. Seen: the runs are split, and those are judged of whose system others were learned from. Where every system has one run,
    that is none.

    Raises NothingToLearn for fewer systems than folds.
    """
    which = finished(runs)
    systems = len(np.unique(runs.group[which]))
    if systems < max(folds, 2):
        raise NothingToLearn(
            f"judging predictors needs at least {max(folds, 2)} systems (elements, ions and electrons), found {systems}: add "
            "runs of other systems or lower `folds`"
        )
    parts = []
    for held in held_out_groups(runs.group[which] if split == "unseen" else which, seed, folds):
        learned, judged = which[~held], which[held]
        if split == "seen":
            judged = judged[np.isin(runs.group[judged], runs.group[learned])]
        if len(judged):
            predictor = (REMAINING_PREDICTORS | REMAINING_RIVALS)[name]()
            predictor.fit(runs, learned, seed)
            parts.append(trial_of(predictor, runs, learned, judged))
        on_fold()
    return joined_trials(name, parts)


def trial_of(predictor: RemainingPredictor, runs: Runs, learned: IntArray, which: IntArray) -> HeldOutTrial:
    """A fitted predictor on the runs `which`. learned: the runs that it was fitted on."""
    moments = at_shares(runs, which, PROGRESS_SHARES)
    quantiles = predictor.predict(runs, moments).reshape(len(which), len(PROGRESS_SHARES), -1)
    before = np.full(len(which), np.nan)
    if isinstance(predictor, InputsOnly):
        before = predictor.totals(runs, which)[:, MEDIAN_LEVEL]
    used_s = moments.used_s.reshape(len(which), len(PROGRESS_SHARES))
    return HeldOutTrial(
        predictor.name, which, used_s, quantiles, before, np.isin(runs.group[which], runs.group[learned])
    )


def joined_trials(name: str, parts: list[HeldOutTrial]) -> HeldOutTrial:
    """All parts of a trial, ordered by run."""
    shares, levels = len(PROGRESS_SHARES), len(REMAINING_LEVELS)
    no_run = np.zeros(0, dtype=np.int64)
    none = HeldOutTrial(
        name, no_run, np.zeros((0, shares)), np.zeros((0, shares, levels)), np.zeros(0), np.zeros(0, dtype=bool)
    )
    columns = [
        np.concatenate([getattr(part, column) for part in (none, *parts)])
        for column in ("which", "used_s", "quantiles", "before_s", "seen")
    ]
    order = np.argsort(columns[0])
    return HeldOutTrial(name, *(column[order] for column in columns))


# --- model file


FILE_VERSION = 1


class OtherVersion(ValueError):
    """The file is of another version of tracehouse."""


def remaining_to_bytes(predictor: StoredPredictor) -> bytes:
    """The content of its file. The same predictor, fitted on the same runs with the same seed, gives the same bytes."""
    content = {"version": FILE_VERSION, "predictor": predictor.name, "state": predictor.state()}
    return json.dumps(content).encode()


def remaining_from_bytes(content: bytes) -> StoredPredictor:
    """The inverse of `remaining_to_bytes`. Raises OtherVersion for a file of another one."""
    document = json.loads(content)
    if document["version"] != FILE_VERSION:
        raise OtherVersion(f"its version is {document['version']}, not {FILE_VERSION}")
    predictor = REMAINING_PREDICTORS[document["predictor"]]()
    predictor.restore(document["state"])
    return predictor
