"""How good predicted run times are. Every definition is in docs/reference/semantics.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.runtime.predictor import LEVELS, FloatArray, Prediction

LEAST_USERS = 5
COVERED = (0.5, 0.8, 0.9)
"""Levels whose coverage is reported."""


def score(prediction: Prediction, true: FloatArray) -> dict[str, float]:
    """Errors of the points and the quantiles against true run times (jobs,), both in seconds, of at least one job.

    Names and units as in predictions.prequential_scores. Percentages are shares, 1 for 100 %.
    """
    point = prediction.point
    error = np.abs(point - true)
    levels = np.array(LEVELS)
    below = true[:, None] - prediction.quantiles
    pinball = np.maximum(levels * below, (levels - 1) * below)
    covered = {
        f"coverage_{100 * level:.0f}": float((true <= prediction.quantiles[:, LEVELS.index(level)]).mean())
        for level in COVERED
    }
    return {
        "mean_absolute_error_s": float(error.mean()),
        "median_absolute_error_s": float(np.median(error)),
        "mean_absolute_percentage_error": float((error / true).mean()),
        "mean_accuracy": float((np.minimum(point, true) / np.maximum(point, true)).mean()),
        "underestimated_share": float((true > point).mean()),
        "pinball_loss_s": float(pinball.mean()),
    } | covered


def user_classes(users: NDArray[Any]) -> NDArray[np.int64]:
    """The class of each job's user, int64 (jobs,), an index in USER_CLASSES: by how many of these jobs the user has."""
    _, number, jobs = np.unique(users, return_inverse=True, return_counts=True)
    return np.searchsorted(np.array([30, 1000]), jobs, side="left")[number]


USER_CLASSES = ("up to 30 jobs", "31 to 1,000 jobs", "more than 1,000 jobs")


def gain_interval(
    error: FloatArray, baseline_error: FloatArray, users: NDArray[Any], seed: int, resamples: int = 1000
) -> tuple[float, float | None, float | None]:
    """(mean, low, high) of baseline error minus error in seconds, 95 % bootstrap over users.

    Jobs of a user are alike, so users are resampled whole. With single jobs the interval would be far too narrow. With
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
