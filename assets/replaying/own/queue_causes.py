"""What keeps the jobs of a live queue now, by the rules of the source's cluster."""

from __future__ import annotations

import polars as pl

from assets.predictions.runtimes_now import queue_job_row
from assets.replaying.own.wait_causes import WaitCauses, causes_of, jobs_and_nodes
from assets.usage.cluster_check import described_cluster
from simulator.slurm.waiting.words import CAUSES
from traces.common.queue import HELD, WAITING, QueueSnapshot
from warehouse import Warehouse

REMEMBERED_S = 28 * 86_400
"""For how long before a snapshot the log's jobs count, whose use makes fair shares: four half-lives of Slurm's default."""
_BEHIND = tuple(
    cause.name for cause in CAUSES.values() if cause.name.startswith("behind_") or cause.name == "shared_nodes"
)


def queue_causes(warehouse: Warehouse, source: str, snapshot: QueueSnapshot, now_s: int) -> WaitCauses:
    """What keeps each waiting job of a snapshot: rows of WaitCauses.jobs, with `now` (a cause, null for one that nothing has looked at),
    and behind_job, behind_user and limit only where these keep it now. now_s: when the snapshot was written, Unix seconds.

    Usage comes from the source's log, as far as it goes. Raises ValueError where the source has no cluster, and as `causes_of`."""
    if described_cluster(warehouse, source) is None:
        raise ValueError(
            f"source {source!r} names no cluster, so nobody knows its rules: `tracehouse cluster import DIR --name NAME "
            f"--source {source}` describes one"
        )
    rows, nodes = jobs_and_nodes(warehouse, source)
    listed = [job for job in snapshot.jobs if job.state != HELD]
    # of a job of the queue that is an attempt before it was requeued
    past = rows.filter(pl.col("end_s") <= now_s, pl.col("end_s") > now_s - REMEMBERED_S).drop_nulls("submit_s")
    first = 1 + max(rows["job_index"].to_list(), default=-1)
    live = [queue_job_row(job, first + k, now_s) for k, job in enumerate(listed)]
    both = pl.concat([past, pl.DataFrame(live, schema=rows.schema)]) if live else past
    held = [
        {"job_index": first + k, "node_name": name, "procs": None}
        for k, job in enumerate(listed)
        for name in job.asked.node_names
    ]
    both_nodes = pl.concat([nodes, pl.DataFrame(held, schema=nodes.schema)])
    waiting = [first + k for k, job in enumerate(listed) if job.state == WAITING]
    if not waiting:
        return WaitCauses(pl.DataFrame(schema={"job_id": pl.Utf8, "now": pl.Utf8}), "")
    causes = causes_of(warehouse, source, both, both_nodes, until_s=now_s)
    is_behind, is_limited = pl.col("now").is_in(_BEHIND), pl.col("now") == "limit"
    jobs = causes.jobs.filter(pl.col("job_index").is_in(waiting)).with_columns(
        pl.when(is_behind).then("behind_job").alias("behind_job"),
        pl.when(is_behind).then("behind_user").alias("behind_user"),
        pl.when(is_limited).then("limit").alias("limit"),
    )
    return WaitCauses(jobs, causes.basis, causes.odd_layouts, causes.left_out, causes.state)
