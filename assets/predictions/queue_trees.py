"""When the jobs of a queue start, by trees on the queues of the source's past: where log and queue have the jobs' priorities."""

from __future__ import annotations

from datetime import UTC
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assets.common.trace import load_clock
from models.runtime.predictor import FloatArray
from models.waits.clock import LogClock
from models.waits.start_trees import (
    QUEUE_COLUMNS,
    REMEMBERED_QUEUES,
    SHORT_S,
    AgePart,
    IntervalsOverTime,
    PastQueue,
    StartTrees,
    queue_at,
)
from simulator.slurm.priority import priority_rules
from traces.cluster.description import ClusterDescription
from traces.common.queue import RUNNING, WAITING, QueueSnapshot
from warehouse import Warehouse

PAST_QUEUES, FEWEST_QUEUES = 120, 30
"""Queues of the past that are learned from, and too few of them."""
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
    the past that they come from."""

    starts: dict[str, FloatArray]
    queues: int
    jobs: int


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
    past = log.jobs.filter(pl.col("submit_s") <= now_s, ~pl.col("job_id").is_in(ids))
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
    return TreeStarts(dict(zip(names, seconds, strict=True)), len(queues), sum(len(each.wait) for each in queues))


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
