"""When the jobs of a queue start, by trees on the queues of the source's past: where log and queue have the jobs' priorities."""

from __future__ import annotations

from datetime import UTC
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assets.common.trace import load_clock
from assets.operations.cluster_check import described_cluster
from models.runtime.predictor import FloatArray
from models.waits.queue_features import QUEUE_COLUMNS, AgePart, queue_at
from models.waits.start_trees import REMEMBERED_QUEUES, SHORT_S, IntervalsOverTime, PastQueue, StartTrees
from simulator.slurm.priority import priority_rules
from traces.common.queue import RUNNING, WAITING, QueueSnapshot
from warehouse import Warehouse

PAST_QUEUES, FEWEST_QUEUES = 120, 30
"""Queues of the past that are learned from, and too few of them."""
LEAST_KNOWN = 0.9
"""Share of the jobs whose priority log and queue must have."""
_JOBS = """
SELECT
    job_id, epoch(submit_time)::BIGINT AS submit_s, epoch(start_time)::BIGINT AS start_s,
    epoch(coalesce(start_time, end_time))::BIGINT AS leaves_s, epoch(end_time)::BIGINT AS end_s,
    coalesce(procs, requested_procs, 1) AS procs, gpus, nodes, requested_memory_kb / 1024 AS memory_mib,
    requested_walltime_s AS request_s, priority, queue AS partition, account
FROM core.jobs WHERE source = $source AND submit_time IS NOT NULL ORDER BY job_index
"""


class TreeStarts(NamedTuple):
    """starts: by job_id, seconds from now to the start: low end, middle and high end of the 80 % interval. queues, jobs: of the past that
    they come from."""

    starts: dict[str, FloatArray]
    queues: int
    jobs: int


def tree_starts(warehouse: Warehouse, source: str, snapshot: QueueSnapshot, now_s: int, seed: int) -> TreeStarts | None:
    """The starts of the waiting jobs of a snapshot. now_s: when it was written, Unix seconds.

    None where log or queue lack the priorities, the source's cluster does not say how they grow with age, or the log has too few queues."""
    cluster = described_cluster(warehouse, source)
    if cluster is None or cluster.scheduler.name != "slurm":
        return None
    rules = priority_rules(cluster.scheduler)
    age = AgePart(rules.age, rules.most_age)
    clock = load_clock(warehouse, source)
    zero = int(clock.zero.replace(tzinfo=UTC).timestamp())
    with warehouse.read() as connection:
        log = connection.sql(_JOBS, params={"source": source}).pl()
    listed = [job for job in snapshot.jobs if job.state in (RUNNING, WAITING)]
    waiting = [job for job in listed if job.state == WAITING]
    share_with = np.mean([job.asked.priority is not None for job in waiting]) if waiting else 0.0
    past = log.filter(pl.col("submit_s") <= now_s, ~pl.col("job_id").is_in([job.job_id for job in snapshot.jobs]))
    if share_with < LEAST_KNOWN or past.height == 0 or past["priority"].is_not_null().mean() < LEAST_KNOWN:  # type: ignore[operator]
        return None
    now = now_s - zero
    rows = _on_clock(past, zero, age, now)
    queues = [
        queue for moment in _past_moments(rows, now) if len((queue := queue_at(rows, moment, clock, now, age)[0]).wait)
    ]
    if len(queues) < FEWEST_QUEUES:
        return None
    live = pl.DataFrame([_live_row(job, now_s) for job in listed], schema=past.schema)
    over = past.filter(pl.col("end_s") <= now_s)  # who runs and who waits now is what the queue says
    both = _on_clock(pl.concat([over, live]), zero, age, now)
    present, places = queue_at(both, now, clock, now, age)
    names = both["job_id"].gather(pl.Series(places)).to_list()
    seconds = predicted_starts(queues, present.features, now, seed)
    return TreeStarts(dict(zip(names, seconds, strict=True)), len(queues), sum(len(queue.wait) for queue in queues))


def predicted_starts(queues: list[PastQueue], features: FloatArray, now: int, seed: int) -> FloatArray:
    """Seconds from now to the start of jobs with these features, (jobs, 3). queues: in order of time. The last ones, predicted by
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


def _on_clock(rows: pl.DataFrame, zero: int, age: AgePart, now: int) -> pl.DataFrame:
    """Rows with times of the log's clock, and priorities without what age had added: logs and queues have it up to the start."""
    times = [pl.col(name) - zero for name in ("submit_s", "start_s", "leaves_s", "end_s")]
    until = pl.min_horizontal(pl.col("leaves_s").fill_null(now + zero), pl.lit(now + zero))
    plain = pl.col("priority") - age.after(until - pl.col("submit_s"))
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
