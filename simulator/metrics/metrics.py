"""What a schedule is worth: the metrics of docs/reference/semantics.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.cluster import Cluster, Outages, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule

SEMANTICS = 5
"""Version of the rules and metric definitions in docs/reference/semantics.md. It is stored with every result."""

BOUNDED_SLOWDOWN_TAU_S = 10
LONG_WAIT_S = 24 * 3600
"""Waits beyond this count as long: the job has not started by the same time on the next day."""

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_PER_JOB = ("wait_s", "turnaround_s", "slowdown", "bounded_slowdown", "per_processor_bounded_slowdown")
_STATISTICS = ("average", "median", "p90", "p95", "p99", "max")
_PERCENTS = (50, 90, 95, 99)

METRICS = (
    *(f"{statistic}_{value}" for value in _PER_JOB for statistic in _STATISTICS),
    "area_weighted_wait_s",
    "area_weighted_turnaround_s",
    "utilisation",
    "loss_of_capacity",
    "average_queue_length",
    "average_job_load_proc_s",
    "throughput_jobs_per_hour",
    "makespan_s",
    "backfilled_share",
    "waits_over_24_h_share",
    "average_user_wait_s",
    "max_user_wait_s",
    "average_user_bounded_slowdown",
    "max_user_bounded_slowdown",
    "jain_index_user_bounded_slowdown",
    "jobs_cancelled",
)
"""Names of all metrics, in the order in which `metrics` returns them. Their names have the units."""

SIZE_CLASSES = ("serial", "small", "medium", "large")
RUNTIME_CLASSES = ("under 10 min", "10 min to 1 h", "1 h to 8 h", "8 h and more")
_RUNTIME_LIMITS_S = (600, 3600, 28800)


def bounded_slowdown(
    wait: np.ndarray, runtime: np.ndarray, tau_s: float = BOUNDED_SLOWDOWN_TAU_S, procs: np.ndarray | int = 1
) -> np.ndarray:
    """max(1, (wait + run) / max(run, tau)) per job (Feitelson 2001). It takes seconds and returns ratios, shape (num_jobs,).

    With `procs` it is the one per processor, max(1, (wait + run) / (procs * max(run, tau))) (Zotkin and Keleher 1999).
    """
    return np.maximum(1.0, (wait + runtime) / (procs * np.maximum(runtime, tau_s)))


def measured_jobs(jobs: Jobs, trim_share: float) -> NDArray[np.bool_]:
    """Jobs submitted in the middle of the submission span, for `metrics(..., measured=)`, as bool (num_jobs,).

    Warm-up and cool-down: `trim_share` of the time between first and last submission is cut off at either end. A job
    submitted exactly at a cut is kept. A share of 0 keeps all jobs. Raises ValueError unless 0 <= trim_share < 0.5.
    """
    if not 0 <= trim_share < 0.5:
        raise ValueError(f"trim_share must be at least 0 and below 0.5, got {trim_share}")
    if len(jobs) == 0:
        return np.zeros(0, dtype=np.bool_)
    first, last = int(jobs.submit.min()), int(jobs.submit.max())
    cut = trim_share * (last - first)
    return (jobs.submit >= first + cut) & (jobs.submit <= last - cut)


def metrics(
    jobs: Jobs,
    schedule: Schedule,
    cluster: int | Cluster,
    measured: NDArray[np.bool_] | None = None,
    tau_s: float = BOUNDED_SLOWDOWN_TAU_S,
) -> dict[str, float]:
    """All `METRICS` of a replay. They are defined in docs/reference/semantics.md.

    Metrics of jobs are over the `measured` jobs that started, bool (num_jobs,). By default all jobs are measured. Jobs that waited when
    the replay began (Cluster.waiting) are never measured. Metrics of the machine count all that runs and waits from the first
    submission to the last completion of the other jobs. Where some of these are not measured, it is from the first to the last
    submission of a measured one. tau_s: of the bounded slowdowns, seconds, > 0.
    Raises ValueError when no measured job started.
    """
    if not tau_s > 0:
        raise ValueError(f"tau_s must be above 0, got {tau_s}")
    cluster = Cluster.of(cluster)
    asked = np.arange(len(jobs)) >= cluster.waiting
    measured = asked if measured is None else asked & measured
    counted = schedule.started & measured
    if not counted.any():
        raise ValueError("no job to measure: the replay is empty, or no measured job started")
    everyone = bool(measured[cluster.waiting :].all())
    submitted = jobs.submit[measured]
    first = int(submitted.min())  # of a cancelled job too, so that all schedules are measured from the same time on

    runs = _Runs(jobs, schedule, slice(None) if schedule.started.all() else schedule.started)
    part = runs if everyone and not cluster.waiting else _Runs(jobs, schedule, counted)
    makespan = int(part.end.max()) - first
    last = first + makespan if everyone else int(submitted.max())
    per_job = _per_job(part, tau_s)
    values = (
        _statistics(per_job).ravel().tolist()
        + _area_weighted(part, per_job[:2])
        + _machine(runs, cluster, first, last)
        + [float(makespan), float(schedule.backfilled[counted].mean()), float((per_job[0] > LONG_WAIT_S).mean())]
        + _users(part.user, wait=per_job[0], slowdown=per_job[3])
        + [float(len(submitted) - len(part.wait))]
    )
    return dict(zip(METRICS, values, strict=True))


def size_classes(procs: np.ndarray, cluster_procs: int) -> np.ndarray:
    """Index in SIZE_CLASSES of each job, int (num_jobs,): serial, up to a sixteenth of the cluster, up to a quarter, wider."""
    return np.where(procs == 1, 0, 1 + np.searchsorted((cluster_procs / 16, cluster_procs / 4), procs, side="left"))


def metrics_by_class(
    jobs: Jobs, schedule: Schedule, cluster_procs: int, measured: NDArray[np.bool_] | None = None
) -> list[dict[str, str | int | float]]:
    """Waits of the measured jobs by size class and run-time class, the classes of marts.job_facts. One row per class that has jobs.

    Each row: size_class, runtime_class, jobs, average_wait_s, median_wait_s, p95_wait_s, average_bounded_slowdown.
    Cancelled jobs are in none.
    """
    runs = _Runs(jobs, schedule, schedule.started if measured is None else schedule.started & measured)
    size = size_classes(runs.procs, cluster_procs)
    length = np.searchsorted(_RUNTIME_LIMITS_S, runs.runtime, side="right")
    slowdown = bounded_slowdown(runs.wait, runs.runtime)
    rows: list[dict[str, str | int | float]] = []
    for a, size_class in enumerate(SIZE_CLASSES):
        for b, runtime_class in enumerate(RUNTIME_CLASSES):
            members = (size == a) & (length == b)
            if members.any():
                waits = _statistics(runs.wait[None, members].astype(np.float64))[0]
                wait_by_statistic = dict(zip(_STATISTICS, waits.tolist(), strict=True))
                row: dict[str, str | int | float] = {"size_class": size_class, "runtime_class": runtime_class}
                row["jobs"] = int(members.sum())
                row |= {f"{name}_wait_s": wait_by_statistic[name] for name in ("average", "median", "p95")}
                row["average_bounded_slowdown"] = float(slowdown[members].mean())
                rows.append(row)
    return rows


class _Runs:
    """The jobs of a replay that `which` (a mask or a slice) selects. They must have started. int64 (num_selected,)."""

    def __init__(self, jobs: Jobs, schedule: Schedule, which: NDArray[np.bool_] | slice) -> None:
        self.submit, self.runtime, self.procs = jobs.submit[which], jobs.runtime[which], jobs.procs[which]
        self.user, self.start = jobs.user[which], schedule.start[which]
        self.wait, self.end = self.start - self.submit, self.start + self.runtime


def _per_job(runs: _Runs, tau_s: float) -> FloatArray:
    """The values named in _PER_JOB, float64 (len(_PER_JOB), num_jobs)."""
    wait, runtime = runs.wait, runs.runtime
    values = np.empty((len(_PER_JOB), len(wait)))
    values[0] = wait
    values[1] = wait + runtime
    at_least = np.maximum(runtime, 1)  # times are whole seconds, so a job of 0 s ran for less than one
    values[2] = (wait + at_least) / at_least
    values[3] = bounded_slowdown(wait, runtime, tau_s)
    values[4] = bounded_slowdown(wait, runtime, tau_s, runs.procs)
    return values


def _statistics(values: FloatArray) -> FloatArray:
    """Mean, interpolated percentiles and maximum of each row, (rows, jobs) -> (rows, len(_STATISTICS)). Sorts once."""
    ordered = np.sort(values, axis=1)
    rank = np.array(_PERCENTS) / 100 * (values.shape[1] - 1)
    below = rank.astype(np.int64)
    low, high = ordered[:, below], ordered[:, np.minimum(below + 1, values.shape[1] - 1)]
    return np.column_stack([values.mean(axis=1), low + (high - low) * (rank - below), ordered[:, -1]])


def _area_weighted(runs: _Runs, values: FloatArray) -> list[float]:
    """Means of the rows of `values` (rows, num_jobs), weighted by processors x run time. Without any area they are not weighted."""
    area = (runs.procs * runs.runtime).astype(np.float64)
    if not area.any():
        area[:] = 1.0
    return (values @ area / area.sum()).tolist()


def _machine(runs: _Runs, cluster: Cluster, first: int, last: int) -> list[float]:
    """utilisation, loss of capacity, mean queue length, mean job load, throughput in [first, last], seconds."""
    duration = max(last - first, 1)  # a replay that is over in the second it began
    held, capacity, lost = _processor_seconds(runs, cluster.procs, cluster.running, cluster.outages, first, last)
    waited = np.clip(runs.start, first, last) - np.clip(runs.submit, first, last)
    load = float(waited.astype(np.float64) @ (runs.procs * runs.runtime))  # in floats: the product may pass 2^63
    ended = int(((runs.end >= first) & (runs.end <= last)).sum())
    capacity = max(capacity, 1)  # 0 in no time, and while outages take all of it. Then none is held or lost
    queue_length, throughput = int(waited.sum()) / duration, ended * 3600 / duration
    return [held / capacity, lost / capacity, queue_length, load / duration, throughput]


def _processor_seconds(
    runs: _Runs, procs: int, running: RunningJobs, outages: Outages, first: int, last: int
) -> tuple[int, int, int]:
    """Processor-seconds in [first, last]: held, available, and lost (free while jobs wait that need as many)."""
    moments = [runs.submit, runs.start, runs.end]
    held = [np.zeros_like(runs.procs), runs.procs, -runs.procs]
    asked = [runs.procs, -runs.procs, np.zeros_like(runs.procs)]
    if len(running):
        moments += [running.start, running.start + running.runtime]
        held += [running.procs, -running.procs]
    moments += [np.array([first, last])]  # the time before the first event and after the last one counts too
    if len(outages):
        moments += [outages.start, outages.end]
    time = np.clip(np.concatenate(moments), first, last)  # what happened before `first` counts from there on
    order = np.argsort(time)
    length = np.diff(time[order])  # 0 between events of the same second, so their order does not matter
    in_use = _level(held, order)
    waiting = _level(asked, order)
    there = np.full_like(in_use, procs)
    if len(outages):
        missing = _level([np.zeros(len(time) - 2 * len(outages), np.int64), outages.procs, -outages.procs], order)
        there = np.maximum(procs - missing, in_use)  # an outage takes a processor only once its job has ended
    lost = np.minimum(there - in_use, waiting)
    return int(in_use @ length), int(there @ length), int(lost @ length)


def _level(changes: list[IntArray], order: IntArray) -> IntArray:
    """Running total after each event but the last, the events in `order`. Events past the end of `changes` change 0."""
    change = np.zeros(len(order), dtype=np.int64)
    joined = np.concatenate(changes)
    change[: len(joined)] = joined
    return np.cumsum(change[order])[:-1]


def _users(user: IntArray, wait: FloatArray, slowdown: FloatArray) -> list[float]:
    """Mean and maximum over users of the users' mean waits, then of their mean bounded slowdowns. Last comes Jain's index of these.

    Jain, Chiu and Hawe 1984: `(sum x)^2 / (n * sum x^2)`. It is 1 where the value is the same for all users, and 1/n where it is not
    zero for one user only.
    """
    _, number = np.unique(user, return_inverse=True)
    jobs = np.bincount(number)
    waits, slowdowns = np.bincount(number, wait) / jobs, np.bincount(number, slowdown) / jobs
    jain = slowdowns.sum() ** 2 / (len(jobs) * (slowdowns**2).sum())
    return [float(x) for x in (waits.mean(), waits.max(), slowdowns.mean(), slowdowns.max(), jain)]
