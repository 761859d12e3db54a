"""How long jobs of a queue wait in replays of it, with run times drawn from their predicted quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.runtime.predictor import LEVELS, FloatArray
from models.waits.history import IntArray, JobSet, State
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy, parse_policy

TIMELESS = ("FCFS", "LCFS", "SJF", "LJF", "smallest", "largest", "SAF", "SEXP", "LEXP", "WFP3", "UNICEP")
"""Policies whose order depends neither on when the replay takes place nor on earlier usage."""


class QueueStarts(Protocol):
    """Replays of a queue."""

    def __call__(self, state: State, samples: int, seed: int | Sequence[int]) -> FloatArray:
        """Seconds from now until each waiting job starts, in `samples` replays, float64 (samples, waiting jobs). Infinite for a job that
        never starts. The same seed draws the same run times."""


@dataclass(frozen=True)
class RowStarts:
    """Replays over a row of processors."""

    policy: Policy = field(default_factory=lambda: parse_policy("FCFS"))
    backfill: str = "easy"

    def __call__(self, state: State, samples: int, seed: int | Sequence[int]) -> FloatArray:
        """As QueueStarts. Raises ValueError as `simulator.engine.replay.replay` does.

        The estimate is the request, or the run time where there is none. The jobs run as long as is drawn, and no other job comes. All
        waiting jobs count as submitted now, in their order. So policies that look at the wait see only the wait from now on."""
        fits = state.waiting.procs <= state.cluster_procs
        return starts_of_fitting(
            state, fits, samples, lambda part: _row_starts(part, samples, seed, self.policy, self.backfill)
        )


def starts_of_fitting(
    state: State, fits: NDArray[np.bool_], samples: int, starts: Callable[[State], FloatArray]
) -> FloatArray:
    """As QueueStarts, where some jobs can never start. fits: which can, bool (waiting jobs,). starts: of a queue of these alone."""
    if fits.all():
        return starts(state)
    never = np.full((samples, len(fits)), np.inf)
    if fits.any():
        never[:, fits] = starts(replace(state, waiting=state.waiting.only(fits)))
    return never


ROW = RowStarts()


def draw_runtimes(jobs: JobSet, elapsed: IntArray, samples: int, rng: np.random.Generator) -> IntArray:
    """Run times from the predicted quantiles, each longer than what has elapsed (seconds, (jobs,)), as int64 (samples, jobs).

    The logarithm is linear between the levels. Below the lowest it continues as above it, down to 1 s. Above the highest it continues to
    the request. Without one it continues as far as from the last level but one. A job that has run longer than all that continues for up
    to a tenth of its age and a minute.
    """
    logs = np.log(np.maximum(jobs.quantiles, 1.0))
    low = np.maximum(2 * logs[:, :1] - logs[:, 1:2], 0.0)
    request = np.log(np.maximum(jobs.request, 1))[:, None]
    high = np.where(jobs.request[:, None] >= 1, np.maximum(request, logs[:, -1:]), 2 * logs[:, -1:] - logs[:, -2:-1])
    table = np.concatenate([low, logs, high], axis=1)
    levels = np.concatenate([[0.0], LEVELS, [1.0]])

    age = np.log(np.maximum(elapsed, 1))[:, None]
    begun = elapsed > 0
    row = np.arange(len(jobs))
    place = np.clip((table <= age).sum(axis=1) - 1, 0, len(levels) - 2)
    width = np.maximum(table[row, place + 1] - table[row, place], 1e-12)
    passed = levels[place] + np.diff(levels)[place] * np.clip((age[:, 0] - table[row, place]) / width, 0.0, 1.0)
    outlived = begun & (age[:, 0] >= table[:, -1])

    uniform = rng.random((samples, len(jobs)))
    level = np.where(begun, passed, 0.0) + uniform * (1.0 - np.where(begun, passed, 0.0))
    segment = np.clip(np.searchsorted(levels, level, side="right") - 1, 0, len(levels) - 2)
    share = (level - levels[segment]) / np.diff(levels)[segment]
    drawn = np.exp(table[row, segment] + share * (table[row, segment + 1] - table[row, segment]))
    drawn = np.where(outlived, elapsed + uniform * (60 + 0.1 * elapsed), drawn)
    return np.maximum(np.rint(drawn).astype(np.int64), elapsed + 1)


def _row_starts(state: State, samples: int, seed: int | Sequence[int], policy: Policy, backfill: str) -> FloatArray:
    running, waiting = state.running, state.waiting
    rng = np.random.default_rng(seed)
    elapsed = state.now - running.since
    held = draw_runtimes(running, elapsed, samples, rng)
    queued = draw_runtimes(waiting, np.zeros(len(waiting), dtype=np.int64), samples, rng)
    held_limit, queued_limit = np.maximum(held, running.request), np.maximum(queued, waiting.request)
    procs = max(state.cluster_procs, state.busy_procs)  # a log may use more for a few seconds
    nobody = max(running.user.max(initial=0), waiting.user.max(initial=0)) + 1
    user = np.where(waiting.user >= 0, waiting.user, nobody)
    if policy.name in TIMELESS:
        # All samples in one replay, one after the other on an empty machine, which saves most of the work around a replay.
        # Jobs that already run are submitted a second before the queue, and run for the rest of their run time.
        apart = int((held.sum(axis=1) + queued.sum(axis=1)).max()) + 2
        begin = state.now + 1 + apart * np.arange(samples)
        submit = np.repeat(begin[:, None], len(running) + len(waiting), axis=1)
        submit[:, : len(running)] -= 1
        limit = np.concatenate([held_limit - elapsed + 1, queued_limit], axis=1).ravel()
        width = np.tile(np.concatenate([running.procs, waiting.procs]), samples)
        runtime = np.concatenate([held - elapsed + 1, queued], axis=1).ravel()
        jobs = Jobs(submit.ravel(), runtime, width, limit, limit)
        start = replay(jobs, procs, policy, backfill).start.reshape(samples, -1)[:, len(running) :]
        return (start - begin[:, None]).astype(np.float64)
    submit = np.full(len(waiting), state.now)
    starts = np.empty((samples, len(waiting)))
    for k in range(samples):
        limit = queued_limit[k]
        jobs = Jobs(submit, queued[k], waiting.procs, limit, limit, user=user)
        runs = RunningJobs(running.since, held[k], running.procs, held_limit[k], held_limit[k], running.user)
        starts[k] = replay(jobs, Cluster(procs, runs), policy, backfill).start
    return starts - state.now
