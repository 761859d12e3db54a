"""Who overtakes whom: what decides, of two jobs that wait beside room for both, which starts first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.identification.logged_jobs import HeldMoments, StartedJobs
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.policies.scoring import FIXED

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

FEWEST_PAIRS = 200
RECENT_USE_S = 7 * 86_400
"""How far back a user's recent use goes."""
ALIKE = 2
"""Jobs of a pair differ by this factor at most in processors and in requested time: if one may be backfilled, so may the other."""
RIDGE, STEPS = 1e-3, 25
SURE = 4.0
"""Standard errors that a weight is away from nothing, so that it is reported."""
BEFORE_S = 1 << 40
"""How much earlier jobs of a queue that goes first seem to have come, for each place. Longer than any log."""


@dataclass(frozen=True)
class OrderEvidence:
    """Of pairs of waiting jobs that are of about the same size, one of which started first.

    pairs: how many. names: what a pair differs in. weights: of a logistic model, for one standard deviation of each; positive where more of
    it goes first. errors: their standard errors.
    """

    pairs: int
    names: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()

    def surely(self, name: str) -> int:
        """1 where more of it surely goes first, -1 where less of it does."""
        for each, weight, error in zip(self.names, self.weights, self.errors, strict=True):
            if each == name and abs(weight) > SURE * error:
                return 1 if weight > 0 else -1
        return 0


def order_evidence(log: StartedJobs, moments: HeldMoments) -> OrderEvidence:
    """The evidence of the first start behind each moment at which a job waited beside room for it."""
    first, second = _pairs(log, moments)
    if len(first) < FEWEST_PAIRS:
        return OrderEvidence(len(first))
    names, columns = ["age", "processors", "request"], []
    when = log.start[first]
    for values in (-log.jobs.submit.astype(float), np.log2(log.jobs.procs), np.log2(np.maximum(log.jobs.limit, 1))):
        columns.append(values[first] - values[second])
    if "user" in log.holders:
        names.append("recent use")
        use = [np.log1p(_recent_use(log, job, when)) for job in (first, second)]
        columns.append(use[0] - use[1])
    queues = log.holders.get("queue")
    if queues is not None and 1 < len(queues.names) <= 8:
        for number, name in enumerate(queues.names[1:], 1):
            names.append(f"queue {name}")
            columns.append((queues.number[first] == number).astype(float) - (queues.number[second] == number))
    table = np.stack(columns, axis=1)
    spread = table.std(axis=0)
    kept = spread > 0
    weights, errors = _logistic(table[:, kept] / spread[kept])
    return OrderEvidence(
        len(first), tuple(n for n, keep in zip(names, kept, strict=True) if keep), tuple(weights), tuple(errors)
    )


def _pairs(log: StartedJobs, moments: HeldMoments) -> tuple[IntArray, IntArray]:
    """Jobs that started first, and those that waited meanwhile."""
    order = np.argsort(log.start, kind="stable")
    place = np.searchsorted(log.start[order], moments.second, side="right")
    inside = place < len(order)
    second, moment = moments.job[inside], moments.second[inside]
    first = order[place[inside]]
    jobs = log.jobs
    fair = (first != second) & (jobs.submit[first] <= moment) & (log.start[first] < log.start[second])
    for values in (jobs.procs, np.maximum(jobs.limit, 1)):
        fair &= (values[first] <= ALIKE * values[second]) & (values[second] <= ALIKE * values[first])
    return first[fair], second[fair]


def _recent_use(log: StartedJobs, job: IntArray, when: IntArray) -> FloatArray:
    """Processor-seconds of jobs of a job's user that ended in RECENT_USE_S before a second."""
    user, end = log.holders["user"].number, log.start + log.jobs.runtime
    keys = np.maximum(user, 0) * (1 << 34) + end
    order = np.argsort(keys, kind="stable")
    total = np.concatenate([[0.0], np.cumsum((log.jobs.procs * log.jobs.runtime)[order].astype(float))])
    base = np.maximum(user[job], 0) * (1 << 34)
    until, since = (np.searchsorted(keys[order], base + np.maximum(x, 0)) for x in (when, when - RECENT_USE_S))
    return total[until] - total[since]


def _logistic(table: FloatArray) -> tuple[list[float], list[float]]:
    """Weights under which each row's first job is likelier to go first, and their standard errors, by Newton's method."""
    weights = np.zeros(table.shape[1])
    hessian = np.eye(table.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        hessian = (table * (chance * (1 - chance))[:, None]).T @ table + RIDGE * len(table) * np.eye(len(weights))
        step = np.linalg.solve(hessian, table.T @ (1 - chance) - RIDGE * len(table) * weights)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights.tolist(), np.sqrt(np.diag(np.linalg.inv(hessian))).tolist()


def queue_policy(log: StartedJobs, first: Sequence[str]) -> Policy:
    """First come, first served within a queue; queues go in the order of `first`, and others behind them."""
    queues = log.holders["queue"]
    place = np.array([first.index(name) if name in first else len(first) for name in queues.names] + [len(first)])
    late = place[queues.number] * BEFORE_S

    def score(jobs: Jobs, cluster_procs: int) -> IntArray:
        return jobs.submit + late

    return Policy("queues", FIXED, score)
