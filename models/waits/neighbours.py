"""Waits of the past: of jobs whose replays and circumstances looked alike, of similar jobs.

A replay knows the requests, the sizes and the order of the queue. It does not know what the site's scheduler thinks of users. So
its answer is one feature among a few that can be seen at submission. The predicted distribution is that of the waits of the nearest
jobs of the recent past. One that still waits counts for as long as it has waited. Nothing is used that was not known at the moment
asked for.

The ends of the interval of a predicted wait, moved by how often those of earlier predictions held.

Neighbours are not drawn from the future: queues change, and the longest waits are known last. So each end is moved by what it missed
(adaptive conformal inference, Gibbs and Candes 2021). Earlier jobs are predicted as they were at their submission. Whether an
end held counts from the moment at which that was known, and not earlier.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.runtime.predictor import FloatArray
from models.waits.history import History, IntArray, State, submission_state
from models.waits.replays import ROW, QueueStarts

POINTS = (0.10, 0.25, 0.50, 0.75, 0.90)
"""Levels of the quantiles of a predicted wait; the first and the last bound the 80 % interval."""

FEATURES = (
    "replayed_median",
    "replayed_at_once",
    "user_waiting",
    "user_oldest",
    "user_last_wait",
    "request",
    "procs",
    "free",
    "overtaken",
)
"""What makes circumstances alike, see `features_of`."""
WEIGHTS = np.array([1.0, 10.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
OTHER_USER = 4.0
"""Added to the squared distance of a job of another user."""
NEIGHBOURS, LEAST_NEIGHBOURS = 30, 10
POOL_JOBS, POOL_STRIDE, POOL_SAMPLES = 400, 25, 20
"""Past jobs among which neighbours are looked for: the last so many of every 25th job, each replayed so often."""
FOLLOWED_JOBS = 4 * POOL_JOBS
"""Past jobs whose predictions set the ends of an interval, see `models.waits.neighbours`."""
SIMILAR_JOBS = 50
FEWEST_SIMILAR = 10


def features_of(history: History, state: State, position: int, replayed: FloatArray) -> FloatArray:
    """FEATURES of the waiting job at `position` as they were when it was submitted, weighted for distances, float64 (features,).

    replayed: its waits in replays, seconds, (samples,). The second feature is the share of replays in which the job started at once.
    Each other one is the logarithm of 1 + a number. In order, these numbers are:

    - the median of the replayed waits
    - jobs of the user that wait, and how long the oldest has waited
    - the wait of the user's job that started last, 0 s for none
    - the request, processors, and free processors
    - jobs that wait and are neither wider nor longer by request
    """
    waiting = state.waiting
    ahead = np.arange(len(waiting)) != position % len(waiting)
    procs, request, user = (int(column[position]) for column in (waiting.procs, waiting.request, waiting.user))
    mine = ahead & (waiting.user == user)
    last = history.last_started(history.starts_by_user.get(user), state.now, 1)
    raw = np.array(
        [
            np.median(replayed),
            0.0,
            mine.sum(),
            (state.now - waiting.since[mine]).max(initial=0),
            history.wait(last)[0] if len(last) else 0.0,
            request,
            procs,
            state.cluster_procs - state.busy_procs,
            (ahead & (waiting.procs <= procs) & (waiting.request <= request)).sum(),
        ]
    )
    features = np.log1p(np.maximum(raw, 0.0))
    features[1] = (replayed <= 1).mean()
    return features * WEIGHTS


@dataclass(frozen=True)
class Pool:
    """Past jobs, in order of submission. features: float64 (jobs, features). replayed: their waits at POINTS as replayed,
    seconds, (jobs, 5). replayed_mean: (jobs,). user, submit, wait: int64 (jobs,). wait: until the job started, or was cancelled.
    starts: whether it started, bool (jobs,). The outcome of a job is read only once it has left the queue."""

    features: FloatArray
    replayed: FloatArray
    replayed_mean: FloatArray
    user: IntArray
    submit: IntArray
    wait: IntArray
    starts: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.submit)

    def seen_by(self, moment: int) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        """The last POOL_JOBS that had been submitted before a moment, how long each had waited by then, and whether it had started."""
        last = int(np.searchsorted(self.submit, moment, side="left"))
        jobs = np.arange(max(0, last - POOL_JOBS), last)
        waited = moment - self.submit[jobs]
        return jobs, np.minimum(self.wait[jobs], waited), self.starts[jobs] & (self.wait[jobs] <= waited)


class PastWaits(NamedTuple):
    """What the waits of comparable jobs say. quantiles: seconds at POINTS, (5,), and their mean_s, None for too few jobs. jobs: how many
    were compared, or had started where they were too few."""

    quantiles: FloatArray | None
    mean_s: float | None
    jobs: int


def pool_numbers(history: History, moment: int, stride: int | None = None) -> IntArray:
    """Numbers of the jobs that a question at a moment needs: of every `stride`-th job, the last FOLLOWED_JOBS."""
    submitted = int(np.searchsorted(history.submit, moment, side="left"))
    stride = stride or stride_of(submitted)
    return np.arange(0, submitted, stride)[-FOLLOWED_JOBS:]


def stride_of(jobs: int) -> int:
    """A pool has every how many-th job. It should go back some weeks, and not only to the last campaign."""
    return int(np.clip(jobs // POOL_JOBS, 1, POOL_STRIDE))


def pool_of(
    history: History,
    numbers: IntArray,
    seed: int,
    starts: QueueStarts = ROW,
    watch: Callable[[list[int]], Iterable[int]] = iter,
) -> Pool:
    """Replays each of these jobs from the state in which it was submitted. watch: shows the progress, as it hands on the jobs. Raises
    ValueError as these replays do."""
    features, replayed = np.empty((len(numbers), len(FEATURES))), np.empty((len(numbers), len(POINTS)))
    mean = np.empty(len(numbers))
    for k, number in enumerate(watch(numbers.tolist())):
        state = submission_state(history, number)
        waits = starts(state, POOL_SAMPLES, [seed, number])[:, -1]
        features[k] = features_of(history, state, -1, waits)
        replayed[k], mean[k] = np.quantile(waits, POINTS), waits.mean()
    submit, leaves = history.submit[numbers], history.leaves[numbers]
    return Pool(
        features, replayed, mean, history.user[numbers], submit, leaves - submit, history.start[numbers] == leaves
    )


def waits_of_neighbours(pool: Pool, features: FloatArray, user: int, moment: int) -> PastWaits:
    """The weighted distribution of the waits of the nearest jobs.

    features: of `features_of`. user: number of the user, -1 for no particular one. Nearer jobs weigh more, by a parabola that
    falls to 5 %. Nothing where fewer than LEAST_NEIGHBOURS of the pool had started by `moment`.
    """
    jobs, seen, started = pool.seen_by(moment)
    if started.sum() < LEAST_NEIGHBOURS:
        return PastWaits(None, None, int(started.sum()))
    squared = (pool.features[jobs] - features) ** 2
    if user < 0:  # no particular user, which is not a user whose first job this is
        squared = squared[:, [not name.startswith("user_") for name in FEATURES]].sum(axis=1)
    else:
        squared = squared.sum(axis=1) + OTHER_USER * (pool.user[jobs] != user)
    nearest = np.argsort(squared, kind="stable")[:NEIGHBOURS]
    weight = 1.05 - squared[nearest] / max(squared[nearest].max(), 1e-9)
    quantiles, mean_s = distribution(seen[nearest], started[nearest], weight)
    return PastWaits(quantiles, mean_s, len(nearest))


def distribution(seen: IntArray, started: NDArray[np.bool_], weight: FloatArray) -> tuple[FloatArray, float]:
    """Quantiles at POINTS and mean of waits of which some are not over, seconds.

    Jobs that still wait, or were cancelled, count for as long as they waited (Kaplan and Meier 1958, with weights). Without them the
    waits would look too short. What no job shows counts as the longest wait seen.
    """
    waits, still = shares_still(seen, started, weight)
    share = -np.diff(still, prepend=1.0)
    return quantiles_of(waits, still, POINTS), float(share @ waits + still[-1] * waits[-1])


def shares_still(
    values: IntArray | FloatArray, is_whole: NDArray[np.bool_], weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values in order, and the share that is still above each, where some are not whole yet (Kaplan and Meier 1958, with weights)."""
    order = np.lexsort((~is_whole, values))
    weights = weight[order]
    at_risk = np.cumsum(weights[::-1])[::-1]
    left: FloatArray = np.where(is_whole[order], 1 - weights / at_risk, 1.0)
    return values[order].astype(np.float64), left.cumprod()


def quantiles_of(values: FloatArray, still: FloatArray, levels: Sequence[float]) -> FloatArray:
    """Of `shares_still`, at levels. The largest value where one lies beyond all that are whole."""
    places = np.searchsorted(1 - still, np.array(levels) - 1e-9)
    return values[np.minimum(places, len(values) - 1)]


def expected_wait(past: PastWaits, similar: IntArray, replayed_mean: float) -> float:
    """The predicted mean wait of a new job, seconds. It is the mean of three means: of the nearest jobs, of similar jobs and of the
    replays. Each errs in its own way. Those that are missing are left out."""
    means = [
        replayed_mean,
        *([] if past.mean_s is None else [past.mean_s]),
        *([similar.mean()] if len(similar) else []),
    ]
    return float(np.mean(means))


def similar_waits(history: History, procs: int, request: int, moment: int) -> IntArray:
    """Waits of the last SIMILAR_JOBS started jobs of the same class of size and request, else of all. This is the baseline."""
    group = history.starts_by_class.get(int(history.class_of(procs, request)))
    similar = history.last_started(group, moment, SIMILAR_JOBS)
    if len(similar) < FEWEST_SIMILAR:
        similar = history.last_started(history.starts, moment, SIMILAR_JOBS)
    return history.wait(similar)


# --- interval ends


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
