"""The ends of the interval of a predicted wait, moved by how often those of earlier predictions held.

Neighbours are not drawn from the future: queues change, and the longest waits are known last. So each end is moved by what it missed
(adaptive conformal inference, Gibbs and Candes 2021). Earlier jobs are predicted as they were at their submission. Whether an
end held counts from the moment at which that was known, and not earlier.
"""

from __future__ import annotations

import heapq

import numpy as np

from models.runtime.predictor import FloatArray
from models.waits.neighbours import POINTS, Pool, waits_of_neighbours

STEP = 0.02
"""How far one miss moves an end, on the logarithm of 1 s plus the wait. Chosen on the first halves of three logs."""
LARGEST_MOVE = 3.0
"""No end moves further than this, by a factor of 20."""
LOW, HIGH = 0, 1


class IntervalEnds:
    """Follows the jobs of a pool in order of submission. Moments that are asked for must not descend."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self._next = pool, 0
        self._move = np.zeros(2)
        self._outcomes: list[tuple[float, int, bool]] = []
        """What becomes known: (when, which end, whether it missed)."""

    def moved(self, quantiles: FloatArray, moment: int) -> FloatArray:
        """Quantiles of a wait that is predicted at a moment, with the first and the last moved. The median stays, and the order.

        quantiles: seconds at POINTS, of `waits_of_neighbours`."""
        pool = self._pool
        while self._next < len(pool) and pool.submit[self._next] < moment:
            job, self._next = self._next, self._next + 1
            submit = int(pool.submit[job])
            past = waits_of_neighbours(pool, pool.features[job], int(pool.user[job]), submit)
            if past.quantiles is not None:
                self._learn(submit)
                self._watch(job, self._shifted(past.quantiles))
        self._learn(moment)
        return self._shifted(quantiles)

    def _shifted(self, quantiles: FloatArray) -> FloatArray:
        low, high = np.expm1(np.maximum(np.log1p(quantiles[[0, -1]]) + self._move, 0.0))
        median = quantiles[len(POINTS) // 2]
        return np.clip([0.0, *quantiles[1:-1], np.inf], min(low, median), max(high, median))

    def _watch(self, job: int, quantiles: FloatArray) -> None:
        """Notes when it is known whether the ends of this prediction held. A cancelled job says so only of ends that it reached."""
        submit, wait, starts = (int(x[job]) for x in (self._pool.submit, self._pool.wait, self._pool.starts))
        for end, limit in ((LOW, quantiles[0]), (HIGH, quantiles[-1])):
            reached = wait >= limit if end == LOW else wait > limit
            if reached or starts:
                when = submit + (float(limit) if reached else wait)
                heapq.heappush(self._outcomes, (when, end, reached == (end == HIGH)))

    def _learn(self, moment: int) -> None:
        wanted = POINTS[0], 1 - POINTS[-1]
        while self._outcomes and self._outcomes[0][0] <= moment:
            _, end, missed = heapq.heappop(self._outcomes)
            step = STEP * (missed - wanted[end])
            self._move[end] += step if end == HIGH else -step
        self._move = np.clip(self._move, -LARGEST_MOVE, LARGEST_MOVE)
