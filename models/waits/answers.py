"""The predicted wait of one job, new or waiting, at a moment of a log.

The present state is replayed many times with run times drawn from the predicted quantiles. The answer is then corrected by what
became of jobs whose replays and circumstances looked alike, and its interval by how often earlier intervals held.

When the jobs that wait now will start, with an interval that is corrected by the queues of the past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.runtime.predictor import FloatArray
from models.waits.history import NEVER_STARTED, History, IntArray, State, state_at
from models.waits.neighbours import (
    POINTS,
    IntervalEnds,
    PastWaits,
    features_of,
    pool_numbers,
    pool_of,
    similar_waits,
    waits_of_neighbours,
    waits_of_survivors,
)
from models.waits.replays import queue_start_times, start_times
from simulator.policies.registry import Policy, parse_policy


class QueueReplays(NamedTuple):
    """How the queue is replayed: so many times, with this seed, order and backfilling."""

    samples: int
    seed: int
    policy: str
    backfill: str


@dataclass(frozen=True)
class WaitAnswer:
    """A predicted wait.

    quantiles: of the whole wait at POINTS, seconds, (5,). mean_s: of the same distribution, and not below its interval. told_by:
    calibrated, trees, or replay where too few past jobs are comparable. replayed: the quantiles by replays alone. similar_mean_s,
    similar_median_s: mean and median wait of similar recent jobs, None where none has started. waited_s: what of the wait is over, of a
    job that waits."""

    state: State
    quantiles: FloatArray
    mean_s: float
    told_by: str
    neighbours: int
    replayed: FloatArray
    similar_mean_s: float | None
    similar_median_s: float | None
    waited_s: int


def new_job_wait(
    history: History,
    moment: int,
    procs: int,
    request: int,
    user: int,
    replays: QueueReplays,
    watch: Callable[[list[int]], Iterable[int]] = iter,
) -> WaitAnswer:
    """The wait of a job submitted at a moment. user: its number, -1 for nobody in particular. request: seconds, below 1 for none. watch:
    as in `pool_of`.

    Raises ValueError for a job that never fits, and as `start_times` does."""
    if procs > history.cluster_procs:
        raise ValueError(
            f"a job of {procs} processors can never start on a cluster of {history.cluster_procs}: ask for fewer"
        )
    state = state_at(history, moment).with_job(procs, request, user)
    samples, seed, policy, backfill = replays
    replayed = start_times(state, -1, samples, seed, policy, backfill)
    pool = pool_of(history, pool_numbers(history, moment), seed, policy, backfill, watch)
    past = waits_of_neighbours(pool, features_of(history, state, -1, replayed), user, moment)
    similar = similar_waits(history, procs, request, moment)
    if past.quantiles is not None:
        past = past._replace(quantiles=IntervalEnds(pool).moved(past.quantiles, moment))
    return _answer(state, replayed, past, similar, 0)


def queued_job_wait(history: History, moment: int, number: int, replays: QueueReplays) -> WaitAnswer:
    """The wait, from its submission, of a job of the log that waits at a moment: that of jobs which had waited as long.

    Raises ValueError as `start_times` does."""
    state = state_at(history, moment)
    position = int(np.flatnonzero(state.waiting.number == number)[0])
    waited = moment - int(history.submit[number])
    samples, seed, policy, backfill = replays
    replayed = start_times(state, position, samples, seed, policy, backfill) + waited
    similar = similar_waits(history, int(history.procs[number]), int(history.request[number]), moment)
    survivors = waits_of_survivors(history, moment, waited)
    return _answer(state, replayed, survivors, similar, waited)


def _answer(state: State, replayed: FloatArray, past: PastWaits, similar: IntArray, waited: int) -> WaitAnswer:
    by_replay = np.quantile(replayed, POINTS)
    quantiles, told_by = (by_replay, "replay") if past.quantiles is None else (past.quantiles, "calibrated")
    mean_s = max(float(replayed.mean()) if past.mean_s is None else past.mean_s, float(quantiles[0]))
    mean, median = (float(similar.mean()), float(np.median(similar))) if len(similar) else (None, None)
    return WaitAnswer(state, quantiles, mean_s, told_by, past.jobs, by_replay, mean, median, waited)


# --- queue starts


INTERVAL = (0.1, 0.5, 0.9)
"""Levels of what is said of each job; the first and the last bound the 80 % interval."""
PAST_QUEUES, PAST_SAMPLES, PAST_JOBS = 60, 20, 50
"""Queues of the past that an interval is corrected by, how often each is replayed, and how many jobs of each count."""
LEAST_PAST_QUEUES = 10
_SHORT_S = 60.0
"""Added to waits before logarithms are taken: nobody minds a minute."""


@dataclass(frozen=True)
class Correction:
    """How much further intervals have to reach than those of replays alone, as logarithms of (wait + 1 min). They may be below 0.

    queues, jobs: of the past, that it comes from."""

    below: float
    above: float
    queues: int
    jobs: int


def queue_quantiles(starts: FloatArray, correction: Correction | None) -> FloatArray:
    """Seconds from now to the start at INTERVAL, float64 (waiting jobs, 3). starts: of `queue_start_times`. correction: None for the
    replays alone. The median stays that of the replays, and lies inside the interval."""
    low, median, high = np.quantile(starts, INTERVAL, axis=0)
    if correction is not None:
        low = np.exp(np.log(low + _SHORT_S) - correction.below) - _SHORT_S
        high = np.exp(np.log(high + _SHORT_S) + correction.above) - _SHORT_S
    return np.stack([np.clip(low, 0.0, median), median, np.maximum(high, median)], axis=1)


def correction_of(
    history: History, moment: int, seed: int, policy: str | Policy = "FCFS", backfill: str = "easy"
) -> Correction | None:
    """The correction that makes 8 of 10 intervals of past queues hold, with a tenth on either side (conformalized quantiles, Romano,
    Patterson and Candès 2019).

    The queues are those that the last part of the log's jobs met at their submission, before `moment`. Each queue counts the same. Of a job
    that had not started by then, the wait counts as far as it is over. None where fewer than LEAST_PAST_QUEUES had jobs that started.
    Raises ValueError as `queue_start_times` does.
    """
    policy = parse_policy(policy) if isinstance(policy, str) else policy
    below, above, weights = [], [], []
    for past in _past_moments(history, moment):
        scores = _scores(history, past, moment, [seed, past], policy, backfill)
        if scores is not None:
            below.append(scores[0])
            above.append(scores[1])
            weights.append(np.full(len(scores[0]), 1 / len(scores[0])))
    if len(weights) < LEAST_PAST_QUEUES:
        return None
    weight = np.concatenate(weights)
    ends = [_upper_quantile(np.concatenate(scores), weight, INTERVAL[-1]) for scores in (below, above)]
    return Correction(ends[0], ends[1], len(weights), len(weight))


def _past_moments(history: History, moment: int) -> list[int]:
    """Submissions of the last third of the jobs before a moment, PAST_QUEUES of them at most, evenly over the jobs."""
    last = int(np.searchsorted(history.submit, moment, side="left"))
    first = last - last // 3
    return (
        sorted({int(history.submit[number]) for number in np.linspace(first, last - 1, PAST_QUEUES).astype(int)})
        if last
        else []
    )


def _scores(
    history: History, past: int, moment: int, seed: list[int], policy: Policy, backfill: str
) -> tuple[FloatArray, FloatArray] | None:
    """How far below and above their interval the jobs of a past queue started, as logarithms. None for a queue without such jobs."""
    state = state_at(history, past)
    fits = np.flatnonzero(state.waiting.procs <= history.cluster_procs)
    if not len(fits):
        return None
    numbers = state.waiting.number[fits]
    state = State(past, history.cluster_procs, state.running, history.job_set(numbers, state.waiting.since[fits]))
    low, _, high = np.quantile(queue_start_times(state, PAST_SAMPLES, seed, policy, backfill), INTERVAL, axis=0)
    seen = np.flatnonzero(_is_seen(history, numbers, moment))
    seen = seen[np.linspace(0, len(seen) - 1, min(PAST_JOBS, len(seen))).astype(int)] if len(seen) else seen
    if not len(seen):
        return None
    true = np.log(np.minimum(history.start[numbers[seen]], moment) - past + _SHORT_S)
    return np.log(low[seen] + _SHORT_S) - true, true - np.log(high[seen] + _SHORT_S)


def _is_seen(history: History, numbers: IntArray, moment: int) -> NDArray[np.bool_]:
    """Jobs that were not cancelled by a moment."""
    return (history.start[numbers] < NEVER_STARTED) | (history.leaves[numbers] > moment)


def _upper_quantile(values: FloatArray, weight: FloatArray, level: float) -> float:
    """The least value up to which at least a share `level` of the weight lies."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(int(np.searchsorted(share, level - 1e-9)), len(values) - 1)])
