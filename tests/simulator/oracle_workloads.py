"""Random workloads for hypothesis, and real logs, in the form that the oracle replays.

All times are whole seconds, all sizes are whole processors.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from simulator.jobs.followers import NO_JOB
from tests.simulator.jobs.people import arrays_before
from tests.simulator.oracle_types import Job, Outage, RunningJob, Workload

FEATURES = ("zero", "users", "cancelled", "warm", "planned", "unplanned", "endless")
"""Parts of a workload that a test may leave out: run times of zero, several users, cancellations, a warm start, outages
announced before they start, outages announced when they start, outages of both kinds that never end (only beside one
of the other two)."""

ESTIMATES = ("exact", "over", "under")

# Lengths are 1 to `span` units of so many seconds. Few different lengths make ties (simultaneous events, ends at the
# shadow time, equal estimates) common, many make priorities distinct; the long ones reach the far increments.
TIME_SCALES = [(1, 6), (1, 6), (1, 60), (60, 8), (1, 6000), (600, 300), (1, 1_000_000)]
CLOCKS = [(0, 0), (0, 0), (1_000_000_000, 1_000_000_000), (1_000_000_000, 0)]
USERS = (0, 1, 2, 5)
"""Numbers of users leave gaps, as those of a window of a trace do."""


class Fields:
    """Reads the numbers of one job or outage off its random bytes.

    One draw for all of them keeps thousands of workloads affordable; bytes shrink towards zero, which is made the
    simplest value of every field.
    """

    LENGTH = 24

    def __init__(self, drawn: bytes) -> None:
        self.left = drawn

    def below(self, bound: int) -> int:
        """Return a number from 0 to bound - 1."""
        width = 1 if bound <= 256 else 3
        head, self.left = self.left[:width], self.left[width:]
        return int.from_bytes(head, "big") % bound

    def one_in(self, chances: int) -> bool:
        """Return True with a probability of 1 / chances."""
        return self.below(chances) == chances - 1

    def length(self, scale: tuple[int, int]) -> int:
        """Return a length in s on a time scale."""
        unit, span = scale
        return unit * (1 + self.below(span))


def _rows(at_least: int, at_most: int) -> st.SearchStrategy[list[Fields]]:
    return st.lists(
        st.binary(min_size=Fields.LENGTH, max_size=Fields.LENGTH).map(Fields), min_size=at_least, max_size=at_most
    )


# Built once: building strategies takes longer than drawing from them.
CLUSTER_PROCS = st.integers(2, 16)
SCALES = st.sampled_from(TIME_SCALES)
CLOCKS_AND_ORIGINS = st.sampled_from(CLOCKS)
JOB_ROWS = st.sampled_from([_rows(1, 40), _rows(1, 40), _rows(8, 40), _rows(20, 40)])
RUNNING_ROWS = _rows(1, 4)
OUTAGE_ROWS = _rows(1, 3)


@cache
def _parts(features: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    """Draw the features that a workload has."""
    return (
        st.one_of(st.just([]), st.lists(st.sampled_from(features), min_size=1, unique=True))
        if features
        else st.just([])
    )


@cache
def _kinds(estimates: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """Draw the kinds of estimates that a workload has: all, or one of them."""
    return st.sampled_from([estimates, *((kind,) for kind in estimates)])


@st.composite
def workloads(draw: st.DrawFn, estimates: Sequence[str] = ESTIMATES, features: Iterable[str] = FEATURES) -> Workload:
    """Draw 1 to 40 jobs on 2 to 16 processors, submitted in clusters so that queues form and times coincide.

    `estimates` names the kinds that jobs may have, all of them or only one: equal to, over or under the run time.
    `features` names what the workload may have besides plain jobs; half of the workloads have none of it. The clock
    starts at 0 or at some Unix time, the latter with the origin of F1 to F4 there or at 0.
    """
    has = draw(_parts(tuple(features)))
    kinds = draw(_kinds(tuple(estimates)))
    cluster_procs = draw(CLUSTER_PROCS)
    scale = draw(SCALES)
    clock, origin = draw(CLOCKS_AND_ORIGINS)
    rows = draw(draw(JOB_ROWS))

    first_submit = None
    jobs: list[Job] = []
    for row in rows:
        clock += 0 if row.one_in(2) else scale[0] * row.below(scale[1] + 1)
        first_submit = clock if first_submit is None else first_submit
        runtime, estimate, limit = _lengths(row, scale, kinds, "zero" in has)
        procs = 1 + row.below(cluster_procs)
        user = USERS[row.below(4)] if "users" in has else 0
        patience = row.below(3 * scale[1]) * scale[0]
        cancel = clock + patience if "cancelled" in has and row.one_in(3) else None
        jobs.append(Job(len(jobs), clock, runtime, procs, estimate, limit, user, cancel))
    running = _warm_start(draw, first_submit, cluster_procs, scale, kinds, "users" in has) if "warm" in has else []
    announcements = [kind for kind in ("planned", "unplanned") if kind in has]
    outages = _outages(draw, first_submit, cluster_procs, scale, announcements, "endless" in has)
    # Outages without an end leave enough for every job.
    for_good = sum(outage.procs for outage in outages if outage.end is None)
    jobs = [job._replace(procs=min(job.procs, cluster_procs - for_good)) for job in jobs]
    return Workload(jobs, cluster_procs, origin, running, outages)


@st.composite
def closed_workloads(draw: st.DrawFn, features: Iterable[str] = FEATURES, at_once: bool = True) -> Workload:
    """Draw a workload in which about half of the jobs follow an earlier one. at_once: whether a job may follow one with a run time of zero
    with a think time of zero, which no open replay can be like."""
    workload = draw(workloads(features=features))
    rows = draw(st.binary(min_size=5 * len(workload.jobs), max_size=5 * len(workload.jobs)))
    longest = max(job.runtime for job in workload.jobs)
    fields = [rows[5 * job.order : 5 * job.order + 5] for job in workload.jobs]
    after = [
        job.order - 1 - back % min(job.order, 5) if job.order and follows % 2 else NO_JOB
        for job, (follows, back, *_) in zip(workload.jobs, fields, strict=True)
    ]
    array = arrays_before(np.array(after), np.array([many % 3 == 0 for *_, many in fields]))
    jobs = []
    for job, other, number, (_, _, pause, share, _) in zip(workload.jobs, after, array.tolist(), fields, strict=True):
        is_like_open = at_once or all(each.runtime > 0 for each in workload.jobs)
        think = (longest * share // 256 if pause % 2 else 0) + (0 if is_like_open else 1)
        task = job._replace(array=None if number < 0 else number)
        jobs.append(task if other == NO_JOB else task._replace(after=other, think=think))
    return workload._replace(jobs=jobs)


def opened(workload: Workload, submit: Sequence[int]) -> tuple[Workload, list[int]]:
    """Return the workload with these submissions in s and nobody who follows, and the order in which its jobs were before."""
    rows = sorted(range(len(submit)), key=lambda order: (submit[order], order))
    jobs = []
    for order in rows:
        job = workload.jobs[order]
        cancel = None if job.cancel is None else job.cancel + submit[order] - job.submit
        jobs.append(job._replace(order=len(jobs), submit=submit[order], cancel=cancel, after=None, think=0))
    return workload._replace(jobs=jobs), rows


def _lengths(row: Fields, scale: tuple[int, int], estimates: Sequence[str], zero: bool) -> tuple[int, int, int]:
    """Return run time, estimate and limit in s."""
    runtime = row.length(scale)
    error = row.length(scale)
    kind = estimates[row.below(len(estimates))]
    slack = 0 if not row.one_in(2) else row.length(scale)
    shortening = row.below(8)
    if row.one_in(4) and zero:
        runtime = 0
    if kind == "exact":
        estimate = max(1, runtime)
    elif kind == "over":
        estimate = runtime + error
    else:  # halved again and again: some expire many times
        estimate = max(1, min(runtime, error) >> shortening)
    return runtime, estimate, max(runtime, estimate) + slack


def _warm_start(
    draw: st.DrawFn,
    first_submit: int,
    cluster_procs: int,
    scale: tuple[int, int],
    estimates: Sequence[str],
    users: bool,
) -> list[RunningJob]:
    """Draw up to 4 jobs that run at the first submission and together fit into the cluster."""
    running: list[RunningJob] = []
    left = cluster_procs
    for row in draw(RUNNING_ROWS):
        runtime, estimate, limit = _lengths(row, scale, estimates, zero=False)
        elapsed = row.below(runtime)
        procs = min(1 + row.below(cluster_procs), left)
        if procs > 0:
            start = first_submit - elapsed
            user = USERS[row.below(4)] if users else 0
            running.append(RunningJob(Job(-1 - len(running), start, runtime, procs, estimate, limit, user), start))
            left -= procs
    return running


def _outages(
    draw: st.DrawFn,
    first_submit: int,
    cluster_procs: int,
    scale: tuple[int, int],
    announcements: Sequence[str],
    endless: bool,
) -> list[Outage]:
    """Draw up to 3 outages, which may overlap, and may start and be announced before the first submission."""
    if not announcements:
        return []
    unit, span = scale
    outages: list[Outage] = []
    for row in draw(OUTAGE_ROWS):
        start = first_submit + unit * (row.below(6 * span) - span)
        end = start + row.length((unit, 3 * span))
        planned = announcements[row.below(len(announcements))] == "planned"
        announced = start - unit * row.below(6 * span) if planned else start
        procs = 1 + row.below(cluster_procs)
        if endless and row.one_in(2):
            left = cluster_procs - 1 - sum(outage.procs for outage in outages if outage.end is None)
            if left == 0:
                continue
            outages.append(Outage(start, None, min(procs, left), announced))
        else:
            outages.append(Outage(start, end, procs, announced))
    return outages


@cache
def read_swf(path: Path, cluster_procs: int, at_most: int | None = None) -> tuple[list[int], Workload]:
    """Return the job numbers and the workload of a gzipped SWF log, with the requested time as the estimate.

    Keeps the first `at_most` jobs, in (submit, place in the log) order, whose run time and processors are above zero.
    """
    rows = []
    with gzip.open(path, "rt") as log:
        for line in log:
            if line.strip() and not line.startswith(";"):
                fields = [int(float(value)) for value in line.split()]
                number, submit, runtime, requested_s, user = fields[0], fields[1], fields[3], fields[8], fields[11]
                procs = fields[4] if fields[4] > 0 else fields[7]
                if runtime > 0 and procs > 0:
                    limit = max(requested_s, runtime)  # an unknown request is -1
                    rows.append((number, submit, runtime, procs, limit, limit, max(user, 0)))
    rows.sort(key=lambda row: row[1])
    rows = rows[:at_most]
    return [row[0] for row in rows], Workload([Job(order, *row[1:]) for order, row in enumerate(rows)], cluster_procs)
