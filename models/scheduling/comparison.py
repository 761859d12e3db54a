"""Is one policy better than another? Both replay the same windows, and the interval takes into account that windows overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Windows

FloatArray = NDArray[np.float64]

BOOTSTRAP_RESAMPLES = 4000
LEAST_DISJOINT = 4
"""With fewer windows that share no job an interval says nothing."""


@dataclass(frozen=True)
class Difference:
    """mean: of one policy's costs minus another's. low, high: its 95 % interval, None with too few windows."""

    mean: float
    low: float | None
    high: float | None


def block_length(windows: Windows) -> int:
    """The most consecutive windows (by position) that share jobs with the first of them. They are resampled together."""
    behind = np.searchsorted(windows.first, windows.first + windows.jobs)
    return int((behind - np.arange(len(windows))).max(initial=1))


def disjoint(windows: Windows) -> int:
    """How many of the windows, taken from the first on, share no job."""
    count, free_from = 0, -1
    for first in windows.first.tolist():
        if first >= free_from:
            count, free_from = count + 1, first + windows.jobs
    return count


def paired_difference(costs: FloatArray, others: FloatArray, windows: Windows, seed: int) -> Difference:
    """The mean of `costs` minus that of `others` on the same windows, with its 95 % interval.

    costs, others: float64 (windows,) or (training seeds, windows). windows: ascending by position. The interval is a percentile
    bootstrap. It resamples blocks of windows around the circle (Politis and Romano 1992), the same for both sides, and training
    seeds within each side.
    """
    ours, theirs = np.atleast_2d(costs), np.atleast_2d(others)
    mean = float(ours.mean() - theirs.mean())
    count, block = len(windows), block_length(windows)
    if disjoint(windows) < LEAST_DISJOINT:
        return Difference(mean, None, None)
    rng = np.random.default_rng(seed)
    begin = rng.integers(count, size=(BOOTSTRAP_RESAMPLES, -(-count // block)))
    drawn = ((begin[:, :, None] + np.arange(block)) % count).reshape(BOOTSTRAP_RESAMPLES, -1)[:, :count]
    sides = []
    for side in (ours, theirs):
        picked = rng.integers(len(side), size=(BOOTSTRAP_RESAMPLES, len(side)))
        sides.append(side[picked[:, :, None], drawn[:, None, :]].mean(axis=(1, 2)))
    low, high = np.percentile(sides[0] - sides[1], [2.5, 97.5])
    return Difference(mean, float(low), float(high))
