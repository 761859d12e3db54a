"""What a log says of the jobs before a replay begins: who runs on which nodes, and what accounts have used."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.storage import open_warehouse
from assets.common.trace import Trace
from assets.replaying.running.loading import is_loaded
from simulator.cluster.requests import Requests, some_requests
from simulator.jobs.cluster import HeldNodes, no_nodes
from simulator.slurm.priority import priority_rules
from simulator.slurm.settings import slurm_settings
from simulator.slurm.variants.warm import RanBefore, WarmStart
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
HALF_LIVES = 12
"""Of usage that is older than so many half-lives less than a thousandth is left."""


class Ahead(NamedTuple):
    """started: rows of jobs that had started when a replay begins at second `begin_s`, the running ones first. running: how many run."""

    started: pl.DataFrame
    running: int
    begin_s: int


def jobs_ahead(trace: Trace, ahead: pl.DataFrame, begin_s: int, cluster: ClusterDescription) -> Ahead:
    """What a warm start looks at. ahead: rows of the trace before the replay.

    Of jobs that have ended are those that still count, of partitions that the cluster has."""
    running = trace.running_rows(ahead, begin_s)
    if not counts_use(cluster):
        return Ahead(running, running.height, begin_s)
    queues = [queue for queue in ahead["queue"].drop_nulls().unique() if cluster.has_queue(queue)]
    half_life_s = priority_rules(cluster.scheduler).half_life
    oldest = begin_s - HALF_LIVES * half_life_s if half_life_s > 0 else 0
    end = pl.col("start_s") + pl.col("runtime_s")
    ended = ahead.filter(
        pl.col("cancel_s").is_null(),
        end <= begin_s,
        end > oldest,
        pl.col("queue").is_null() | pl.col("queue").is_in(queues),
    )
    return Ahead(pl.concat([running, ended]), running.height, begin_s)


def counts_use(cluster: ClusterDescription) -> bool:
    """Whether anything depends on what accounts have used: fair share, or a limit on used time."""
    has_shares = slurm_settings(cluster.scheduler).basic == 0 and priority_rules(cluster.scheduler).fair_share > 0
    return has_shares or any(limit.counts == "used" for limit in cluster.limits)


def warm_start_of(trace: Trace, jobs: Ahead, requests: Requests, cluster: ClusterDescription) -> WarmStart:
    """The state in which the cluster was. requests: of the jobs ahead, in their order."""
    of_running = jobs.started[: jobs.running]
    start = jobs.started["start_s"].to_numpy()
    past = RanBefore(
        requests, start, start + jobs.started["runtime_s"].to_numpy(), jobs.started["procs"].to_numpy().astype(np.int64)
    )
    return WarmStart(some_requests(requests, np.arange(jobs.running)), nodes_held(trace, of_running, cluster), past)


def nodes_held(trace: Trace, running: pl.DataFrame, cluster: ClusterDescription) -> HeldNodes:
    """The nodes of running jobs of a trace by the log. A job of which the log does not have all nodes, or has some that the cluster has not, has
    none here. Where it has only the CPUs of all nodes together, they lie evenly."""
    if running.is_empty() or (trace.nodes is None and not is_loaded(trace.source)):
        return no_nodes(running.height)
    jobs = running["job_index"].to_list()
    if trace.nodes is not None:
        held = trace.nodes.filter(pl.col("job_index").is_in(jobs))
    else:
        query = "SELECT job_index, node_name, procs FROM core.job_nodes WHERE source = $source AND list_contains($jobs, job_index)"
        with open_warehouse().read() as connection:
            held = connection.sql(query, params={"source": trace.source, "jobs": jobs}).pl()
    place = {node.name: k for k, node in enumerate(cluster.nodes)}
    by_job: dict[int, list[tuple[int, int | None]]] = {}
    for job, name, cpus in held.iter_rows():
        by_job.setdefault(job, []).append((place.get(name, -1), cpus))
    first, rows = [0], []
    for job, cpus in running.select("job_index", "procs").iter_rows():
        rows += _with_cpus(sorted(by_job.get(job, [])), cpus)
        first.append(len(rows))
    node, cpus_held = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
    return HeldNodes(np.array(first, dtype=np.int64), node, cpus_held)


def _with_cpus(nodes: list[tuple[int, int | None]], cpus: int) -> list[tuple[int, int]]:
    """The nodes of a job with the CPUs on each. cpus: of all of them."""
    if any(node < 0 for node, _ in nodes):
        return []
    share, more = divmod(cpus, max(len(nodes), 1))
    return [(node, share + (k < more) if held is None else held) for k, (node, held) in enumerate(nodes)]
