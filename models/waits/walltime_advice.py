"""The walltime to request for a given risk of being killed, from the run times of the user's ended jobs.

The rank is that of a conformal bound. Suppose the next job were exchangeable with the n jobs used. Then its run time would exceed the
ceil((n + 1)(1 - risk))-th smallest of theirs with at most that probability, whatever the distribution. Jobs of a user come in
campaigns and are not exchangeable. So the rule is tried on the past, job by job, and corrected by the jobs that it would have killed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

RECENT_JOBS = 300
"""Ended jobs that are used. Older ones come from other programs."""
ROUND_S = 60
MARGIN = 0.8
"""Share of the wanted risk that the rule aims at on average, so that most users stay below the risk that they want."""
RISK_STEP = 0.02
"""How far one killed job lowers the aimed risk, as a share of one. Adaptive conformal inference: Gibbs and Candes 2021."""
LEAST_AIM, LARGEST_AIM = -0.5, 0.5
"""Bounds of the aimed risk. Where it is lower than the ended jobs can show, the advice is the longest request among them."""
TRIED_JOBS = 3000
"""Most of the user's jobs that the rule is tried on: the last ones."""


@dataclass(frozen=True)
class EndedJobs:
    """Jobs in order of submission, int64 (jobs,). submit, end: seconds of the log's clock. runtime, procs. request: seconds, below 1
    where there is none. user, executable: numbers, -1 for unknown."""

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
    """walltime_s: to request. jobs: how many ended jobs of the `group` it comes from. at_limit: how many of them ended within a
    minute of their request or later, so that they may have needed more. median_request_s: of these jobs, None without any
    request."""

    walltime_s: int
    group: str
    jobs: int
    at_limit: int
    median_runtime_s: float
    median_request_s: float | None


@dataclass(frozen=True)
class AdviceTrial:
    """The outcome if each of the jobs had requested the walltime advised before its submission. killed: share of them that ran longer.
    median_advised_s, median_requested_s: over jobs with a request. requested_share: processor-seconds advised divided by those
    requested, over the same jobs. aimed_risk: the risk that the rule has learned to aim at for the wanted risk."""

    jobs: int
    killed: float
    median_advised_s: float
    median_requested_s: float | None
    requested_share: float | None
    aimed_risk: float


def ended_jobs_of(rows: pl.DataFrame) -> EndedJobs:
    """rows: jobs that ran, in order of submission: submit_s, start_s, runtime_s, procs, requested_walltime_s, user_number,
    executable. Executables are numbered in alphabetical order."""
    names = _executables(rows)
    codes = rows["executable"].replace_strict(
        names, pl.arange(len(names), eager=True), default=-1, return_dtype=pl.Int64
    )
    submit, start, runtime, procs, request, users = (
        rows[name].to_numpy()
        for name in ("submit_s", "start_s", "runtime_s", "procs", "requested_walltime_s", "user_number")
    )
    return EndedJobs(submit, start + runtime, runtime, procs, request, users, codes.to_numpy())


def executable_number(rows: pl.DataFrame, source: str, user: str, executable: str) -> int:
    """The number of an executable in `ended_jobs_of`. Raises ValueError, with the user's executables, for one that the user has not
    run."""
    of_user = rows.filter(pl.col("user_name") == user)["executable"]
    if executable not in of_user:
        names = of_user.drop_nulls().unique().sort().to_list()
        raise ValueError(
            f"source {source!r}: user {user!r} has no job of executable {executable!r}. Expected one of "
            f"{', '.join(names[:12]) or 'none (the log does not name them)'}{', ...' if len(names) > 12 else ''}"
        )
    return int(np.searchsorted(_executables(rows).to_numpy(), executable))


def _executables(rows: pl.DataFrame) -> pl.Series:
    return pl.Series(rows["executable"].unique().drop_nulls().sort())


def bound(runtimes: IntArray, risk: float) -> int | None:
    """The run time that the next job exceeds with at most `risk`, in seconds, rounded up to minutes. None with too few run times."""
    rank = math.ceil((len(runtimes) + 1) * (1 - risk) - 1e-9)
    if rank > len(runtimes):
        return None
    value = int(np.partition(runtimes, rank - 1)[rank - 1])
    return -(-value // ROUND_S) * ROUND_S


def groups_of(
    jobs: EndedJobs, user: int, procs: int | None, executable: int | None
) -> list[tuple[str, NDArray[np.bool_]]]:
    """The groups that a job may be compared with, most alike first: their name and their jobs."""
    mine = jobs.user == user
    groups = []
    if executable is not None and procs is not None:
        groups.append(
            ("user, executable and processors", mine & (jobs.executable == executable) & (jobs.procs == procs))
        )
    if executable is not None:
        groups.append(("user and executable", mine & (jobs.executable == executable)))
    if procs is not None:
        groups.append(("user and processors", mine & (jobs.procs == procs)))
    return [*groups, ("user", mine)]


def advise(
    jobs: EndedJobs,
    user: int,
    procs: int | None,
    executable: int | None,
    moment: int,
    risk: float,
    aimed: float | None = None,
) -> Advice | None:
    """The advice at a moment for a job of this kind: from the last RECENT_JOBS that had ended, of the most alike group that has enough.

    aimed: risk to aim at instead of MARGIN of `risk`. None where even the user has too few ended jobs for the risk."""
    held = MARGIN * risk
    for name, alike in groups_of(jobs, user, procs, executable):
        recent = _recent(jobs, alike, moment)
        if bound(jobs.runtime[recent], held) is None:
            continue
        walltime = bound(jobs.runtime[recent], aimed if aimed is not None else held)
        if walltime is None:  # the risk is corrected below what the run times can show: only a longer request is left
            walltime = _longest(jobs, recent)
        return _advice(jobs, recent, name, walltime)
    return None


def longest_of(jobs: EndedJobs, user: int, procs: int | None, executable: int | None, moment: int) -> Advice | None:
    """The longest that the user's last jobs of this kind requested or ran, where too few have ended to know a risk. None without such
    jobs."""
    for name, alike in groups_of(jobs, user, procs, executable):
        recent = _recent(jobs, alike, moment)
        if len(recent):
            return _advice(jobs, recent, name, _longest(jobs, recent))
    return None


def _longest(jobs: EndedJobs, recent: IntArray) -> int:
    """The longest run time or request of these jobs, seconds, rounded up."""
    longest = max(int(jobs.runtime[recent].max()), int(jobs.request[recent].max()))
    return -(-longest // ROUND_S) * ROUND_S


def _recent(jobs: EndedJobs, alike: NDArray[np.bool_], moment: int) -> IntArray:
    """Of these jobs the last RECENT_JOBS that had ended, by their ends."""
    recent = np.flatnonzero(alike & (jobs.end <= moment))
    return recent[np.argsort(jobs.end[recent], kind="stable")][-RECENT_JOBS:]


def _advice(jobs: EndedJobs, recent: IntArray, group: str, walltime_s: int) -> Advice:
    runtime, request = jobs.runtime[recent], jobs.request[recent]
    asked = request[request >= 1]
    return Advice(
        walltime_s,
        group,
        len(recent),
        int(((request >= 1) & (runtime >= request - ROUND_S)).sum()),
        float(np.median(runtime)),
        float(np.median(asked)) if len(asked) else None,
    )


def try_on_history(
    jobs: EndedJobs, user: int, moment: int, risk: float, use_executable: bool, use_procs: bool, adapt: bool = True
) -> AdviceTrial | None:
    """Advises the user's last TRIED_JOBS jobs that ended by `moment`, each from jobs that had ended when it was submitted.

    adapt: whether kills of jobs that had ended by then correct the aimed risk. None where no job could be advised.
    """
    mine = np.flatnonzero((jobs.user == user) & (jobs.end <= moment))
    part = EndedJobs(*(getattr(jobs, name)[mine] for name in EndedJobs.__dataclass_fields__))
    advised: dict[int, int] = {}
    waiting: list[int] = []
    aimed = held = MARGIN * risk

    def ended_at(k: int) -> int:
        return int(part.end[k] - part.runtime[k] + min(part.runtime[k], advised[k]))

    def corrected(aimed: float, k: int) -> float:
        killed = part.runtime[k] > advised[k]
        return float(np.clip(aimed + RISK_STEP * (held - killed), LEAST_AIM, LARGEST_AIM)) if adapt else held

    for k in range(max(0, len(part) - TRIED_JOBS), len(part)):
        now = int(part.submit[k])
        for other in [other for other in waiting if ended_at(other) <= now]:
            waiting.remove(other)
            aimed = corrected(aimed, other)
        procs = int(part.procs[k]) if use_procs else None
        executable = int(part.executable[k]) if use_executable and part.executable[k] >= 0 else None
        advice = advise(part, user, procs, executable, now, risk, aimed)
        if advice is not None:
            advised[k] = advice.walltime_s
            waiting.append(k)
    if not advised:
        return None
    for other in waiting:
        aimed = corrected(aimed, other)
    return _trial_of(part, advised, aimed)


def _trial_of(jobs: EndedJobs, advised: dict[int, int], aimed: float) -> AdviceTrial:
    """advised: walltime in seconds by number of the job."""
    numbers, walltime = np.array(list(advised)), np.array(list(advised.values()), dtype=np.float64)
    runtime, request, procs = jobs.runtime[numbers], jobs.request[numbers], jobs.procs[numbers]
    asked = request >= 1
    return AdviceTrial(
        len(numbers),
        float((runtime > walltime).mean()),
        float(np.median(walltime)),
        float(np.median(request[asked])) if asked.any() else None,
        float((walltime * procs)[asked].sum() / (request * procs)[asked].sum()) if asked.any() else None,
        aimed,
    )
