"""The queue of a scheduler as it is now, as the state of a machine: with run times that the champion predicts.

When the jobs of a queue start, by trees on the queues of the source's past: where log and queue have the jobs' priorities.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import sql
from assets.common.trace import load_clock
from assets.predictions.model_registry import has_champion, load_champion
from models.runtime.named import make_predictor
from models.runtime.past.histories import histories
from models.runtime.past.similar import similar_job_features
from models.runtime.predictor import FloatArray, Prediction, Predictor
from models.runtime.prequential import FALLBACK
from models.waits.clock import LogClock
from models.waits.history import JobSet, State
from models.waits.start_trees import (
    OWN_FEATURES,
    QUEUE_COLUMNS,
    REMEMBERED_QUEUES,
    SHORT_S,
    STATE_FEATURES,
    AgePart,
    IntervalsOverTime,
    PastQueue,
    StartTrees,
    queue_at,
)
from simulator.slurm.priority import priority_rules
from traces.cluster.description import ClusterDescription
from traces.common.queue import RUNNING, WAITING, QueueJob, QueueSnapshot
from warehouse import Warehouse, first_row

ALL_JOBS = 1 << 40
_NAMES = ("user", "group", "executable")


@dataclass(frozen=True)
class QueueNow:
    """A queue that can be replayed.

    entries: of the snapshot that wait for processors, by submission, each once. first: the position in `state.waiting` of the first task of
    each, int64 (entries,). too_wide: entries that never fit. version: of the champion that predicted the run times, None where the
    source has none, so that similar jobs did."""

    clock: LogClock
    state: State
    entries: tuple[QueueJob, ...]
    first: np.ndarray
    too_wide: tuple[QueueJob, ...]
    version: int | None


def load_queue_now(warehouse: Warehouse, source: str, snapshot: QueueSnapshot, now_s: int) -> QueueNow:
    """The state of a source's machine by a snapshot of its queue. now_s: when the snapshot was written, Unix seconds.

    The champion predicts each run time from the jobs of the source that had ended by then, else similar ones of these do. Raises ValueError
    where the source is not in the warehouse, or the champion's file has changed.
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


# --- queue trees


PAST_QUEUES, FEWEST_QUEUES = 120, 30
"""Queues of the past that are learned from, and too few of them."""
NEW_JOB = "a new job"
JOBS_ALIKE = 50
"""Last jobs whose priority a new one gets."""
WORK_AHEAD = (*OWN_FEATURES, *STATE_FEATURES).index("ahead_all_proc_hours")
"""The feature that says how full a queue is."""
LEAST_KNOWN = 0.9
"""Share of the jobs whose priority log and queue must have."""
QUARTER_BY_TENTH = 0.526
"""How far the quarters of a normal distribution are from its middle, by how far the tenths are."""
_JOBS = """
SELECT
    job_id, epoch(submit_time)::BIGINT AS submit_s, epoch(start_time)::BIGINT AS start_s,
    epoch(coalesce(start_time, end_time))::BIGINT AS leaves_s, epoch(end_time)::BIGINT AS end_s,
    coalesce(procs, requested_procs, 1) AS procs, gpus, nodes, requested_memory_kb / 1024 AS memory_mib,
    requested_walltime_s AS request_s, priority, queue AS partition, account
FROM core.jobs WHERE source = $source AND submit_time IS NOT NULL ORDER BY job_index
"""


class TreeStarts(NamedTuple):
    """starts: by job_id, seconds from now to the start: low end, likeliest, high end of the 80 % interval, and median. queues, jobs: of
    the past that they come from. fuller: of these queues, those with as much work ahead of a job as the queue has that is asked about."""

    starts: dict[str, FloatArray]
    queues: int
    jobs: int
    fuller: int


class _Log(NamedTuple):
    """jobs: of _JOBS. age: what it adds to their priorities. zero: Unix second of the clock's second 0."""

    jobs: pl.DataFrame
    age: AgePart
    clock: LogClock
    zero: int


def tree_starts(
    warehouse: Warehouse,
    source: str,
    cluster: ClusterDescription | None,
    snapshot: QueueSnapshot,
    now_s: int,
    seed: int,
) -> TreeStarts | None:
    """The starts of the waiting jobs of a snapshot. cluster: of the source. now_s: when it was written, Unix seconds.

    None where log or queue lack the priorities, the source's cluster does not say how they grow with age, or the log has too few queues."""
    log = _load(warehouse, source, cluster)
    listed = [job for job in snapshot.jobs if job.state in (RUNNING, WAITING)]
    waiting = [job for job in listed if job.state == WAITING]
    if log is None or not waiting or np.mean([job.asked.priority is not None for job in waiting]) < LEAST_KNOWN:
        return None
    ids = [job.job_id for job in snapshot.jobs]
    # what is over of a job of the queue is an attempt before it was requeued
    past = log.jobs.filter(pl.col("submit_s") <= now_s, ~pl.col("job_id").is_in(ids) | (pl.col("end_s") <= now_s))
    live = pl.DataFrame([_live_row(job, now_s) for job in listed], schema=past.schema)
    over = past.filter(pl.col("end_s") <= now_s)  # who runs and who waits now is what the queue says
    return _starts(log, past, pl.concat([over, live]), now_s - log.zero, seed)


def logged_tree_starts(
    warehouse: Warehouse, source: str, cluster: ClusterDescription | None, now: int, seed: int
) -> TreeStarts | None:
    """The starts of the jobs of a source's log that wait at a second of its clock. None as for `tree_starts`."""
    log = _load(warehouse, source, cluster)
    if log is None:
        return None
    past = log.jobs.filter(pl.col("submit_s") <= now + log.zero)
    return _starts(log, past, past, now, seed)


class NewJob(NamedTuple):
    """A job that is submitted now. request_s: below 1 for none. queue, account: None for any."""

    procs: int
    request_s: int
    gpus: int | None
    queue: str | None
    account: str | None


def new_job_tree_starts(
    warehouse: Warehouse, source: str, cluster: ClusterDescription | None, now: int, job: NewJob, seed: int
) -> TreeStarts | None:
    """The start of one new job at a second of a source's log, under the key NEW_JOB. Its priority is the usual one of its account and
    queue. None as for `tree_starts`."""
    log = _load(warehouse, source, cluster)
    if log is None:
        return None
    past = log.jobs.filter(pl.col("submit_s") <= now + log.zero)
    row = dict.fromkeys(past.columns) | {
        "job_id": NEW_JOB,
        "submit_s": now + log.zero,
        "procs": job.procs,
        "gpus": job.gpus,
        "request_s": job.request_s if job.request_s >= 1 else None,
        "priority": _usual_priority(_on_clock(past, log, now), job),
        "partition": job.queue,
        "account": job.account,
    }
    return _starts(log, past, pl.concat([past, pl.DataFrame([row], schema=past.schema)]), now, seed)


def _usual_priority(rows: pl.DataFrame, job: NewJob) -> int | None:
    """The median priority, without what age adds, of the last jobs of an account and a queue. Of the queue, and of all jobs, where there
    are none."""
    rows = rows.drop_nulls("priority")
    wanted = [
        (name, value) for name, value in (("partition", job.queue), ("account", job.account)) if value is not None
    ]
    for count in range(len(wanted), -1, -1):
        alike = rows
        for name, value in wanted[:count]:
            alike = alike.filter(pl.col(name) == value)
        median = alike.tail(JOBS_ALIKE)["priority"].cast(pl.Float64).median()
        if median is not None:
            return round(float(median))  # type: ignore[arg-type]
    return None


def _load(warehouse: Warehouse, source: str, cluster: ClusterDescription | None) -> _Log | None:
    if cluster is None or cluster.scheduler.name != "slurm":
        return None
    rules, clock = priority_rules(cluster.scheduler), load_clock(warehouse, source)
    with warehouse.read() as connection:
        jobs = connection.sql(_JOBS, params={"source": source}).pl()
    zero = int(clock.zero.replace(tzinfo=UTC).timestamp())
    return _Log(jobs, AgePart(rules.age, rules.most_age), clock, zero)


def _starts(log: _Log, past: pl.DataFrame, present: pl.DataFrame, now: int, seed: int) -> TreeStarts | None:
    """past: jobs to learn from. present: those whose waiting ones are asked about."""
    if past["priority"].null_count() > (1 - LEAST_KNOWN) * past.height:
        return None
    rows = _on_clock(past, log, now)
    every = [queue_at(rows, moment, log.clock, now, log.age)[0] for moment in _past_moments(rows, now)]
    queues = [queue for queue in every if len(queue.wait)]
    if len(queues) < FEWEST_QUEUES:
        return None
    rows = _on_clock(present, log, now)
    queue, places = queue_at(rows, now, log.clock, now, log.age)
    seconds = predicted_starts(queues, queue.features, now, seed)
    names = rows["job_id"].gather(pl.Series(places, dtype=pl.UInt32)).to_list()
    starts = dict(zip(names, seconds, strict=True))
    most = [float(np.nanmax(each.features[:, WORK_AHEAD], initial=0.0)) for each in (queue, *queues)]
    fuller = sum(work >= most[0] for work in most[1:])
    return TreeStarts(starts, len(queues), sum(len(each.wait) for each in queues), fuller)


def five_quantiles(ends: FloatArray) -> FloatArray:
    """At models.waits.neighbours.POINTS of a prediction of TreeStarts, seconds: the quarters lie between its ends and the median as those
    of a normal logarithm do."""
    low, _, high, middle = np.log(ends + SHORT_S)
    quarters = [middle + QUARTER_BY_TENTH * (end - middle) for end in (low, high)]
    return np.exp([low, quarters[0], middle, quarters[1], high]) - SHORT_S


def predicted_starts(queues: list[PastQueue], features: FloatArray, now: int, seed: int) -> FloatArray:
    """Seconds from now to the start of jobs with these features, (jobs, 4). queues: in order of time. The last ones, predicted by
    trees on those before, set the ends of the intervals."""
    trees, intervals = StartTrees(seed), IntervalsOverTime()
    last = queues[-REMEMBERED_QUEUES:]
    trees.fit([queue.seen_at(last[0].now) for queue in queues[:-REMEMBERED_QUEUES]])
    for queue in last:
        intervals.note(queue, trees.predict(queue.features))
    trees.fit([queue.seen_at(now) for queue in queues])
    return np.maximum(np.exp(intervals.moved(trees.predict(features), now)) - SHORT_S, 0.0)


def _past_moments(rows: pl.DataFrame, now: int) -> list[int]:
    """Submissions of the last half of the log, evenly over its jobs."""
    submit = np.sort(rows["submit_s"].to_numpy())
    places = np.linspace(len(submit) // 2, len(submit) - 1, PAST_QUEUES).astype(int)
    return np.unique(submit[places][submit[places] < now]).tolist()


def _on_clock(rows: pl.DataFrame, log: _Log, now: int) -> pl.DataFrame:
    """Rows with times of the log's clock, and priorities without what age had added: logs and queues have it up to the start."""
    zero = log.zero
    times = [pl.col(name) - zero for name in ("submit_s", "start_s", "leaves_s", "end_s")]
    until = pl.min_horizontal(pl.col("leaves_s").fill_null(now + zero), pl.lit(now + zero))
    plain = pl.col("priority") - log.age.after(until - pl.col("submit_s"))
    nobody = {name: pl.lit(None, pl.Float64) for name in ("fair_share", "usage")}
    return rows.with_columns(*times, priority=plain, **nobody).select("job_id", *QUEUE_COLUMNS)


def _live_row(job: Any, now_s: int) -> dict[str, Any]:
    start_s = min(job.start_s or now_s, now_s) if job.state == RUNNING else None
    memory = job.asked.memory_kb
    return {
        "job_id": job.job_id, "submit_s": min(job.submit_s, now_s), "start_s": start_s, "leaves_s": start_s, "end_s": None,
        "procs": job.procs, "gpus": job.asked.gpus, "nodes": job.asked.nodes, "memory_mib": None if memory is None else memory / 1024,
        "request_s": job.requested_walltime_s if job.requested_walltime_s > 0 else None, "priority": job.asked.priority,
        "partition": job.queue, "account": job.account,
    }  # fmt: skip
