"""The predicted wait of one job, new or waiting, at a moment of a log.

The present state is replayed many times with run times drawn from the predicted quantiles. The answer is then corrected by what
became of jobs whose replays and circumstances looked alike, and its interval by how often earlier intervals held.

When the jobs that wait now will start, with an interval that is corrected by the queues of the past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from models.runtime.predictor import FloatArray
from models.waits.history import NEVER_STARTED, History, IntArray, State, state_at
from models.waits.neighbours import (
    POINTS,
    IntervalEnds,
    PastWaits,
    features_of,
    pool_numbers,
    pool_of,
    quantiles_of,
    shares_still,
    similar_waits,
    waits_of_neighbours,
)
from models.waits.replays import ROW, QueueStarts, RowStarts


class QueueReplays(NamedTuple):
    """How the queue is replayed: so many times, with this seed."""

    samples: int
    seed: int
    starts: QueueStarts = ROW


@dataclass(frozen=True)
class WaitAnswer:
    """A predicted wait.

    quantiles: of the whole wait at POINTS, seconds, (5,). mean_s: of the same distribution, and not below its interval. told_by:
    calibrated by jobs in like circumstances, corrected by past queues, or replay where too few past jobs are comparable. replayed: the
    quantiles by replays alone. similar_mean_s,
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
    number: int = -1,
) -> WaitAnswer:
    """The wait of a job submitted at a moment. user: its number, -1 for nobody in particular. request: seconds, below 1 for none. watch:
    as in `pool_of`. number: by which the replays know the job.

    Neighbours take thousands of replays, for which only those over a row of processors are quick enough. Others are corrected as those
    of a queue are. Raises ValueError for a job that never fits, and as the replays do."""
    if procs > history.cluster_procs:
        raise ValueError(
            f"a job of {procs} processors can never start on a cluster of {history.cluster_procs}: ask for fewer"
        )
    state = state_at(history, moment).with_job(procs, request, user, number)
    samples, seed, starts = replays
    replayed = starts(state, samples, seed)[:, -1]
    if not isinstance(starts, RowStarts):
        return _corrected(history, state, replayed, (procs, request), replays, 0)
    pool = pool_of(history, pool_numbers(history, moment), seed, starts, watch)
    past = waits_of_neighbours(pool, features_of(history, state, -1, replayed), user, moment)
    similar = similar_waits(history, procs, request, moment)
    if past.quantiles is not None:
        past = past._replace(quantiles=IntervalEnds(pool).moved(past.quantiles, moment))
    return _answer(state, replayed, past, similar, 0)


def queued_job_wait(history: History, moment: int, number: int, replays: QueueReplays) -> WaitAnswer:
    """The wait, from its submission, of a job of the log that waits at a moment: as that of a queue, corrected by queues of the past.

    Raises ValueError as the replays do."""
    state = state_at(history, moment)
    position = int(np.flatnonzero(state.waiting.number == number)[0])
    replayed = replays.starts(state, replays.samples, replays.seed)[:, position]
    asked = int(history.procs[number]), int(history.request[number])
    return _corrected(history, state, replayed, asked, replays, moment - int(history.submit[number]))


def _corrected(
    history: History, state: State, replayed: FloatArray, asked: tuple[int, int], replays: QueueReplays, waited: int
) -> WaitAnswer:
    """The answer by replays of one job, corrected by queues of the past. replayed: seconds from now to its starts. asked: its processors
    and its request."""
    if not np.isfinite(replayed).any():
        raise ValueError(
            "the job starts in none of the replays: a limit or a lack of nodes keeps it for ever (`tracehouse why`)"
        )
    replayed = np.minimum(replayed, LONGEST_S)
    correction = correction_of(history, state.now, replays.seed, replays.starts)
    similar = similar_waits(history, *asked, state.now)
    past = PastWaits(None, None, 0) if correction is None else corrected_wait(replayed, correction, waited)
    answer = _answer(state, replayed + waited, past, similar, waited)
    return answer if correction is None else replace(answer, told_by="corrected")


def corrected_wait(replayed: FloatArray, correction: Correction, waited: int = 0) -> PastWaits:
    """The distribution of the wait of a job by its replays, with the mean that these have. replayed: seconds from now to its starts, all of
    them finite. waited: seconds before."""
    quantiles = waited + np.minimum(start_interval(replayed[:, None], correction, POINTS)[0], LONGEST_S)
    return PastWaits(quantiles, waited + float(replayed.mean()), correction.jobs)


def _answer(state: State, replayed: FloatArray, past: PastWaits, similar: IntArray, waited: int) -> WaitAnswer:
    by_replay = np.quantile(replayed, POINTS)
    quantiles, told_by = (by_replay, "replay") if past.quantiles is None else (past.quantiles, "calibrated")
    mean_s = max(float(replayed.mean()) if past.mean_s is None else past.mean_s, float(quantiles[0]))
    mean, median = (float(similar.mean()), float(np.median(similar))) if len(similar) else (None, None)
    return WaitAnswer(state, quantiles, mean_s, told_by, past.jobs, by_replay, mean, median, waited)


# --- queue starts


INTERVAL = (0.1, 0.5, 0.9)
"""Levels of what is said of each job; the first and the last bound the 80 % interval."""
PAST_QUEUES, PAST_SAMPLES, PAST_JOBS = 40, 10, 50
"""Queues of the past that an interval is corrected by, how often each is replayed, and how many jobs of each count."""
MOST_PAST_REPLAYED, LEAST_PAST_SAMPLES = 1000, 4
"""Waiting jobs of all replays of a past queue, and how often a longer one is replayed."""
MOST_OF_PAST = 4000
"""Waiting jobs of all past queues together, where a cluster's own scheduler or limits replay: fewer queues count where they are longer."""
MOST_REPLAYED, LEAST_SAMPLES = 10_000, 20
"""Waiting jobs of all replays of the queue of now. Of one that is longer fewer replays are made, and at least so many."""
LEAST_PAST_QUEUES = 10
LONGEST_S = 366.0 * 86_400
"""In place of the end of a wait that some replays never end."""
LEAST_SCALE_S = 60.0
"""The least that is added to waits before logarithms are taken, in place of a usual wait: nobody minds a minute."""


@dataclass(frozen=True)
class Correction:
    """How much later than those of replays alone the ends of intervals are, as logarithms of (wait + scale). They may be below 0.

    scale_s: seconds. queues, jobs: of the past, that it comes from."""

    low: float
    high: float
    scale_s: float
    queues: int
    jobs: int


def start_interval(starts: FloatArray, correction: Correction | None, points: Sequence[float] = INTERVAL) -> FloatArray:
    """Seconds from now to the start at levels around the median, float64 (waiting jobs, levels). starts: of QueueStarts. correction: None
    for the replays alone. The median stays that of the replays. Levels between it and an end move by their share of the way."""
    quantiles = np.quantile(starts, points, axis=0, method="higher").T
    if correction is None:
        return quantiles
    median = np.quantile(starts, 0.5, axis=0, method="higher")[:, None]
    later = np.interp(points, INTERVAL, (correction.low, 0.0, correction.high))
    scale_s = correction.scale_s
    moved = np.maximum(np.exp(np.log(quantiles + scale_s) + later) - scale_s, 0.0)
    is_low, is_high = (sign * np.array(points) < sign * INTERVAL[1] for sign in (1, -1))
    moved = np.where(is_low, np.minimum(moved, median), np.where(is_high, np.maximum(moved, median), median))
    # what lies between an end and the median stays between them
    moved[:, is_low] = np.maximum.accumulate(moved[:, is_low], axis=1)
    moved[:, is_high] = np.minimum.accumulate(moved[:, is_high][:, ::-1], axis=1)[:, ::-1]
    return moved


def correction_of(history: History, moment: int, seed: int, starts: QueueStarts = ROW) -> Correction | None:
    """The correction that makes 8 of 10 intervals of past queues hold, with a tenth on either side (conformalized quantiles, Romano,
    Patterson and Candès 2019).

    The queues are those that the last part of the log's jobs met at their submission, before `moment`. Each queue counts the same. Of a job
    that had not started by then, it is known that it waits longer. None where fewer than LEAST_PAST_QUEUES had jobs that started.
    Raises ValueError as the replays do.
    """
    moments = past_moments(history, moment)
    if not isinstance(starts, RowStarts):
        moments = affordable(moments, [len(state_at(history, second).waiting) for second in moments], MOST_OF_PAST)
    past = [past_queue(history, second, [seed, second], starts) for second in moments]
    return correction_by(history, moment, [each for each in past if each is not None])


class PastQueue(NamedTuple):
    """Jobs that waited at a second of the past, and what replays said of them then. ends: seconds to their starts at INTERVAL, float64
    (jobs, 3)."""

    second: int
    numbers: IntArray
    ends: FloatArray


def past_queue(history: History, second: int, seed: list[int], starts: QueueStarts) -> PastQueue | None:
    """The queue at a second. None where nobody waits, or nobody starts in the replays. Raises ValueError as these do."""
    state = state_at(history, second)
    if not len(state.waiting):
        return None
    samples = PAST_SAMPLES if len(state.waiting) * PAST_SAMPLES <= MOST_PAST_REPLAYED else LEAST_PAST_SAMPLES
    return queue_said(state, starts(state, samples, seed))


def affordable(those: Sequence[int], jobs: Sequence[int], most: int) -> list[int]:
    """As many of those, evenly, as have at most so many jobs together. jobs: of each."""
    share = min(1.0, most / max(sum(jobs), 1))
    return [those[k] for k in np.unique(np.linspace(0, len(those) - 1, int(share * len(those))).astype(int))]


def samples_of(samples: int, jobs: int) -> int:
    """How many replays a queue of so many jobs gets, of those that are asked for."""
    return max(min(samples, LEAST_SAMPLES), min(samples, MOST_REPLAYED // max(jobs, 1)))


def queue_said(state: State, starts: FloatArray) -> PastQueue | None:
    """A queue with what replays of it say, as `past_queue` has it. starts: of QueueStarts."""
    ends = start_interval(starts, None)
    start = np.isfinite(ends).all(axis=1)
    return PastQueue(state.now, state.waiting.number[start], ends[start]) if start.any() else None


def correction_by(history: History, moment: int, queues: Sequence[PastQueue]) -> Correction | None:
    """The correction by these queues of the past, as it is known at a moment.

    Errors grow with waits, but no further than to a usual wait down: where a replay says at once and the job waits for ten hours, another
    one that is to wait for two does not wait for weeks."""
    waits = [np.minimum(history.leaves[queue.numbers], moment) - queue.second for queue in queues]
    scale_s = max(float(np.median(np.concatenate(waits))), LEAST_SCALE_S) if queues else LEAST_SCALE_S
    errors = [each for queue in queues if len(each := _errors(history, queue, moment, scale_s))]
    if len(errors) < LEAST_PAST_QUEUES:
        return None
    weight = np.concatenate([np.full(len(each), 1 / len(each)) for each in errors])
    low, high, started = np.concatenate(errors).T
    ends = (
        float(quantiles_of(*shares_still(late, started > 0, weight), (level,))[0])
        for late, level in ((low, INTERVAL[0]), (high, INTERVAL[-1]))
    )
    return Correction(next(ends), next(ends), scale_s, len(errors), len(weight))


def past_moments(history: History, moment: int) -> list[int]:
    """Submissions of the last third of the jobs before a moment, PAST_QUEUES of them at most, evenly over the jobs."""
    last = int(np.searchsorted(history.submit, moment, side="left"))
    first = min(last - last // 3, last - 1)
    return (
        sorted({int(history.submit[number]) for number in np.linspace(first, last - 1, PAST_QUEUES).astype(int)})
        if last
        else []
    )


def _errors(history: History, queue: PastQueue, moment: int, scale_s: float) -> FloatArray:
    """Of the jobs of a past queue that were not cancelled by a moment how much later than the low and the high end they started, as
    logarithms, and whether they had by then, float64 (jobs, 3). Those that still wait start at least as much later."""
    started = history.start[queue.numbers] < NEVER_STARTED
    seen = np.flatnonzero(started | (history.leaves[queue.numbers] > moment))
    seen = seen[np.linspace(0, len(seen) - 1, min(PAST_JOBS, len(seen))).astype(int)] if len(seen) else seen
    start, ends = history.start[queue.numbers[seen]], queue.ends[seen]
    true = np.log(np.minimum(start, moment) - queue.second + scale_s)
    late = (true - np.log(end + scale_s) for end in (ends[:, 0], ends[:, -1]))
    return np.column_stack([*late, start <= moment])
