"""The logs that a search of programs learns from, and what a program gains and costs on one of them.

A log is replayed from its first job under FCFS with EASY and under the program. Copies of a log differ as another month would: they start
later, jobs come a little earlier or later, more or less often, and requests are exchanged among jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.judging.intervals import WAIT_OFFSET_S
from models.judging.panel import (
    FEWEST_JOBS_OF_A_CLASS,
    FEWEST_JOBS_OF_A_USER,
    SMALL_SHARE,
    TIME_EDGES_S,
    USERS_LEAST_S,
    USERS_SHARE,
    WIDE_SHARE,
)
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.metrics.metrics import bounded_slowdown
from simulator.policies.registry import Policy

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

BEFORE_SCORED = 5
"""One job of so many, at the beginning, lets queues form and is not scored."""
JITTER_S = 1800
LOAD_CHANGE = 0.10
SCRAMBLED_SHARE = 0.2


class ProgramOutcome(NamedTuple):
    """Ratios of a program over FCFS with EASY, on the scored jobs of one log.

    p99: of the job whose wait 99 % do not exceed. worst_class: of the mean waits of the class of jobs, by size and run time, that does
    worst. users: 1 plus the share of the users who wait longer, less the share of those who wait less. The others are as in
    models.judging.verdict.Ratios.
    """

    slowdown: float
    wait: float
    p99: float
    longest: float
    work: float
    wide: float
    worst_class: float
    users: float


@dataclass(frozen=True)
class LearningLog:
    """Jobs and the processors that they run on. first_scored: position of the first job that counts, by default after a fifth."""

    name: str
    jobs: Jobs
    procs: int
    first_scored: int | None = None

    def outcome(self, policy: str | Policy) -> ProgramOutcome:
        """What a policy does to the scored jobs. Raises FormulaError where a formula fails."""
        ours, theirs = self._measured(policy), self._incumbent
        ratios = [float(a / b) if b > 0 else 1.0 for a, b in zip(ours.averages, theirs.averages, strict=True)]
        classes = (ours.classes + WAIT_OFFSET_S) / (theirs.classes + WAIT_OFFSET_S)
        change = ours.users - theirs.users
        matters = (np.abs(change) > USERS_LEAST_S) & (np.abs(change) > USERS_SHARE * theirs.users)
        balance = float(np.sign(change[matters]).sum()) / max(len(change), 1)
        return ProgramOutcome(*(*ratios, float(classes.max(initial=0.0)), 1.0 + balance))

    @cached_property
    def _incumbent(self) -> _Measured:
        return self._measured("FCFS")

    @cached_property
    def _scored(self) -> slice:
        first = len(self.jobs) // BEFORE_SCORED if self.first_scored is None else self.first_scored
        return slice(first, len(self.jobs))

    @cached_property
    def _groups(self) -> tuple[IntArray, IntArray]:
        """The number of each scored job's class and user, -1 where that has too few jobs."""
        jobs, cut = self.jobs, self._scored
        procs, runtime = jobs.procs[cut], jobs.runtime[cut]
        size = np.searchsorted((SMALL_SHARE * self.procs, WIDE_SHARE * self.procs), procs, side="left") + 1
        size[procs <= 1] = 0
        length = np.searchsorted(TIME_EDGES_S, runtime, side="right")
        return (
            _numbered(size * (len(TIME_EDGES_S) + 1) + length, FEWEST_JOBS_OF_A_CLASS),
            _numbered(jobs.user[cut], FEWEST_JOBS_OF_A_USER),
        )

    def _measured(self, policy: str | Policy) -> _Measured:
        jobs, cut = self.jobs, self._scored
        start = replay(jobs, self.procs, policy, "easy").start
        wait = (start - jobs.submit)[cut].astype(np.float64)
        runtime, procs = jobs.runtime[cut], jobs.procs[cut]
        work, wide = runtime.astype(np.float64) * procs, procs > WIDE_SHARE * self.procs
        averages = (
            bounded_slowdown(wait, runtime).mean(),
            wait.mean(),
            np.partition(wait, rank := int(np.ceil(0.99 * len(wait))) - 1)[rank],
            wait.max(),
            np.average(wait, weights=work),
            wait[wide].mean() if wide.any() else 0.0,
        )
        return _Measured(averages, *(_means(group, wait) for group in self._groups))


class _Measured(NamedTuple):
    averages: tuple[float, ...]  # bounded slowdown and waits, in the order of ProgramOutcome
    classes: FloatArray
    users: FloatArray


def perturbed_copies(log: LearningLog, seed: int) -> list[LearningLog]:
    """A later start, moved submissions, a tenth more and less load, exchanged requests. Same seed, same copies."""
    rng = np.random.default_rng(seed)
    jobs = log.jobs
    later = jobs.window(len(jobs) // 9, len(jobs))
    moved = np.maximum(jobs.submit + rng.integers(-JITTER_S, JITTER_S + 1, len(jobs)), 0)
    begin = int(jobs.submit[0])

    def paced(factor: float) -> Jobs:
        return with_submissions(jobs, begin + ((jobs.submit - begin) / factor).astype(np.int64))

    copies: dict[str, Callable[[], Jobs]] = {
        "later start": lambda: later,
        "moved": lambda: with_submissions(jobs, moved),
        "more load": lambda: paced(1 + LOAD_CHANGE),
        "less load": lambda: paced(1 - LOAD_CHANGE),
        "exchanged requests": lambda: with_exchanged_requests(jobs, rng),
    }
    return [LearningLog(f"{log.name}, {name}", copy(), log.procs) for name, copy in copies.items()]


def with_submissions(jobs: Jobs, submit: IntArray) -> Jobs:
    """The jobs submitted at other times, in the order of these. submit: seconds, int64 (jobs,)."""
    order = np.argsort(submit, kind="stable")
    columns = ("runtime", "procs", "estimate", "limit", "user", "hold", "admit")
    return Jobs(submit=submit[order], origin=jobs.origin, **{name: getattr(jobs, name)[order] for name in columns})


def with_exchanged_requests(jobs: Jobs, rng: np.random.Generator) -> Jobs:
    """Some of the jobs exchange how many times as much time as they need they request, a share of SCRAMBLED_SHARE."""
    some = np.flatnonzero(rng.random(len(jobs)) < SCRAMBLED_SHARE)
    factor = jobs.estimate[some] / np.maximum(jobs.runtime[some], 1)
    estimate = jobs.estimate.copy()
    estimate[some] = np.maximum(np.maximum(jobs.runtime[some], 1) * rng.permutation(factor), 1)
    longest = int(jobs.estimate.max(initial=1))
    estimate = np.minimum(estimate, longest)
    return replace(jobs, estimate=estimate, limit=np.maximum(jobs.runtime, estimate), hold=estimate, admit=estimate)


def _numbered(groups: IntArray, fewest: int) -> IntArray:
    _, number, counts = np.unique(groups, return_inverse=True, return_counts=True)
    large = counts >= fewest
    return np.where(large, np.cumsum(large) - 1, -1)[number]


def _means(group: IntArray, wait: FloatArray) -> FloatArray:
    counted = group >= 0
    counts = np.bincount(group[counted])
    return np.bincount(group[counted], wait[counted]) / np.maximum(counts, 1)
