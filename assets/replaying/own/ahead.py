"""What a log says of the jobs before a replay begins: who runs on which nodes, and who had ended whose use still counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.storage import open_warehouse
from assets.common.trace import Trace
from assets.replaying.running.loading import is_loaded
from simulator.jobs.cluster import HeldNodes, no_nodes
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
HALF_LIVES = 12
"""Of usage that is older than so many half-lives less than a thousandth is left."""


class Ahead(NamedTuple):
    """started: rows of jobs of a trace that had started when a replay begins at second `begin_s`, the running ones first. running: how
    many run."""

    trace: Trace
    started: pl.DataFrame
    running: int
    begin_s: int

    @property
    def running_rows(self) -> pl.DataFrame:
        """Rows of those that run."""
        return self.started[: self.running]

    @property
    def past(self) -> tuple[IntArray, IntArray]:
        """Starts and ends of those that had ended, seconds, int64 (jobs,)."""
        ended = self.started[self.running :]
        start = ended["start_s"].to_numpy().astype(np.int64)
        return start, start + ended["runtime_s"].to_numpy()


def jobs_ahead(
    trace: Trace,
    ahead: tuple[pl.DataFrame, int],
    half_life_s: float | None,
    has_queue: Callable[[str], bool] = lambda _: True,
) -> Ahead:
    """What a warm start looks at. ahead: rows of the trace before the replay, and the second at which it begins. half_life_s: of what was
    used, 0 where it never decays, None where nothing depends on it. has_queue: whether the cluster has one.

    Of jobs that have ended are those that still count, of queues that the cluster has."""
    rows, begin_s = ahead
    running = trace.running_rows(rows, begin_s)
    if half_life_s is None:
        return Ahead(trace, running, running.height, begin_s)
    oldest = begin_s - HALF_LIVES * half_life_s if half_life_s > 0 else -np.inf
    end = pl.col("start_s") + pl.col("runtime_s")
    queues = [queue for queue in rows["queue"].drop_nulls().unique() if has_queue(queue)]
    ended = rows.filter(
        pl.col("cancel_s").is_null(),
        end <= begin_s,
        end > oldest,
        pl.col("queue").is_null() | pl.col("queue").is_in(queues),
    )
    return Ahead(trace, pl.concat([running, ended]), running.height, begin_s)


def nodes_held(trace: Trace, running: pl.DataFrame, cluster: ClusterDescription) -> HeldNodes:
    """The nodes of running jobs of a trace. A job of which the log does not have all nodes, or has some that the cluster has not, has
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
