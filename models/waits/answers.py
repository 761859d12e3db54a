"""The predicted wait of one job, new or waiting, at a moment of a log.

The present state is replayed many times with run times drawn from the predicted quantiles. The answer is then corrected by what
became of jobs whose replays and circumstances looked alike, and its interval by how often earlier intervals held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models.runtime.predictor import FloatArray
from models.waits.history import History, IntArray, State, state_at
from models.waits.interval_ends import IntervalEnds
from models.waits.neighbours import (
    POINTS,
    PastWaits,
    expected_wait,
    features_of,
    pool_numbers,
    pool_of,
    similar_waits,
    waits_of_neighbours,
    waits_of_survivors,
)
from models.waits.replays import start_times


class QueueReplays(NamedTuple):
    """How the queue is replayed: so many times, with this seed, order and backfilling."""

    samples: int
    seed: int
    policy: str
    backfill: str


@dataclass(frozen=True)
class WaitAnswer:
    """A predicted wait.

    quantiles: of the whole wait at POINTS, seconds, (5,). mean_s: its mean, from a model of its own. told_by: calibrated, trees, or replay
    where too few past jobs are comparable. replayed: the quantiles by replays alone. similar_mean_s, similar_median_s: mean and
    median wait of similar recent jobs, None where none has started. waited_s: what of the wait is over, of a job that waits."""

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
    history: History, moment: int, procs: int, request: int, user: int, replays: QueueReplays
) -> WaitAnswer:
    """The wait of a job submitted at a moment. user: its number, -1 for nobody in particular. request: seconds, below 1 for none.

    Raises ValueError for a job that never fits, and as `start_times` does."""
    if procs > history.cluster_procs:
        raise ValueError(
            f"a job of {procs} processors can never start on a cluster of {history.cluster_procs}: ask for fewer"
        )
    state = state_at(history, moment).with_job(procs, request, user)
    samples, seed, policy, backfill = replays
    replayed = start_times(state, -1, samples, seed, policy, backfill)
    pool = pool_of(history, pool_numbers(history, moment), seed, policy, backfill)
    past = waits_of_neighbours(pool, features_of(history, state, -1, replayed), user, moment)
    similar = similar_waits(history, procs, request, moment)
    mean_s = expected_wait(past, similar, float(replayed.mean()))
    if past.quantiles is not None:
        past = past._replace(quantiles=IntervalEnds(pool).moved(past.quantiles, moment))
    return _answer(state, replayed, past, mean_s, similar, 0)


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
    mean_s = float(replayed.mean()) if survivors.mean_s is None else survivors.mean_s
    return _answer(state, replayed, survivors, mean_s, similar, waited)


def _answer(
    state: State, replayed: FloatArray, past: PastWaits, mean_s: float, similar: IntArray, waited: int
) -> WaitAnswer:
    by_replay = np.quantile(replayed, POINTS)
    quantiles, told_by = (by_replay, "replay") if past.quantiles is None else (past.quantiles, "calibrated")
    mean, median = (float(similar.mean()), float(np.median(similar))) if len(similar) else (None, None)
    return WaitAnswer(state, quantiles, mean_s, told_by, past.jobs, by_replay, mean, median, waited)
