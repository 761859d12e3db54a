"""What every schedule must satisfy, checked from the start times and the workload without replaying anything.

The functions take start times in s by order in the log (CANCELLED where a job left the queue), so that they serve for
schedules of any engine; those about promises take what the oracle noted on the way.

The metrics of docs/reference/semantics.md that every replay without cancelled jobs has, in plain arithmetic.

A scheduler that acts only every T seconds, period after period, written from docs/reference/semantics.md, "Windows".

Nothing is rounded beforehand: jobs keep their true times, and the scheduler looks at them at its periods. All times are
whole seconds. Jobs on a whole and empty cluster alone, with estimates that no run time exceeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from tests.simulator.oracle import CANCELLED, OracleRun
from tests.simulator.oracle_types import Job, Outage, RunningJob, Workload


def ever_running(workload: Workload, start: Sequence[int]) -> list[RunningJob]:
    """Return everybody who ever holds processors: the warm start and every started job."""
    started = [RunningJob(job, start[job.order]) for job in workload.jobs if start[job.order] != CANCELLED]
    return [*workload.running, *started]


def procs_in_use(workload: Workload, start: Sequence[int], t: int) -> int:
    """Return the processors held at `t` (s), by jobs from their start to their end, end excluded."""
    return sum(r.job.procs for r in ever_running(workload, start) if r.start <= t < r.end)


def procs_missing(workload: Workload, t: int) -> int:
    """Return the processors that outages take at `t` (s)."""
    return sum(outage.procs for outage in workload.outages if outage.active(t))


def never_oversubscribes(workload: Workload, start: Sequence[int]) -> bool:
    """Say whether the jobs never hold more than the cluster has, nor more than outages leave when anybody starts.

    Between starts an outage may be waiting for running jobs to end. A job with a run time of zero holds its processors
    only during a pass; it must find room beside those who run on.
    """
    for started in set(start) - {CANCELLED}:
        in_use = procs_in_use(workload, start, started)
        left = workload.cluster_procs - procs_missing(workload, started)
        if in_use > workload.cluster_procs or in_use > left:
            return False
        from_before = sum(r.job.procs for r in ever_running(workload, start) if r.start < started < r.end)
        zeros = [job for job in workload.jobs if start[job.order] == started and job.runtime == 0]
        if any(job.procs > left - from_before for job in zeros):
            return False
    return True


def waits_within_bounds(workload: Workload, start: Sequence[int]) -> bool:
    """Say whether every job starts at or after its submission and before its cancellation, or else was cancelled."""
    return all(
        job.cancel is not None
        if start[job.order] == CANCELLED
        else job.submit <= start[job.order] and (job.cancel is None or start[job.order] < job.cancel)
        for job in workload.jobs
    )


def starts_at_events(workload: Workload, run: OracleRun) -> bool:
    """Say whether jobs start only at event times, which include the starts of reservations, whoever holds them."""
    events = {job.submit for job in workload.jobs}
    events |= {r.end for r in ever_running(workload, run.start)}
    events |= {job.cancel for job in workload.jobs if run.start[job.order] == CANCELLED}
    for outage in workload.outages:
        events |= {outage.announced, outage.start, outage.end}
    events |= {reservation.start for reservation in run.reservations}
    return events.issuperset(set(run.start) - {CANCELLED})


def heads_start_by_shadow_time(run: OracleRun) -> bool:
    """Say whether every head blocked at some time started no later than the shadow time computed then.

    EASY promises this for FCFS (nobody can arrive before the head) when no estimate is too short, nobody is cancelled
    and no outage comes as news. It promises nothing where later arrivals may overtake.
    """
    return all(run.start[blocked.order] <= blocked.shadow_time for blocked in run.blocked_heads)


def shadow_times_never_move_back(run: OracleRun) -> bool:
    """Say whether the shadow time of a job never grows from pass to pass, under the same conditions as above."""
    shadow_times: dict[int, list[int]] = {}
    for blocked in run.blocked_heads:
        shadow_times.setdefault(blocked.order, []).append(blocked.shadow_time)
    return all(later <= earlier for times in shadow_times.values() for earlier, later in pairwise(times))


def backfilling_leaves_room_for_heads(workload: Workload, run: OracleRun, correction: str) -> bool:
    """Say whether after each pass of EASY its head, as far as anybody could know, fits at the shadow time computed.

    For as long as its estimate, counting who runs after the pass at their estimated ends, and known outages. Leaves out
    passes at a time with another pass or with a run time of zero, where start times do not tell who ran in which.
    """
    for blocked in run.blocked_heads:
        t, head = blocked.t, workload.jobs[blocked.order]
        running = [r for r in ever_running(workload, run.start) if r.start <= t < max(r.end, r.start + 1)]
        if run.pass_times.count(t) > 1 or any(r.job.runtime == 0 for r in running):
            continue
        taken = [(r.start, r.estimated_end(t, correction), r.job.procs) for r in running]
        until = blocked.shadow_time + head.estimate
        taken += [(o.start, until if o.end is None else o.end, o.procs) for o in workload.outages if o.known(t)]
        begins = [begin for begin, _, _ in taken if blocked.shadow_time < begin < until]
        for time in [blocked.shadow_time, *begins]:
            in_use = sum(procs for begin, end, procs in taken if begin <= time < end)
            if in_use + head.procs > workload.cluster_procs:
                return False
    return True


def no_start_after_first_reservation(run: OracleRun) -> bool:
    """Say whether no job starts later than it was first promised.

    Promised while no estimate is too short and no outage becomes known after the reservation was given.
    """
    return all(run.start[order] <= first for order, first in run.first_reservation.items())


def compression_never_delays(run: OracleRun) -> bool:
    """Say whether a job that gives up its reservation to take a better one never gets a later one."""
    held: dict[int, int] = {}
    for reservation in run.reservations:
        if reservation.why == "compressed" and reservation.start > held[reservation.order]:
            return False
        held[reservation.order] = reservation.start
    return True


def starts_in_order(run: OracleRun) -> bool:
    """Say whether no job starts before one that stands earlier in the log: true of FCFS without backfilling."""
    started = [begin for begin in run.start if begin != CANCELLED]
    return started == sorted(started)


# --- oracle metrics


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the percentile with linear interpolation between the two nearest ranks, in the unit of `values`."""
    ordered = sorted(values)
    rank = Fraction(percent, 100) * (len(ordered) - 1)
    below = math.floor(rank)
    above = math.ceil(rank)
    return ordered[below] + float(rank - below) * (ordered[above] - ordered[below])


def oracle_metrics(
    submit: Sequence[int],
    runtime: Sequence[int],
    procs: Sequence[int],
    start: Sequence[int],
    backfilled: Sequence[bool],
    cluster_procs: int,
) -> dict[str, float]:
    """Return the metrics table of docs/reference/semantics.md under its names, in its units; needs at least one job."""
    jobs = [
        {"wait": begin - s, "runtime": r, "procs": p, "end": begin + r}
        for s, r, p, begin in zip(submit, runtime, procs, start, strict=True)
    ]
    count = len(jobs)
    waits = [job["wait"] for job in jobs]
    bounded_slowdowns = [max(1.0, (job["wait"] + job["runtime"]) / max(job["runtime"], 10)) for job in jobs]
    makespan_s = max(job["end"] for job in jobs) - min(submit)
    return {
        "average_wait_s": sum(waits) / count,
        "p95_wait_s": percentile(waits, 95),
        "max_wait_s": float(max(waits)),
        "average_turnaround_s": sum(job["wait"] + job["runtime"] for job in jobs) / count,
        "average_slowdown": math.fsum((job["wait"] + job["runtime"]) / job["runtime"] for job in jobs) / count,
        "average_bounded_slowdown": math.fsum(bounded_slowdowns) / count,
        "p95_bounded_slowdown": percentile(bounded_slowdowns, 95),
        "utilisation": sum(job["runtime"] * job["procs"] for job in jobs) / (cluster_procs * makespan_s),
        "makespan_s": float(makespan_s),
        "backfilled_share": sum(bool(flag) for flag in backfilled) / count,
    }


# --- oracle periods


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
