"""The queue of a scheduler as it is now, as the state of a machine: with run times that the champion predicts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

import sql
from assets.common.trace import Trace
from assets.predictions.model_registry import has_champion, load_champion
from assets.predictions.waits import load_trace_with_nodes, site_waits
from assets.replaying.limits.way import clock_zero_s
from assets.replaying.own.queue_causes import queue_job_row
from assets.replaying.starts import OnSite, on_site
from models.runtime.named import make_predictor
from models.runtime.past.histories import histories
from models.runtime.past.similar import similar_job_features
from models.runtime.predictor import QUANTILE_COLUMNS, FloatArray, Prediction, Predictor
from models.runtime.prequential import FALLBACK
from models.waits.clock import LogClock
from models.waits.history import History, JobSet, State, history_of, joined_histories
from models.waits.replays import QueueStarts
from models.waits.scoring import WaitsUnknown
from traces.common.queue import RUNNING, WAITING, QueueJob, QueueSnapshot
from warehouse import Warehouse

ALL_JOBS = 1 << 40
_NAMES = ("user", "group", "executable")


@dataclass(frozen=True)
class QueueNow:
    """A queue that can be replayed.

    entries: of the snapshot that wait for processors, by submission, each once. first: the position in `state.waiting` of the first task of
    each, int64 (entries,). too_wide: entries that never fit. version: of the champion that predicted the run times, None where the
    source has none, so that similar jobs did. replays: of the site. trace, place: of the log and the queue,
    as SiteStarts has them. history: of the log, None where it says nothing of waits."""

    clock: LogClock
    state: State
    entries: tuple[QueueJob, ...]
    first: np.ndarray
    too_wide: tuple[QueueJob, ...]
    version: int | None
    replays: OnSite
    trace: Trace
    place: np.ndarray
    history: History | None

    @property
    def starts(self) -> QueueStarts:
        """Replays of the queue by its site."""
        return self.replays.starts(self.trace, self.place)


def load_queue_now(warehouse: Warehouse, source: str, snapshot: QueueSnapshot, now_s: int) -> QueueNow:
    """The state of a source's machine by a snapshot of its queue. now_s: when the snapshot was written, Unix seconds.

    The champion predicts each run time from the jobs of the source that had ended by then, else similar ones of these do. Raises ValueError
    where the source is not in the warehouse, or the champion's file has changed.
    """
    replays = on_site(warehouse, source)
    trace = load_trace_with_nodes(warehouse, source, replays.settings)
    zero = clock_zero_s(trace)
    history, place = None, np.zeros(0, dtype=np.int64)
    with suppress(WaitsUnknown):  # no job of the log has a start
        of_log = site_waits(warehouse, trace, replays)
        history, trace, place = of_log.log.history, of_log.trace, of_log.place
    jobs = sorted((job for job in snapshot.jobs if job.state in (RUNNING, WAITING)), key=lambda job: job.submit_s)
    version, quantiles = _predicted(warehouse, source, jobs, trace.time_zone, now_s)
    live = _live_rows(trace, jobs, quantiles, now_s)
    trace = replace(trace, rows=pl.concat([trace.rows, live]), nodes=_with_live_nodes(trace, live, jobs))
    procs = replays.procs or trace.cluster_procs
    now = history_of(live, procs, whole=False)
    number = np.arange(len(jobs))
    place = np.concatenate([place, trace.rows.height - len(jobs) + number])
    if history is not None:
        history, order = joined_histories(history, now)
        place, number = place[order], np.argsort(order)[len(order) - len(jobs) :]
    runs = [k for k, job in enumerate(jobs) if job.state == RUNNING]
    waits = [k for k, job in enumerate(jobs) if job.state == WAITING and job.procs <= procs]
    tasks = [jobs[k].tasks for k in waits]
    each = [k for k, count in zip(waits, tasks, strict=True) for _ in range(count)]

    def job_set(chosen: list[int], since: np.ndarray) -> JobSet:
        return replace(now.job_set(np.array(chosen, dtype=np.int64), since[chosen]), number=number[chosen])

    return QueueNow(
        trace.clock,
        State(now_s - zero, procs, job_set(runs, now.start), job_set(each, now.submit)),
        tuple(jobs[k] for k in waits),
        np.concatenate([[0], np.cumsum(tasks, dtype=np.int64)[:-1]]).astype(np.int64)
        if waits
        else np.zeros(0, np.int64),
        tuple(job for job in jobs if job.state == WAITING and job.procs > procs),
        version,
        replays,
        trace,
        place,
        history,
    )


def _live_rows(trace: Trace, jobs: list[QueueJob], quantiles: FloatArray, now_s: int) -> pl.DataFrame:
    """The jobs of a queue as rows of the trace of their log, behind its own. quantiles: of their run times, seconds (jobs, levels)."""
    rows, zero = trace.rows, clock_zero_s(trace)
    first = 1 + max(rows["job_index"].to_list(), default=-1)
    number = dict(rows.select("user_name", "user_number").unique().iter_rows())
    new = 1 + max(number.values(), default=-1)
    made = []
    for k, (job, runtimes) in enumerate(zip(jobs, quantiles.tolist(), strict=True)):
        row = queue_job_row(job, first + k, now_s)
        user = number.setdefault(job.user_name, new)
        new = max(new, user + 1)
        row |= {
            "submit_s": row["submit_s"] - zero,
            "start_s": None if row["start_s"] is None else row["start_s"] - zero,
            "requested_walltime_s": row["requested_walltime_s"] or -1,
            # it is not over
            "runtime_s": 1 + now_s - (row["start_s"] or now_s),
            **dict(zip(QUANTILE_COLUMNS, runtimes, strict=True)),
            "user_number": user,
            "longest_runtime_s": rows["longest_runtime_s"][0],
            **dict.fromkeys(("memory_share", "user_place", "group_place", "executable_place"), 1.0),
        }
        made.append({name: row.get(name) for name in rows.columns})
    return pl.DataFrame(made, schema=rows.schema)


def _with_live_nodes(trace: Trace, live: pl.DataFrame, jobs: list[QueueJob]) -> pl.DataFrame | None:
    if trace.nodes is None:
        return None
    held = [
        {"job_index": index, "node_name": name, "procs": None}
        for index, job in zip(live["job_index"], jobs, strict=True)
        for name in job.asked.node_names
    ]
    return pl.concat([trace.nodes, pl.DataFrame(held, schema=trace.nodes.schema)])


def _predicted(
    warehouse: Warehouse, source: str, jobs: list[QueueJob], time_zone: str, now_s: int
) -> tuple[int | None, FloatArray]:
    """(version of the champion, quantiles of run times (jobs, levels) in seconds) of jobs in order of submission."""
    if has_champion(warehouse, source):
        version, predictor = load_champion(warehouse, source)
    else:
        version, predictor = None, make_predictor(FALLBACK)
    if not jobs:
        return version, np.zeros((0, 8))
    past, now = _past_jobs(warehouse, source, now_s), _rows_of(jobs, now_s)
    return version, _predictions(predictor, past, now, time_zone).quantiles


def predicted_at_end(warehouse: Warehouse, source: str, jobs: pl.DataFrame, time_zone: str) -> Prediction:
    """Run times of jobs that never started, as if they were submitted when the log of their source ended: the champion predicts them, else
    similar jobs. jobs: procs, requested_procs, requested_walltime_s (null without a request) and names."""
    predictor = make_predictor(FALLBACK)
    if has_champion(warehouse, source):
        with suppress(ValueError):  # its file is lost, or of a kind that is no more
            predictor = load_champion(warehouse, source)[1]
    past = _past_jobs(warehouse, source, ALL_JOBS)
    end_s = pl.lit(
        1 + int(max(past["end_s"].fill_null(0).to_numpy().max(), past["submit_s"].to_numpy().max())), pl.Int64
    )
    names = ("procs", "requested_procs", "requested_walltime_s", "user_name", "group_name", "executable", "queue")
    now = jobs.select(name for name in names if name in jobs.columns).with_columns(
        is_now=True, failed=False, submit_s=end_s, start_s=pl.lit(None, pl.Int64), submit_time=pl.from_epoch(end_s)
    )
    return _predictions(predictor, past, now, time_zone)


def _predictions(predictor: Predictor, past: pl.DataFrame, jobs: pl.DataFrame, time_zone: str) -> Prediction:
    """Run times of jobs by those of the past: rows of `_past_jobs` and, in order of submission, of `_rows_of`."""
    both = pl.concat([past, jobs], how="diagonal_relaxed")
    both = both.sort("submit_s", maintain_order=True).with_columns(
        (pl.col(name).rank("dense") - 1).cast(pl.Int32).alias(f"{kind}_number")
        for kind, name in zip(_NAMES, ("user_name", "group_name", "executable"), strict=True)
    )
    (history,) = histories([both], both.height)
    # the features that predictors learn from leave out run times of 0, such as those of jobs that were cancelled while they waited
    ran = both.with_columns(pl.when(pl.col("runtime_s") > 0).then("runtime_s").alias("runtime_s"))
    rows = both.hstack(history).hstack(similar_job_features(ran)).filter(pl.col("is_now"))
    local = pl.col("submit_time").dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    rows = rows.with_columns(hour_of_day=local.dt.hour().cast(pl.Int64), day_of_week=local.dt.weekday().cast(pl.Int64))
    return predictor.predict(rows)


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


class QueueMoment(NamedTuple):
    """second: when a queue was as a snapshot has it, Unix seconds. words: where that is known from."""

    second: int
    words: str


def snapshot_moment(snapshot: QueueSnapshot, otherwise: QueueMoment, is_live: bool = False) -> QueueMoment:
    """When a snapshot was written: as it says itself, else the latest of its times, and never before a job that it shows. otherwise: where
    it has neither. That comes first if the snapshot was made just then, which is_live says."""
    if snapshot.written_s is not None:
        moment = QueueMoment(snapshot.written_s, "as the queue says itself")
    elif snapshot.latest_s is not None and not is_live:
        moment = QueueMoment(
            snapshot.latest_s, "by the latest time in the queue, which does not say when it was written"
        )
    else:
        moment = otherwise
    shown = [max(job.submit_s, job.start_s or 0) for job in snapshot.jobs]
    return moment._replace(second=max([moment.second, *shown]))
