"""Waits of the past: of jobs whose replays and circumstances looked alike, of jobs that had waited as long, of similar jobs.

A replay knows the requests, the sizes and the order of the queue. It does not know what the site's scheduler thinks of users. So
its answer is one feature among a few that can be seen at submission. The predicted distribution is that of the waits of the nearest
jobs of the recent past that had started by then. Nothing is used that was not known at the moment asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.runtime.predictor import FloatArray
from models.waits.history import History, IntArray, State, submission_state
from models.waits.replays import start_times
from simulator.policies.registry import Policy

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
REACH_S = 365 * 86_400
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
    seconds, (jobs, 5). user, submit, wait: int64 (jobs,). The outcome of a job is read only once it has started."""

    features: FloatArray
    replayed: FloatArray
    user: IntArray
    submit: IntArray
    wait: IntArray

    def started_by(self, moment: int) -> IntArray:
        """The last POOL_JOBS that had been submitted before a moment and had started by then."""
        return np.flatnonzero((self.submit < moment) & (self.submit + self.wait <= moment))[-POOL_JOBS:]


def pool_numbers(history: History, moment: int, stride: int | None = None) -> IntArray:
    """Numbers of the jobs that a question at a moment compares with: of every `stride`-th job, the last that had started."""
    submitted = int(np.searchsorted(history.submit, moment, side="left"))
    stride = stride or stride_of(submitted)
    numbers = np.arange(0, submitted, stride)
    return numbers[history.start[numbers] <= moment][-POOL_JOBS:]


def stride_of(jobs: int) -> int:
    """A pool has every how many-th job. It should go back some weeks, and not only to the last campaign."""
    return int(np.clip(jobs // POOL_JOBS, 1, POOL_STRIDE))


def pool_of(
    history: History, numbers: IntArray, seed: int, policy: str | Policy = "FCFS", backfill: str = "easy"
) -> Pool:
    """Replays each of these jobs from the state in which it was submitted. Raises ValueError as `start_times` does."""
    features, replayed = np.empty((len(numbers), len(FEATURES))), np.empty((len(numbers), len(POINTS)))
    for k, number in enumerate(numbers.tolist()):
        state = submission_state(history, number)
        waits = start_times(state, -1, POOL_SAMPLES, [seed, number], policy, backfill)
        features[k] = features_of(history, state, -1, waits)
        replayed[k] = np.quantile(waits, POINTS)
    return Pool(features, replayed, history.user[numbers], history.submit[numbers], history.wait(numbers))


def waits_of_neighbours(pool: Pool, features: FloatArray, user: int, moment: int) -> tuple[FloatArray | None, int]:
    """Weighted quantiles of the waits of the nearest jobs, in seconds at POINTS, and the number of these neighbours.

    features: of `features_of`. user: number of the user, -1 for no particular one. Nearer jobs weigh more, by a parabola that
    falls to 5 %. None where fewer than LEAST_NEIGHBOURS had started by `moment`.
    """
    started = pool.started_by(moment)
    if len(started) < LEAST_NEIGHBOURS:
        return None, len(started)
    squared = (pool.features[started] - features) ** 2
    if user < 0:  # no particular user, which is not a user whose first job this is
        squared = squared[:, [not name.startswith("user_") for name in FEATURES]].sum(axis=1)
    else:
        squared = squared.sum(axis=1) + OTHER_USER * (pool.user[started] != user)
    nearest = np.argsort(squared, kind="stable")[:NEIGHBOURS]
    weight = 1.05 - squared[nearest] / max(squared[nearest].max(), 1e-9)
    return weighted_quantiles(pool.wait[started[nearest]].astype(np.float64), weight, POINTS), len(nearest)


def waits_of_survivors(history: History, moment: int, waited: int) -> tuple[FloatArray | None, int]:
    """Whole waits in seconds at POINTS of jobs of the last REACH_S that waited longer than `waited` seconds, and their number.

    No replay shows the reasons why a job waits very long. Jobs that still wait, or were cancelled, count for as long as they waited
    (Kaplan and Meier 1958). Without them the waits would look too short. None where fewer than LEAST_NEIGHBOURS started.
    """
    first, last = np.searchsorted(history.submit, [moment - REACH_S, moment])
    seen = np.minimum(history.leaves[first:last], moment) - history.submit[first:last]
    started = history.start[first:last] <= moment
    among = seen > waited
    seen, started = seen[among], started[among]
    if started.sum() < LEAST_NEIGHBOURS:
        return None, int(started.sum())
    order = np.lexsort((~started, seen))
    still = np.cumprod(np.where(started[order], 1 - 1 / np.arange(len(seen), 0, -1), 1.0))
    places = np.searchsorted(1 - still, np.array(POINTS) - 1e-9)
    return seen[order][np.minimum(places, len(seen) - 1)].astype(np.float64), int(started.sum())


def weighted_quantiles(values: FloatArray, weight: FloatArray, points: tuple[float, ...]) -> FloatArray:
    """The least value up to which at least a share `point` of the weight lies, for every point."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    return values[order][np.minimum(np.searchsorted(share, np.array(points) - 1e-9), len(values) - 1)]


def similar_waits(history: History, procs: int, request: int, moment: int) -> IntArray:
    """Waits of the last SIMILAR_JOBS started jobs of the same class of size and request, else of all. This is the baseline."""
    group = history.starts_by_class.get(int(history.class_of(procs, request)))
    similar = history.last_started(group, moment, SIMILAR_JOBS)
    if len(similar) < FEWEST_SIMILAR:
        similar = history.last_started(history.starts, moment, SIMILAR_JOBS)
    return history.wait(similar)
