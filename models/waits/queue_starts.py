"""When the jobs that wait now will start, with an interval that is corrected by the queues of the past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.runtime.predictor import FloatArray
from models.waits.history import NEVER_STARTED, History, IntArray, State, state_at
from models.waits.replays import queue_start_times
from simulator.policies.registry import Policy, parse_policy

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
