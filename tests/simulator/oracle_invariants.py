"""What every schedule must satisfy, checked from the start times and the workload without replaying anything.

The functions take start times in s by order in the log (CANCELLED where a job left the queue), so that they serve for
schedules of any engine; those about promises take what the oracle noted on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tests.simulator.oracle import CANCELLED, OracleRun
from tests.simulator.oracle_types import RunningJob, Workload


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
