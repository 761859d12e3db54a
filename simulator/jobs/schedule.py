"""What a replay decides: when jobs start, and where they run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

CANCELLED = -1
"""`start` of a job that was cancelled while it waited."""


@dataclass(frozen=True)
class Schedule:
    """start: start time of each job, seconds in the log's clock, or CANCELLED, int64 (num_jobs,).

    backfilled: True where the job started while one ahead of it in the queue stayed waiting, bool (num_jobs,).
    suspended: when each job was suspended and for how many seconds, int64 (num_jobs,) both; 0 seconds for never. A job that was suspended
    more than once is as if it had been once, until it went on for the last time. None where the scheduler suspends none.
    """

    start: NDArray[np.int64]
    backfilled: NDArray[np.bool_]
    suspended: tuple[IntArray, IntArray] | None = None

    def part(self, jobs: slice | IntArray) -> Schedule:
        """Of some of the jobs."""
        suspended = None if self.suspended is None else (self.suspended[0][jobs], self.suspended[1][jobs])
        return Schedule(self.start[jobs], self.backfilled[jobs], suspended)

    @property
    def suspended_s(self) -> IntArray:
        """Seconds between start and end of each job in which it had no processors, int64 (num_jobs,)."""
        return np.zeros(len(self.start), dtype=np.int64) if self.suspended is None else self.suspended[1]

    @property
    def started(self) -> NDArray[np.bool_]:
        """True for every job that was not cancelled, bool (num_jobs,)."""
        return self.start != CANCELLED


@dataclass(frozen=True)
class Placement:
    """The units of every job of a schedule, and what they cost. Jobs that were cancelled have none.

    size: units of each job, int64 (jobs,). unit: units of all jobs, one job after the other, each ascending, int64 (sum of sizes,);
    those of job j are `unit[first_unit[j] : first_unit[j + 1]]`. hops: pair hops, int64 (jobs,). leaves, pods: switches above
    the units, int64 (jobs,). scattered: no contiguous block held the job, bool (jobs,).
    time: seconds of the starts of jobs and outages, int64 (starts,), non-decreasing. idle, broken: idle units then, and those of them
    in leaves that are partly used, before the start, int64 (starts,).
    """

    size: IntArray
    first_unit: IntArray
    unit: IntArray
    hops: IntArray
    leaves: IntArray
    pods: IntArray
    scattered: NDArray[np.bool_]
    time: IntArray
    idle: IntArray
    broken: IntArray

    @property
    def hop_cost(self) -> NDArray[np.float64]:
        """C of equation 1 for each job, float64 (jobs,). A cancelled job has 0."""
        return 2.0 * self.hops / np.maximum(self.size, 1)

    def units_of(self, job: int) -> IntArray:
        """The units of one job, ascending."""
        return self.unit[self.first_unit[job] : self.first_unit[job + 1]]
