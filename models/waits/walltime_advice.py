"""The wall time to request, aiming at a given risk of being killed, from the run times of the user's ended jobs.

The rank of a conformal bound: if the next job were exchangeable with the n jobs looked at, its run time would exceed the
ceil((n + 1)(1 - risk))-th smallest of theirs with at most that probability, whatever the distribution. Jobs of a user come in
campaigns and are not exchangeable, so the rule is tried on the past, job by job, and corrected by what it would have killed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

RECENT_JOBS = 300
"""Ended jobs that are looked at; older ones tell of other programs."""
ROUND_S = 60
STEP = 0.02
"""How far one killed job lowers the risk that is aimed at, in shares of one: Gibbs and Candes 2021, adaptive conformal
inference."""
LEAST_RISK = 0.001
TRIED_JOBS = 3000
"""Most of the user's jobs that the rule is tried on: the last ones."""


@dataclass(frozen=True)
class Jobs:
    """Jobs in order of submission, int64 (jobs,): submit and end, seconds of the log's clock; runtime; procs; request,
    seconds, below 1 where there is none; user, executable: numbers, -1 for unknown."""

    submit: IntArray
    end: IntArray
    runtime: IntArray
    procs: IntArray
    request: IntArray
    user: IntArray
    executable: IntArray

    def __len__(self) -> int:
        return len(self.submit)


@dataclass(frozen=True)
class Advice:
    """walltime_s: to request; jobs: ended jobs that it rests on, of the `group`; at_limit: how many of them ended within a
    minute of their request or later, so that they may have needed more; median_request_s: of these jobs, None without any
    request."""

    walltime_s: int
    group: str
    jobs: int
    at_limit: int
    median_runtime_s: float
    median_request_s: float | None


@dataclass(frozen=True)
class Trial:
    """What would have happened had each of the jobs requested what was advised before it was submitted. killed: share of
    them that ran longer; median_advised_s, median_requested_s: over jobs with a request; requested_share: processor-seconds
    advised by those requested, over the same; aimed_risk: what the rule has learned to aim at for the risk asked for."""

    jobs: int
    killed: float
    median_advised_s: float
    median_requested_s: float | None
    requested_share: float | None
    aimed_risk: float


def bound(runtimes: IntArray, risk: float) -> int | None:
    """The run time that the next job exceeds with at most `risk`, seconds up to whole minutes; None with too few run times."""
    rank = math.ceil((len(runtimes) + 1) * (1 - risk) - 1e-9)
    if rank > len(runtimes):
        return None
    value = int(np.partition(runtimes, rank - 1)[rank - 1])
    return -(-value // ROUND_S) * ROUND_S


def groups_of(jobs: Jobs, user: int, procs: int | None, executable: int | None) -> list[tuple[str, NDArray[np.bool_]]]:
    """Whom a job may be compared with, most alike first: name and which jobs."""
    mine = jobs.user == user
    found = []
    if executable is not None and procs is not None:
        found.append(
            ("user, executable and processors", mine & (jobs.executable == executable) & (jobs.procs == procs))
        )
    if executable is not None:
        found.append(("user and executable", mine & (jobs.executable == executable)))
    if procs is not None:
        found.append(("user and processors", mine & (jobs.procs == procs)))
    return [*found, ("user", mine)]


def advise(
    jobs: Jobs,
    user: int,
    procs: int | None,
    executable: int | None,
    moment: int,
    risk: float,
    aimed: float | None = None,
) -> Advice | None:
    """The advice at a moment for a job of this kind, from the last RECENT_JOBS that had ended, of the most alike group that
    has enough of them. aimed: risk to aim at in the place of `risk`. None where even the user has too few ended jobs for
    the risk."""
    ended = jobs.end <= moment
    # a group is enough when it can answer for the risk asked for; one that is corrected below what it has tells its longest
    for name, alike in groups_of(jobs, user, procs, executable):
        recent = np.flatnonzero(alike & ended)
        recent = recent[np.argsort(jobs.end[recent], kind="stable")][-RECENT_JOBS:]
        if bound(jobs.runtime[recent], risk) is None:
            continue
        runtime, request = jobs.runtime[recent], jobs.request[recent]
        walltime = bound(runtime, max(aimed if aimed is not None else risk, 1.001 / (len(runtime) + 1)))
        assert walltime is not None
        return Advice(
            walltime, name, len(recent), int(((request >= 1) & (runtime >= request - ROUND_S)).sum()),
            float(np.median(runtime)), float(np.median(request[request >= 1])) if (request >= 1).any() else None,
        )  # fmt: skip
    return None


def try_on_history(
    jobs: Jobs, user: int, moment: int, risk: float, use_executable: bool, use_procs: bool, adapt: bool = True
) -> Trial | None:
    """Advises the user's last TRIED_JOBS jobs that ended by `moment`, each from jobs that had ended when it was submitted.

    adapt: whether kills that were known by then correct the risk that is aimed at. None where no job could be advised.
    """
    mine = np.flatnonzero((jobs.user == user) & (jobs.end <= moment))
    part = Jobs(*(getattr(jobs, name)[mine] for name in Jobs.__dataclass_fields__))
    advised: dict[int, int] = {}
    waiting: list[int] = []
    aimed = risk

    def known_at(k: int) -> int:
        return int(part.end[k] - part.runtime[k] + min(part.runtime[k], advised[k]))

    def corrected(aimed: float, k: int) -> float:
        killed = part.runtime[k] > advised[k]
        return float(np.clip(aimed + STEP * (risk - killed), LEAST_RISK, 0.5)) if adapt else risk

    for k in range(max(0, len(part) - TRIED_JOBS), len(part)):
        now = int(part.submit[k])
        for other in [other for other in waiting if known_at(other) <= now]:
            waiting.remove(other)
            aimed = corrected(aimed, other)
        found = advise(
            part, user, int(part.procs[k]) if use_procs else None,
            int(part.executable[k]) if use_executable and part.executable[k] >= 0 else None, now, risk, aimed,
        )  # fmt: skip
        if found is not None:
            advised[k] = found.walltime_s
            waiting.append(k)
    if not advised:
        return None
    for other in waiting:
        aimed = corrected(aimed, other)
    numbers, walltime = np.array(list(advised)), np.array(list(advised.values()), dtype=np.float64)
    runtime, request, procs = part.runtime[numbers], part.request[numbers], part.procs[numbers]
    known = request >= 1
    return Trial(
        len(numbers), float((runtime > walltime).mean()), float(np.median(walltime)),
        float(np.median(request[known])) if known.any() else None,
        float((walltime * procs)[known].sum() / (request * procs)[known].sum()) if known.any() else None,
        aimed,
    )  # fmt: skip
