"""A slow replay engine and its metrics, written from docs/semantics.md (semantics 1) and from nothing else.

The oracle is what the fast engine is compared with, so it trades all speed for plainness: it keeps no state between
scheduling passes except who waits and who runs, sorts the whole queue in every pass, and computes free processors,
shadow time and extra processors from scratch each time. It imports nothing from `simulator`. The learned policy is not
covered: its order comes from a network.

Below the oracle: invariants that any schedule must satisfy, and the random workloads and real logs that the tests
share.

All times are whole seconds, all sizes are whole processors.
"""

import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

POLICIES = ("FCFS", "SJF", "SAF", "WFP3", "UNICEP", "F1")
BACKFILLS = ("none", "easy")

# Two scores computed by two correct programs differ by a few units in the last place (1e-16 of the score). Scores
# farther apart than this share of their size are ordered alike by both; nearer ones are reported as ambiguous.
SCORE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Job:
    """One job of the workload: `order` is its place in the log; times in s, `procs` in processors."""

    order: int
    submit: int
    runtime: int
    procs: int
    estimate: int
    limit: int


@dataclass(frozen=True)
class RunningJob:
    """A job that holds its processors from `start` (s) on."""

    job: Job
    start: int

    @property
    def end(self) -> int:
        """True end in s, which the scheduler does not know."""
        return self.start + self.job.runtime

    def estimated_end(self, t: int) -> int:
        """End in s that the scheduler believes at time `t` (s): by the estimate, by the limit once that has expired."""
        by_estimate = self.start + self.job.estimate
        return by_estimate if by_estimate > t else self.start + self.job.limit


@dataclass(frozen=True)
class BlockedHead:
    """What EASY computed for the head blocked at `t`: shadow time in s and extra processors."""

    t: int
    order: int
    shadow_time: int
    extra_procs: int


@dataclass
class OracleRun:
    """Outcome of one oracle replay; lists are indexed by the job's order in the log.

    start: start times in s. backfilled: whether the job was started behind a blocked head. blocked_heads: one entry
    for each pass of EASY that ended at a head. ambiguous_order: whether any pass had to order two jobs whose
    scores are so close that another correct program may order them the other way round.
    """

    start: list[int]
    backfilled: list[bool]
    blocked_heads: list[BlockedHead] = field(default_factory=list)
    ambiguous_order: bool = False


def score(policy: str, job: Job, t: int, origin: int = 0) -> float:
    """Return the policy's score of a waiting job at time `t` (s); the lowest goes first. `origin` (s) is F1's zero."""
    wait = t - job.submit
    if policy == "FCFS":
        return job.submit
    if policy == "SJF":
        return job.estimate
    if policy == "SAF":
        return job.estimate * job.procs
    if policy == "WFP3":
        return -((wait / job.estimate) ** 3) * job.procs
    if policy == "UNICEP":
        return -wait / (math.log2(job.procs + 1e-15) * job.estimate)
    if policy == "F1":
        since_origin = max(job.submit - origin, 0.1)
        return math.log10(job.estimate) * job.procs + 870 * math.log10(since_origin)
    raise ValueError(f"unknown policy {policy!r}")


def score_inputs(policy: str, job: Job, t: int) -> tuple[object, ...]:
    """Return what the score depends on: jobs with equal inputs tie exactly, however the score is rounded."""
    wait = t - job.submit
    if policy in ("WFP3", "UNICEP") and wait == 0:
        return (0,)
    if policy == "WFP3":
        return (Fraction(wait, job.estimate), job.procs)
    if policy == "UNICEP":
        return (wait, job.estimate, job.procs)
    return (job.submit, job.estimate, job.procs)


def order_is_ambiguous(policy: str, ordered: list[Job], t: int, origin: int) -> bool:
    """Say whether neighbours of an ordered queue have scores that rounding could swap, tie or untie."""
    if policy in ("FCFS", "SJF", "SAF"):
        return False  # whole numbers, compared exactly
    for first, second in pairwise(ordered):
        a, b = score(policy, first, t, origin), score(policy, second, t, origin)
        close = abs(a - b) <= SCORE_TOLERANCE * max(abs(a), abs(b))
        if close and score_inputs(policy, first, t) != score_inputs(policy, second, t):
            return True
    return False


def reservation(head: Job, running: list[RunningJob], free: int, t: int) -> tuple[int, int]:
    """Return the shadow time (s) of the head blocked at `t` (s) and the extra processors at that time."""
    for shadow_time in sorted({r.estimated_end(t) for r in running}):
        free_then = free + sum(r.job.procs for r in running if r.estimated_end(t) <= shadow_time)
        if free_then >= head.procs:
            return shadow_time, free_then - head.procs
    raise AssertionError("the head is wider than the cluster")


def oracle_run(
    submit: Sequence[int],
    runtime: Sequence[int],
    procs: Sequence[int],
    estimate: Sequence[int],
    limit: Sequence[int],
    cluster_procs: int,
    policy: str,
    backfill: str,
    origin: int = 0,
) -> OracleRun:
    """Replay jobs, given in (submit, order in the log) order, and return everything the oracle knows about it.

    All sequences have one entry per job: times in s, `procs` in processors. Raises ValueError for input that
    docs/semantics.md rules out: a job wider than the cluster, times below 1 s, a limit below run time or estimate.
    """
    columns = zip(submit, runtime, procs, estimate, limit, strict=True)
    jobs = [Job(order, *(int(value) for value in row)) for order, row in enumerate(columns)]
    _check(jobs, cluster_procs, policy, backfill)

    run = OracleRun(start=[-1] * len(jobs), backfilled=[False] * len(jobs))
    not_submitted = list(jobs)
    queue: list[Job] = []
    running: list[RunningJob] = []

    while not_submitted or running:
        t = min([job.submit for job in not_submitted[:1]] + [r.end for r in running])
        running = [r for r in running if r.end > t]
        while not_submitted and not_submitted[0].submit == t:
            queue.append(not_submitted.pop(0))

        queue.sort(key=lambda job: (score(policy, job, t, origin), job.submit, job.order))
        run.ambiguous_order = run.ambiguous_order or order_is_ambiguous(policy, queue, t, origin)

        # From the front, while they fit.
        while queue and queue[0].procs <= free_procs(running, cluster_procs):
            job = queue.pop(0)
            running.append(RunningJob(job, t))
            run.start[job.order] = t

        # Behind the blocked head.
        if queue and backfill == "easy":
            head = queue[0]
            shadow_time, extra = reservation(head, running, free_procs(running, cluster_procs), t)
            run.blocked_heads.append(BlockedHead(t, head.order, shadow_time, extra))
            for job in queue[1:]:
                if job.procs > free_procs(running, cluster_procs):
                    continue
                ends_in_time = t + job.estimate <= shadow_time
                if not ends_in_time and job.procs > extra:
                    continue
                if not ends_in_time:
                    extra -= job.procs
                queue.remove(job)
                running.append(RunningJob(job, t))
                run.start[job.order] = t
                run.backfilled[job.order] = True

    assert not queue, "every job fits into the empty cluster, so none can be left waiting"
    return run


def oracle_replay(
    submit: Sequence[int],
    runtime: Sequence[int],
    procs: Sequence[int],
    estimate: Sequence[int],
    limit: Sequence[int],
    cluster_procs: int,
    policy: str,
    backfill: str,
    origin: int = 0,
) -> list[int]:
    """Replay jobs, given in (submit, order in the log) order, and return their start times in s (see oracle_run)."""
    return oracle_run(submit, runtime, procs, estimate, limit, cluster_procs, policy, backfill, origin).start


def free_procs(running: list[RunningJob], cluster_procs: int) -> int:
    """Return the processors that no running job holds."""
    return cluster_procs - sum(r.job.procs for r in running)


def _check(jobs: list[Job], cluster_procs: int, policy: str, backfill: str) -> None:
    """Raise ValueError for input that docs/semantics.md does not define."""
    if policy not in POLICIES:
        raise ValueError(f"unknown policy {policy!r}")
    if backfill not in BACKFILLS:
        raise ValueError(f"unknown backfill {backfill!r}")
    for job in jobs:
        if not 1 <= job.procs <= cluster_procs:
            raise ValueError(f"job {job.order} needs {job.procs} of {cluster_procs} processors")
        if job.runtime < 1 or not 1 <= job.estimate <= job.limit or job.limit < job.runtime:
            raise ValueError(f"job {job.order}: needs 1 <= run time <= limit and 1 <= estimate <= limit")
    if any(later.submit < earlier.submit for earlier, later in pairwise(jobs)):
        raise ValueError("jobs are not in submit order")


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
    """Return the metrics table of docs/semantics.md under its names, in its units; needs at least one job."""
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


def max_procs_in_use(start: Sequence[int], runtime: Sequence[int], procs: Sequence[int]) -> int:
    """Return the most processors held at any time; a job holds them from start to start + run time, end excluded."""
    changes = []
    for begin, r, p in zip(start, runtime, procs, strict=True):
        changes += [(begin, p), (begin + r, -p)]
    in_use = most = 0
    for _, change in sorted(changes):  # at equal times the negative changes, which free processors, come first
        in_use += change
        most = max(most, in_use)
    return most


def never_oversubscribes(
    start: Sequence[int], runtime: Sequence[int], procs: Sequence[int], cluster_procs: int
) -> bool:
    """Say whether the jobs never hold more processors together than the cluster has."""
    return max_procs_in_use(start, runtime, procs) <= cluster_procs


def never_starts_before_submission(submit: Sequence[int], start: Sequence[int]) -> bool:
    """Say whether every job has been started, none before its submit time (s)."""
    return all(begin >= s for s, begin in zip(submit, start, strict=True))


def heads_start_by_shadow_time(run: OracleRun) -> bool:
    """Say whether every head blocked at some time started no later than the shadow time computed then.

    EASY promises this for FCFS (nobody can arrive before the head) when no run time exceeds its estimate. It promises
    nothing where later arrivals may overtake or estimates may be too short.
    """
    return all(run.start[blocked.order] <= blocked.shadow_time for blocked in run.blocked_heads)


def starts_in_order(run: OracleRun) -> bool:
    """Say whether no job starts before one that stands earlier in the log: true of FCFS without backfilling."""
    return run.start == sorted(run.start)


class Workload(NamedTuple):
    """What oracle_run replays: one entry per job (s, processors), the cluster's processors, and F1's origin (s)."""

    submit: list[int]
    runtime: list[int]
    procs: list[int]
    estimate: list[int]
    limit: list[int]
    cluster_procs: int
    origin: int = 0

    def run(self, policy: str, backfill: str) -> OracleRun:
        """Replay the workload with the oracle."""
        return oracle_run(*self[:6], policy, backfill, self.origin)


@st.composite
def workloads(draw: st.DrawFn, estimates: Sequence[str] = ("exact", "over", "under")) -> Workload:
    """Draw 1 to 40 jobs on 2 to 16 processors, submitted in clusters so that queues form and times coincide.

    `estimates` names the kinds that jobs may have: equal to, over or under the run time. Narrow time scales make
    ties (simultaneous events, ends at the shadow time) common, wide ones make priorities distinct. The clock
    starts at 0 or at some Unix time, the latter with F1's origin there or at 0.
    """
    cluster_procs = draw(st.integers(2, 16))
    scale = draw(st.sampled_from([1, 1, 10, 1000]))
    clock, origin = draw(st.sampled_from([(0, 0), (0, 0), (1_000_000_000, 1_000_000_000), (1_000_000_000, 0)]))
    gap = st.one_of(st.just(0), st.integers(0, 2 * scale))
    length = st.integers(1, 6 * scale)
    job = st.tuples(
        gap,
        length,  # run time
        st.integers(1, cluster_procs),
        st.sampled_from(list(estimates)),
        length,  # by how much the estimate is over, or which share it is under
        st.one_of(st.just(0), length),  # by how much the limit is over both
    )
    rows = draw(st.lists(job, min_size=draw(st.sampled_from([1, 10, 25])), max_size=40))

    workload = Workload([], [], [], [], [], cluster_procs, origin)
    for wait_for_next, runtime, procs, kind, error, slack in rows:
        clock += wait_for_next
        estimate = {"exact": runtime, "over": runtime + error, "under": min(runtime, error)}[kind]
        workload.submit.append(clock)
        workload.runtime.append(runtime)
        workload.procs.append(procs)
        workload.estimate.append(estimate)
        workload.limit.append(max(runtime, estimate) + slack)
    return workload


def read_swf(path: Path, cluster_procs: int, at_most: int | None = None) -> tuple[list[int], Workload]:
    """Return the job numbers and the workload of a gzipped SWF log, with the requested time as the estimate.

    Keeps the first `at_most` jobs, in (submit, place in the log) order, whose run time and processors are above zero.
    """
    rows = []
    with gzip.open(path, "rt") as log:
        for line in log:
            if line.strip() and not line.startswith(";"):
                fields = [int(float(value)) for value in line.split()]
                number, submit, runtime, requested_s = fields[0], fields[1], fields[3], fields[8]
                procs = fields[4] if fields[4] > 0 else fields[7]
                if runtime > 0 and procs > 0:
                    limit = max(requested_s, runtime)  # an unknown request is -1
                    rows.append((number, submit, runtime, procs, limit, limit))
    rows.sort(key=lambda row: row[1])
    numbers, submits, runtimes, sizes, estimates, limits = (list(c) for c in zip(*rows[:at_most], strict=True))
    return numbers, Workload(submits, runtimes, sizes, estimates, limits, cluster_procs)
