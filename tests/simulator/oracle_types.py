"""What the oracle reads: jobs, outages and workloads as plain tuples that print well when a test fails.

All times are whole seconds in the log's own clock, all sizes are whole processors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from simulator.jobs.cluster import FOREVER, Cluster, Outages, RunningJobs
from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import NEVER, Jobs

CORRECTIONS = ("requested", "increments", "doubling")

MINUTE_S, HOUR_S = 60, 3600
INCREMENTS_S = (
    MINUTE_S,
    5 * MINUTE_S,
    15 * MINUTE_S,
    30 * MINUTE_S,
    HOUR_S,
    2 * HOUR_S,
    5 * HOUR_S,
    10 * HOUR_S,
    20 * HOUR_S,
    50 * HOUR_S,
    100 * HOUR_S,
)


class Job(NamedTuple):
    """One job of the workload: `order` is its place in the log; times in s; `cancel` None: it waits until it starts.

    admit: by which it may go before a blocked head; None: its estimate. after: the order of the job that it follows, `think` s after that
    has left; `submit` and `cancel` are then those of the log. None: it comes at `submit`.
    """

    order: int
    submit: int
    runtime: int
    procs: int
    estimate: int
    limit: int
    user: int = 0
    cancel: int | None = None
    admit: int | None = None
    after: int | None = None
    think: int = 0
    array: int | None = None

    @property
    def admitted_for(self) -> Job:
        """The job with the estimate that decides whether it may go before a blocked head."""
        return self if self.admit is None else self._replace(estimate=self.admit)


class RunningJob(NamedTuple):
    """A job that holds its processors from `start` (s) on. A job of a warm start has a negative `job.order`."""

    job: Job
    start: int

    @property
    def end(self) -> int:
        """True end in s, which the scheduler does not know."""
        return self.start + self.job.runtime

    def estimated_end(self, t: int, correction: str) -> int:
        """End in s that the scheduler believes at time `t` (s), while the job runs: always later than `t`."""
        latest = self.start + self.job.limit
        for end in self._estimated_ends(correction):
            if min(end, latest) > t:
                return min(end, latest)
        raise AssertionError("a running job has outlived its limit")

    def _estimated_ends(self, correction: str) -> Iterator[int]:
        """Yield the estimated ends (s) one after another, the last of them start + limit."""
        end = self.start + self.job.estimate
        yield end
        if correction == "increments":
            for increment_s in INCREMENTS_S:
                end += increment_s
                yield end
        elif correction == "doubling":
            length = self.job.estimate
            while length < self.job.limit:
                length *= 2
                yield self.start + length
        yield self.start + self.job.limit


class Outage(NamedTuple):
    """`procs` processors are missing from `start` to `end` (s; None: for good), known from `announced` (s) on."""

    start: int
    end: int | None
    procs: int
    announced: int

    def active(self, t: int) -> bool:
        """Say whether the processors are missing at `t` (s)."""
        return self.start <= t and (self.end is None or t < self.end)

    def known(self, t: int) -> bool:
        """Say whether the scheduler knows at `t` (s) of the outage, and it is not over."""
        return self.announced <= t and (self.end is None or t < self.end)

    def pending(self, t: int) -> bool:
        """Say whether the outage is announced at `t` (s) and still to come."""
        return self.announced <= t < self.start


class Workload(NamedTuple):
    """What the oracle replays: jobs in (submit, order in the log) order, a cluster, and the origin (s) of F1 to F4."""

    jobs: Sequence[Job]
    cluster_procs: int
    origin: int = 0
    running: Sequence[RunningJob] = ()
    outages: Sequence[Outage] = ()

    def followed_by(self, job: Job) -> Sequence[int]:
        """Return the orders of the jobs after which a follower comes: a job, or all tasks of its array."""
        assert job.after is not None
        array = self.jobs[job.after].array
        return [job.after] if array is None else [other.order for other in self.jobs if other.array == array]

    def as_jobs(self) -> Jobs:
        """Return the jobs as the engine takes them."""
        names = ("submit", "runtime", "procs", "estimate", "limit", "user")
        columns = {name: _column(getattr(job, name) for job in self.jobs) for name in names}
        cancel = _column(NEVER if job.cancel is None else job.cancel for job in self.jobs)
        admit = _column(job.admitted_for.estimate for job in self.jobs)
        after = _column(NO_JOB if job.after is None else job.after for job in self.jobs)
        think = _column(job.think for job in self.jobs)
        array = _column(NO_JOB if job.array is None else job.array for job in self.jobs)
        return Jobs(**columns, cancel=cancel, admit=admit, after=after, think=think, array=array, origin=self.origin)

    def as_cluster(self) -> Cluster:
        """Return the cluster as the engine takes it."""
        names = ("runtime", "procs", "estimate", "limit", "user")
        columns = {name: _column(getattr(job, name) for job, _ in self.running) for name in names}
        running = RunningJobs(start=_column(start for _, start in self.running), **columns)
        outages = Outages(
            start=_column(outage.start for outage in self.outages),
            end=_column(FOREVER if outage.end is None else outage.end for outage in self.outages),
            procs=_column(outage.procs for outage in self.outages),
            announced=_column(outage.announced for outage in self.outages),
        )
        return Cluster(self.cluster_procs, running, outages)


def workload_of(jobs: Jobs, cluster: int | Cluster) -> Workload:
    """Return the engine's input as the oracle takes it."""
    cluster = Cluster.of(cluster)
    columns = (jobs.submit, jobs.runtime, jobs.procs, jobs.estimate, jobs.limit, jobs.user, jobs.cancel, jobs.admit)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    listed = [
        Job(order, *row[:6], None if row[6] >= NEVER else row[6], None if row[7] == row[3] else row[7])
        for order, row in enumerate(rows)
    ]
    warm = cluster.running
    columns = (warm.start, warm.runtime, warm.procs, warm.estimate, warm.limit, warm.user)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    running = [RunningJob(Job(-1 - number, row[0], *row[1:]), row[0]) for number, row in enumerate(rows)]
    out = cluster.outages
    rows = zip(*(column.tolist() for column in (out.start, out.end, out.procs, out.announced)), strict=True)
    outages = [Outage(start, None if end >= FOREVER else end, *rest) for start, end, *rest in rows]
    return Workload(listed, cluster.procs, jobs.origin, running, outages)


def check(workload: Workload) -> None:
    """Raise ValueError for a workload that docs/reference/semantics.md does not define."""
    if not workload.jobs:
        raise ValueError("a replay needs a job")
    for job in [*workload.jobs, *(job for job, _ in workload.running)]:
        if not 1 <= job.procs <= workload.cluster_procs:
            raise ValueError(f"job {job.order} needs {job.procs} of {workload.cluster_procs} processors")
        if job.runtime < 0 or not 1 <= job.estimate <= job.limit or job.limit < job.runtime:
            raise ValueError(f"job {job.order}: needs 0 <= run time <= limit and 1 <= estimate <= limit")
        if job.cancel is not None and job.cancel < job.submit:
            raise ValueError(f"job {job.order} is cancelled before it is submitted")
    submits = [job.submit for job in workload.jobs]
    if submits != sorted(submits):
        raise ValueError("jobs are not in submit order")
    if any(not running.start <= submits[0] < running.end for running in workload.running):
        raise ValueError("a job of the warm start does not run when the first job is submitted")
    if sum(job.procs for job, _ in workload.running) > workload.cluster_procs:
        raise ValueError("the jobs of the warm start hold more than the cluster has")


def _column(values: Iterator[int]) -> np.ndarray:
    return np.array(list(values), dtype=np.int64)
