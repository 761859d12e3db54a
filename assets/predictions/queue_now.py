"""The queue of a scheduler as it is now, as the state of a machine: with run times that the champion predicts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

import numpy as np
import polars as pl

import sql
from assets.common.trace import load_clock
from assets.predictions.model_registry import load_champion
from models.runtime.past.histories import histories
from models.runtime.past.similar import similar_job_features
from models.runtime.predictor import FloatArray
from models.waits.clock import LogClock
from models.waits.history import JobSet, State
from traces.common.queue import RUNNING, WAITING, QueueJob, QueueSnapshot
from warehouse import Warehouse, first_row

ALL_JOBS = 1 << 40
_NAMES = ("user", "group", "executable")


@dataclass(frozen=True)
class QueueNow:
    """A queue that can be replayed.

    entries: of the snapshot that wait for processors, by submission, each once. first: the position in `state.waiting` of the first task of
    each, int64 (entries,). too_wide: entries that never fit. version: of the champion that predicted the run times."""

    clock: LogClock
    state: State
    entries: tuple[QueueJob, ...]
    first: np.ndarray
    too_wide: tuple[QueueJob, ...]
    version: int


def load_queue_now(warehouse: Warehouse, source: str, snapshot: QueueSnapshot, now_s: int) -> QueueNow:
    """The state of a source's machine by a snapshot of its queue. now_s: when the snapshot was written, Unix seconds.

    The champion predicts each run time from the jobs of the source that had ended by then. Raises ValueError where the source is not in the
    warehouse or has no champion.
    """
    clock = load_clock(warehouse, source)
    with warehouse.read() as connection:
        row = first_row(connection, "SELECT cluster_procs FROM core.sources WHERE source = ?", [source])
    assert row is not None
    cluster_procs = int(row[0])
    jobs = sorted((job for job in snapshot.jobs if job.state in (RUNNING, WAITING)), key=lambda job: job.submit_s)
    version, quantiles = _predicted(warehouse, source, jobs, clock.time_zone, now_s)
    users: dict[str | None, int] = {}
    number = np.array([users.setdefault(job.user_name, len(users)) for job in jobs], dtype=np.int64)
    zero = int(clock.zero.replace(tzinfo=UTC).timestamp())
    runs = [k for k, job in enumerate(jobs) if job.state == RUNNING]
    waits = [k for k, job in enumerate(jobs) if job.state == WAITING and job.procs <= cluster_procs]
    tasks = [jobs[k].tasks for k in waits]
    each = [k for k, count in zip(waits, tasks, strict=True) for _ in range(count)]

    def job_set(places: list[int], since: list[int]) -> JobSet:
        chosen = [jobs[k] for k in places]
        columns = ([job.procs for job in chosen], [job.requested_walltime_s for job in chosen], number[places])
        whole = [np.array(column, dtype=np.int64) for column in (since, *columns, [-1] * len(places))]
        since_s, procs, request, user, in_log = whole
        return JobSet(since_s, procs, request, user, in_log, quantiles[places])

    running = job_set(runs, [min(jobs[k].start_s or now_s, now_s) - zero for k in runs])
    waiting = job_set(each, [min(jobs[k].submit_s, now_s) - zero for k in each])
    return QueueNow(
        clock,
        State(now_s - zero, cluster_procs, running, waiting),
        tuple(jobs[k] for k in waits),
        np.concatenate([[0], np.cumsum(tasks, dtype=np.int64)[:-1]]).astype(np.int64)
        if waits
        else np.zeros(0, np.int64),
        tuple(job for job in jobs if job.state == WAITING and job.procs > cluster_procs),
        version,
    )


def _predicted(
    warehouse: Warehouse, source: str, jobs: list[QueueJob], time_zone: str, now_s: int
) -> tuple[int, FloatArray]:
    """(version of the champion, quantiles of run times (jobs, levels) in seconds) of jobs in order of submission."""
    version, champion = load_champion(warehouse, source)
    if not jobs:
        return version, np.zeros((0, 8))
    both = pl.concat([_past_jobs(warehouse, source, now_s), _rows_of(jobs, now_s)], how="diagonal_relaxed")
    both = both.sort("submit_s", maintain_order=True).with_columns(
        (pl.col(name).rank("dense") - 1).cast(pl.Int32).alias(f"{kind}_number")
        for kind, name in zip(_NAMES, ("user_name", "group_name", "executable"), strict=True)
    )
    (past,) = histories([both], both.height)
    rows = both.hstack(past).hstack(similar_job_features(both)).filter(pl.col("is_now"))
    local = pl.col("submit_time").dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    rows = rows.with_columns(hour_of_day=local.dt.hour().cast(pl.Int64), day_of_week=local.dt.weekday().cast(pl.Int64))
    return version, champion.predict(rows).quantiles


def _past_jobs(warehouse: Warehouse, source: str, now_s: int) -> pl.DataFrame:
    """Jobs of the source that were over by a moment, with the columns that features are computed from."""
    names = sql.load("core.replay_names")
    bounds = {"source": source, "from_index": 0, "to_index": ALL_JOBS}
    with warehouse.read() as connection:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE replay_names AS {names}", {"source": source})
        moments = connection.sql(sql.load("features.job_moments"), params=bounds).pl()
        names_of_jobs = connection.sql(
            "SELECT job_index, submit_time, end_time, user_name, group_name, executable FROM core.jobs WHERE source = $source",
            params={"source": source},
        ).pl()
    rows = moments.join(names_of_jobs, on="job_index", how="left", maintain_order="left")
    over = (pl.col("submit_s") < now_s) & (pl.col("end_s").is_null() | (pl.col("end_s") <= now_s))
    return rows.filter(over).with_columns(
        is_now=False,
        end_time=pl.from_epoch("end_s", time_unit="s"),
        submit_time=pl.from_epoch("submit_s", time_unit="s"),
    )


def _rows_of(jobs: list[QueueJob], now_s: int) -> pl.DataFrame:
    """The jobs of the queue with the columns of `_past_jobs`; nobody knows yet when they end."""
    asked = [job.requested_walltime_s if job.requested_walltime_s >= 1 else None for job in jobs]
    rows = pl.DataFrame(
        {
            "submit_s": [min(job.submit_s, now_s) for job in jobs],
            "start_s": [None if job.start_s is None else min(job.start_s, now_s) for job in jobs],
            "procs": [job.procs for job in jobs],
            "requested_procs": [job.procs for job in jobs],
            "requested_walltime_s": asked,
            "user_name": [job.user_name for job in jobs],
            "group_name": [job.group_name for job in jobs],
            "executable": [job.job_name for job in jobs],
            "queue": [job.queue for job in jobs],
        },
        schema_overrides={"start_s": pl.Int64, "requested_walltime_s": pl.Int64}
        | dict.fromkeys(("user_name", "group_name", "executable", "queue"), pl.Utf8),
    )
    return rows.with_columns(is_now=True, failed=False, submit_time=pl.from_epoch("submit_s", time_unit="s"))


def snapshot_moment(snapshot: QueueSnapshot, otherwise_s: int) -> int:
    """When a snapshot was written, Unix seconds: as it says itself, else `otherwise_s`, and never before a job that it shows."""
    shown = [max(job.submit_s, job.start_s or 0) for job in snapshot.jobs]
    written = snapshot.written_s if snapshot.written_s is not None else otherwise_s
    return max([written, *shown])
