"""A scheduler that acts only every T seconds, period after period, written from docs/reference/semantics.md, "Windows".

Nothing is rounded beforehand: jobs keep their true times, and the scheduler looks at them at its periods. All times are
whole seconds. Jobs on a whole and empty cluster alone, with estimates that no run time exceeds.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulator.oracle import CANCELLED
from tests.simulator.oracle_types import Job, Outage, RunningJob, Workload

POLICIES_WITH_PERIODS = ("FCFS", "SJF", "SAF")
BACKFILLS_WITH_PERIODS = ("none", "easy", "easy-sjbf")


def in_periods(workload: Workload, period: int) -> Workload:
    """Return the workload whose replay the text equates with periods: all times in whole periods.

    The text is silent of three things, which must not let the scheduler act between periods. Who leaves the queue within a
    period is gone at the next: cancellations are rounded up. Announcements are rounded down like the starts of outages,
    so that none comes after its outage. Jobs of a warm start keep their starts, and their ends are rounded up; those that
    end by the first period are left out.
    """

    def up(time: int) -> int:
        return -(-time // period) * period

    def job_in_periods(job: Job) -> Job:
        times = {name: getattr(job, name) for name in ("submit", "runtime", "estimate", "limit", "cancel", "admit")}
        return job._replace(**{name: None if time is None else up(time) for name, time in times.items()})

    def outage_in_periods(outage: Outage) -> Outage:
        end = None if outage.end is None else up(outage.end)
        return Outage(outage.start // period * period, end, outage.procs, outage.announced // period * period)

    def running_in_periods(running: RunningJob) -> RunningJob:
        lengths = {name: getattr(running.job, name) for name in ("runtime", "estimate", "limit")}
        ends = {name: up(running.start + length) - running.start for name, length in lengths.items()}
        return running._replace(job=running.job._replace(**ends))

    jobs = [job_in_periods(job) for job in workload.jobs]
    running = [running_in_periods(one) for one in workload.running]
    return workload._replace(
        jobs=jobs,
        running=[one for one in running if one.end > jobs[0].submit],
        outages=[outage_in_periods(outage) for outage in workload.outages],
    )


def oracle_periods(
    workload: Workload, period: int, policy: str = "FCFS", backfill: str = "easy", sees_seconds: bool = False
) -> list[int]:
    """Return the start times (s) by order in the log of a scheduler that acts at 0, T, 2 T and so on.

    sees_seconds: it orders by estimates in seconds, and EASY compares the seconds at which jobs are expected to end. The
    text says otherwise: both are in whole periods, as for all else it could do only at its periods.
    """
    if workload.running or workload.outages or any(job.cancel is not None for job in workload.jobs):
        raise ValueError("jobs on an empty and whole cluster alone")
    loop = _Periods(workload, period, sees_seconds)
    while CANCELLED in loop.start:
        loop.act(policy, backfill)
        loop.now += period
    return loop.start


class _Periods:
    """The scheduler's state at the period `now` (s): who has started when."""

    def __init__(self, workload: Workload, period: int, sees_seconds: bool) -> None:
        self.workload = workload
        self.period = 1 if sees_seconds else period
        self.now = -(-workload.jobs[0].submit // period) * period
        self.start = [CANCELLED] * len(workload.jobs)

    def seen(self, time: int) -> int:
        """Return the first period at or after a time: when the scheduler could see what happens then."""
        while time % self.period:
            time += 1
        return time

    def running(self) -> list[Job]:
        started = [job for job in self.workload.jobs if self.start[job.order] != CANCELLED]
        return [job for job in started if self.start[job.order] + job.runtime > self.now]

    def free(self) -> int:
        return self.workload.cluster_procs - sum(job.procs for job in self.running())

    def act(self, policy: str, backfill: str) -> None:
        """Start what may start at this period."""
        waiting = [job for job in self.workload.jobs if job.submit <= self.now and self.start[job.order] == CANCELLED]
        length = {job.order: self.seen(job.estimate) for job in waiting}
        score = {"FCFS": lambda job: job.submit, "SJF": lambda job: length[job.order]}
        score["SAF"] = lambda job: length[job.order] * job.procs
        waiting.sort(key=lambda job: (score[policy](job), job.submit, job.order))
        while waiting and waiting[0].procs <= self.free():
            self.start[waiting.pop(0).order] = self.now
        if waiting and backfill != "none":
            behind = waiting[1:]
            if backfill == "easy-sjbf":
                behind.sort(key=lambda job: (length[job.order], job.submit, job.order))
            self.backfill(waiting[0], behind)

    def backfill(self, head: Job, behind: Sequence[Job]) -> None:
        """EASY: the head starts at the first of the expected ends with room for it; nobody may delay that."""
        expected = {job.order: self.seen(self.start[job.order] + job.estimate) for job in self.running()}
        for shadow in sorted(expected.values()):
            free_then = self.free() + sum(job.procs for job in self.running() if expected[job.order] <= shadow)
            if free_then >= head.procs:
                break
        extra = free_then - head.procs
        for job in behind:
            in_time = self.seen(self.now + job.admitted_for.estimate) <= shadow
            if job.procs <= self.free() and (in_time or job.procs <= extra):
                self.start[job.order] = self.now
                extra -= 0 if in_time else job.procs
