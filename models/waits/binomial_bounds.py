"""Bounds on quantiles of waits from the waits of the same class alone, with a confidence: a published rival of predicted waits.

The binomial method batch predictor (Brevik, Nurmi and Wolski, PPoPP 2006, and QBETS by Nurmi, Brevik and Wolski, 2007). If the waits of a
class were independent draws, the number of them below their quantile would be binomial. So one of the waits in order is a
bound on the quantile with the confidence wanted. When three waits in a row miss their bounds, the older waits are forgotten. The
paper forgets later where waits are correlated. Classes are those of `History.class_of`, and the paper's are the queue's and by size.
"""

from __future__ import annotations

import bisect
import heapq
from collections import defaultdict

import numpy as np

from models.runtime.predictor import FloatArray
from models.waits.history import NEVER_STARTED, History, IntArray

CONFIDENCE = 0.95
MISSES_IN_A_ROW = 3
BOUNDED = ((0.10, False), (0.50, True), (0.90, True))
"""What is bounded: (level of the quantile, from above?). The first and the last are the ends of the 80 % interval."""


def upper_ranks(level: float, most: int) -> IntArray:
    """Which wait in ascending order, counted from 1, is at least the quantile of a level with CONFIDENCE, int64 (most + 1,).

    By the number of waits, 0 to most. Where even the largest is not, the rank is the number of waits plus 1."""
    from scipy.stats import binom

    return (binom.ppf(CONFIDENCE, np.arange(most + 1), level) + 1).astype(np.int64)


class ClassBound:
    """The bound on one quantile of the waits of one class. ranks: of `upper_ranks`. sign: -1 for a bound from below."""

    def __init__(self, ranks: IntArray, sign: int) -> None:
        self._ranks, self._sign = ranks, sign
        self._fewest = int(np.flatnonzero(ranks <= np.arange(len(ranks)))[0])
        self._arrived: list[int] = []
        self._ordered: list[int] = []
        self._missed = 0

    def bound(self) -> float:
        """Seconds, NaN with too few waits."""
        count = len(self._ordered)
        rank = int(self._ranks[count])
        return float(self._sign * self._ordered[rank - 1]) if 0 < rank <= count else float("nan")

    def add(self, wait: int, predicted: float) -> None:
        """A job has started. predicted: its bound at submission, NaN for none."""
        value = self._sign * wait
        self._arrived.append(value)
        bisect.insort(self._ordered, value)
        self._missed = self._missed + 1 if value > self._sign * predicted else 0
        if self._missed == MISSES_IN_A_ROW and len(self._arrived) > self._fewest:
            self._arrived = self._arrived[-self._fewest :]
            self._ordered = sorted(self._arrived)
            self._missed = 0


def binomial_bounds(history: History) -> FloatArray:
    """The bounds BOUNDED of every job at its submission, from the jobs of its class that had started by then.

    Seconds, float64 (jobs, 3), NaN where its class has too few."""
    classes = history.class_of(history.procs, history.request)
    ranks = {level: upper_ranks(level, len(history)) for level, _ in BOUNDED}
    ranks[BOUNDED[0][0]] = ranks[BOUNDED[-1][0]]  # a bound from below is one from above of the negative waits

    def fresh() -> list[ClassBound]:
        return [ClassBound(ranks[level], 1 if is_upper else -1) for level, is_upper in BOUNDED]

    by_class: defaultdict[int, list[ClassBound]] = defaultdict(fresh)
    bounds = np.full((len(history), len(BOUNDED)), np.nan)
    started: list[tuple[int, int]] = []
    for job, (now, group) in enumerate(zip(history.submit.tolist(), classes.tolist(), strict=True)):
        while started and started[0][0] <= now:
            start, other = heapq.heappop(started)
            for k, each in enumerate(by_class[int(classes[other])]):
                each.add(start - int(history.submit[other]), float(bounds[other, k]))
        bounds[job] = [each.bound() for each in by_class[group]]
        if history.start[job] < NEVER_STARTED:
            heapq.heappush(started, (int(history.start[job]), job))
    return bounds
