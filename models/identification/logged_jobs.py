"""The jobs of a log as the search for rules takes them: with what happened to them, and whose they are.

What each holder had at any moment of a log, and the moments at which a job waited although the cluster had room for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.identification.rules import OUTSTANDING_CPU, RUNNING_CPU, RUNNING_JOBS
from models.judging.fidelity import NO_REACTION, Reacting
from simulator.jobs.jobs import Jobs

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Holders:
    """Of each job its user (account, group, queue): a place in `names`, or -1 for nobody. number: int64 (jobs,)."""

    number: IntArray
    names: tuple[str, ...]


@dataclass(frozen=True)
class StartedJobs:
    """jobs: in order of submission, all of which started. start: int64 (jobs,), when they did, seconds of the log's clock.

    holders: by "user", "account", "group" and "queue", as far as the log has them. zero_s: UTC second of the log's second 0, None where
    the log does not say. time_zone: of the cluster. reacting: the users of the whole log, who cap grades.

    Raises ValueError where the columns have different lengths.
    """

    jobs: Jobs
    start: IntArray
    holders: Mapping[str, Holders] = field(default_factory=dict)
    zero_s: int | None = None
    time_zone: str = "UTC"
    reacting: Reacting = NO_REACTION

    def __post_init__(self) -> None:
        for name, column in (("start", self.start), *((key, each.number) for key, each in self.holders.items())):
            if len(column) != len(self.jobs):
                raise ValueError(f"{name} has {len(column)} values, the log has {len(self.jobs)} jobs")

    @property
    def wait(self) -> IntArray:
        """Seconds that each job waited, int64 (jobs,)."""
        return self.start - self.jobs.submit

    def first(self, count: int) -> StartedJobs:
        """The first jobs alone."""
        holders = {scope: Holders(each.number[:count], each.names) for scope, each in self.holders.items()}
        return StartedJobs(self.jobs.window(0, count), self.start[:count], holders, self.zero_s, self.time_zone)


# --- levels


FloatArray = NDArray[np.float64]

KEY_SPAN_S = 1 << 34
"""Longer than any log. Keys of holder and second are holder times this, plus the second."""
SHORTEST_WAIT_S = 60
"""Whoever waits less may just have waited for the scheduler to look."""
MOMENTS_OF_A_WAIT = 4
"""Of each wait."""


class RunningSums:
    """Sums of amounts of each holder at any moment. holder: int64 (jobs,), -1 for nobody. begin, end: when a job's amounts count."""

    def __init__(self, holder: IntArray, begin: IntArray, end: IntArray, amounts: tuple[IntArray, ...]) -> None:
        has_holder = holder >= 0
        holder, begin, end = holder[has_holder], begin[has_holder], end[has_holder]
        holders = np.concatenate([holder, holder])
        keys = holders * KEY_SPAN_S + np.concatenate([begin, end])
        order = np.argsort(keys, kind="stable")
        self.keys, count = keys[order], int(holder.max(initial=-1)) + 1
        first = np.searchsorted(holders[order], np.arange(count + 1))
        self.sums, self.before = [], []
        for amount in amounts:
            own = amount[has_holder]
            total = np.concatenate([[0], np.cumsum(np.concatenate([own, -own])[order])])
            self.sums.append(total)
            self.before.append(total[first])

    def at(self, holder: IntArray, second: IntArray) -> list[IntArray]:
        """The sums just behind what happens in a second, one array for each amount."""
        place = np.searchsorted(self.keys, holder * KEY_SPAN_S + second, side="right")
        return [total[place] - before[holder] for total, before in zip(self.sums, self.before, strict=True)]


class HolderLevels:
    """Running jobs, their processors, outstanding processor-seconds, and waiting jobs, of each holder of a scope."""

    def __init__(self, log: StartedJobs, holder: IntArray) -> None:
        jobs, one = log.jobs, np.ones(len(log.jobs), dtype=np.int64)
        promise = jobs.procs * (log.start + jobs.limit)
        self.running = RunningSums(holder, log.start, log.start + jobs.runtime, (one, jobs.procs, promise))
        self.queued = RunningSums(holder, jobs.submit, log.start, (one,))

    def at(self, holder: IntArray, second: IntArray) -> dict[str, IntArray]:
        """What running jobs have, by kind of limit."""
        count, procs, promise = self.running.at(holder, second)
        return {RUNNING_JOBS: count, RUNNING_CPU: procs, OUTSTANDING_CPU: promise - procs * second}

    def waiting(self, holder: IntArray, second: IntArray) -> IntArray:
        """How many jobs wait."""
        return self.queued.at(holder, second)[0]


def need_of(log: StartedJobs, job: IntArray) -> dict[str, IntArray]:
    """What a job adds when it starts, by kind of limit."""
    procs, limit = log.jobs.procs[job], log.jobs.limit[job]
    return {RUNNING_JOBS: np.ones(len(job), dtype=np.int64), RUNNING_CPU: procs, OUTSTANDING_CPU: procs * limit}


@dataclass(frozen=True)
class HeldMoments:
    """Moments at which a job waited beside room for it. job, second: int64 (moments,). weight: seconds of waiting that each stands for."""

    job: IntArray
    second: IntArray
    weight: FloatArray


def held_moments(log: StartedJobs, procs: int) -> HeldMoments:
    """MOMENTS_OF_A_WAIT of each wait, those with room. procs: of the cluster."""
    wait = log.wait
    waited = np.flatnonzero(wait >= SHORTEST_WAIT_S)
    job = np.repeat(waited, MOMENTS_OF_A_WAIT)
    part = (
        np.tile(np.arange(MOMENTS_OF_A_WAIT), len(waited)) + np.random.default_rng(1).random(len(job))
    ) / MOMENTS_OF_A_WAIT
    second = log.jobs.submit[job] + (part * wait[job]).astype(np.int64)
    nobody = np.zeros(len(wait), dtype=np.int64)
    used = RunningSums(nobody, log.start, log.start + log.jobs.runtime, (log.jobs.procs,))
    has_room = procs - used.at(nobody[job], second)[0] >= log.jobs.procs[job]
    return HeldMoments(job[has_room], second[has_room], wait[job][has_room] / MOMENTS_OF_A_WAIT)
