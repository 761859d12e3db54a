"""Who held nodes, GPUs and memory, and what stood idle: because nobody waited, because jobs were held back, or stranded.

Cores of a node are stranded where jobs wait, and none of them could start on this node now. Its memory, its GPUs or its cores that are
left may be too few. Jobs may want the node for themselves, or it is of other partitions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.cluster.arrays import ClusterArrays, cluster_arrays
from traces.cluster.description import ClusterDescription
from traces.cluster.gpu_types import gpus_of_type
from warehouse import Warehouse

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MOMENTS = 500
"""Moments of the log that are looked at, in the middle of equal stretches."""
MOST_DEMANDS = 200
"""Different requests that are held against the nodes at a moment, those that have waited longest."""
USED, NOBODY_WAITS, WOULD_FIT = "in use", "idle, nobody waits for it", "idle, though a waiting job fits"
STRANDED = {
    "memory": "stranded: memory is missing",
    "gpus": "stranded: GPUs are missing",
    "cores": "stranded: too few cores of the node are left",
    "whole": "stranded: jobs want the node for themselves",
    "nodes": "stranded: too few such nodes at once",
    "place": "stranded: of other partitions, or without a feature",
    "several": "stranded: several of these",
}
NODE_STATES = (USED, NOBODY_WAITS, WOULD_FIT, *STRANDED.values())

_HELD = """
SELECT
    epoch(jobs.start_time)::BIGINT AS start_s, epoch(jobs.end_time)::BIGINT AS end_s, held.node_name,
    coalesce(held.procs, ceil(jobs.procs / count(*) OVER job))::BIGINT AS procs,
    coalesce(held.gpus, ceil(jobs.gpus / count(*) OVER job), 0)::BIGINT AS gpus,
    coalesce(held.memory_kb, jobs.requested_memory_kb / count(*) OVER job, 0)::BIGINT AS memory_kb,
    coalesce(jobs.gpu_types, '') AS gpu_types, count(*) OVER job AS num_nodes
FROM core.job_nodes AS held
INNER JOIN core.jobs AS jobs ON held.source = jobs.source AND held.job_index = jobs.job_index
WHERE held.source = $source AND jobs.start_time IS NOT NULL AND jobs.end_time > jobs.start_time
WINDOW job AS (PARTITION BY held.job_index)
"""
_WAITED = """
SELECT
    epoch(coalesce(eligible_time, submit_time))::BIGINT AS submit_s, epoch(start_time)::BIGINT AS start_s,
    greatest(coalesce(requested_nodes, nodes, 1), 1)::BIGINT AS num_nodes,
    ceil(coalesce(requested_procs, procs, 1) / greatest(coalesce(requested_nodes, nodes, 1), 1))::BIGINT AS procs,
    ceil(coalesce(gpus, 0) / greatest(coalesce(requested_nodes, nodes, 1), 1))::BIGINT AS gpus,
    (coalesce(requested_memory_kb, 0) / greatest(coalesce(requested_nodes, nodes, 1), 1))::BIGINT AS memory_kb,
    coalesce(is_exclusive, false) AS is_exclusive, coalesce(queue, '') AS queue, coalesce(features, '') AS features,
    coalesce(requested_gpu_types, '') AS gpu_types
FROM core.jobs
WHERE source = $source AND start_time > coalesce(eligible_time, submit_time)
"""
_HOLDERS = """
SELECT
    coalesce({column}, 'unknown') AS value, count(DISTINCT job_index) AS jobs,
    sum(hours) AS node_hours, sum(procs * hours) AS core_hours,
    sum(gpus * hours) AS gpu_hours, sum(memory_kb * hours) / 1048576 AS memory_gib_hours,
    sum(CASE WHEN was_lost THEN gpus * hours END) AS lost_gpu_hours
FROM (
    SELECT
        jobs.{column}, held.job_index, epoch(jobs.end_time - jobs.start_time) / 3600 AS hours,
        coalesce(held.procs, jobs.procs / count(*) OVER job) AS procs,
        coalesce(held.gpus, jobs.gpus / count(*) OVER job) AS gpus,
        coalesce(held.memory_kb, jobs.requested_memory_kb / count(*) OVER job) AS memory_kb,
        jobs.status IN ('failed', 'cancelled', 'timeout', 'out_of_memory', 'node_failure', 'deadline') AS was_lost
    FROM core.job_nodes AS held
    INNER JOIN core.jobs AS jobs ON held.source = jobs.source AND held.job_index = jobs.job_index
    WHERE held.source = $source AND jobs.start_time IS NOT NULL AND jobs.end_time > jobs.start_time
    WINDOW job AS (PARTITION BY held.job_index)
) AS held
GROUP BY value ORDER BY core_hours DESC, value
"""
HOLDER_COLUMNS = {"user": "user_name", "account": "account", "queue": "queue"}


@dataclass(frozen=True)
class NodeUse:
    """states: resource (core or gpu), state (of NODE_STATES), mean (how many on average) and share; empty where no cluster is described.
    holders: value, jobs, node_hours, core_hours, gpu_hours, memory_gib_hours and lost_gpu_hours, by kind (user, account, queue). moments:
    how many were looked at. strange_nodes: that the log has and the cluster has not; their jobs are left out of `states`."""

    states: pl.DataFrame
    holders: dict[str, pl.DataFrame]
    moments: int = 0
    strange_nodes: int = 0


def node_use(
    warehouse: Warehouse, source: str, cluster: ClusterDescription | None, moments: int = MOMENTS
) -> NodeUse | None:
    """Who held what on a source's nodes, and what stood idle. cluster: of the source, with names as the warehouse has them, None where it
    has none. None where the log does not say which nodes a job held."""
    with warehouse.read() as connection:
        held = connection.sql(_HELD, params={"source": source}).pl()
        if held.is_empty():
            return None
        holders = {
            kind: connection.sql(_HOLDERS.format(column=column), params={"source": source}).pl()
            for kind, column in HOLDER_COLUMNS.items()
        }
        waited = connection.sql(_WAITED, params={"source": source}).pl()
    if cluster is None:
        return NodeUse(pl.DataFrame(), holders)
    index = cluster.node_index
    strange = held.filter(~pl.col("node_name").is_in(list(index)))["node_name"].n_unique()
    held = held.filter(pl.col("node_name").is_in(list(index)))
    sampled = _States(cluster, held, waited)
    begin, end = int(held["start_s"].min() or 0), int(held["end_s"].max() or 0)
    times = begin + (end - begin) * (2 * np.arange(moments) + 1) // (2 * moments)
    for time in times.tolist():
        sampled.look(time)
    return NodeUse(sampled.table(moments), holders, moments, strange)


class _Demands(NamedTuple):
    """Different requests of waiting jobs for one of their nodes, one value each."""

    num_nodes: IntArray
    procs: IntArray
    gpus: IntArray  # (demands, types + 1), as `ClusterArrays` has GPUs
    memory_kb: IntArray
    is_exclusive: BoolArray
    allowed: BoolArray  # (demands, nodes)


class _States:
    """Cores and GPUs of a cluster by state, added up over moments."""

    def __init__(self, cluster: ClusterDescription, held: pl.DataFrame, waited: pl.DataFrame) -> None:
        self.arrays: ClusterArrays = cluster_arrays(cluster, waited["features"].unique())
        self.memory_kb = self.arrays.memory * 1024  # from MiB
        place = cluster.node_index
        self.node = np.array([place[name] for name in held["node_name"]], dtype=np.int64)
        self.held = {name: held[name].to_numpy() for name in ("start_s", "end_s", "procs", "memory_kb")}
        self.held_gpus = self._gpus(held)
        self.partition = {partition.name: k for k, partition in enumerate(cluster.partitions)}
        self.feature = {word: k for k, word in enumerate(self.arrays.feature_words)}
        kinds = ["num_nodes", "procs", "gpus", "memory_kb", "is_exclusive", "queue", "features", "gpu_types"]
        self.kind_of = waited.select(pl.struct(kinds).rank("dense").alias("kind"))["kind"].to_numpy() - 1
        self.kinds = waited.with_columns(kind=pl.Series(self.kind_of)).unique("kind").sort("kind")
        self.asked_gpus = self._gpus(self.kinds)
        self.waited = (waited["submit_s"].to_numpy(), waited["start_s"].to_numpy())
        self.totals: dict[str, Counter[str]] = {"core": Counter(), "gpu": Counter()}

    def look(self, time: int) -> None:
        """Adds what is so at a UTC second."""
        num_nodes = self.arrays.num_nodes
        runs = (self.held["start_s"] <= time) & (self.held["end_s"] > time)
        used = {
            name: np.bincount(self.node[runs], self.held[name][runs], num_nodes).astype(np.int64)
            for name in ("procs", "memory_kb")
        }
        empty = np.bincount(self.node[runs], minlength=num_nodes) == 0
        left = {"procs": np.maximum(self.arrays.cpus - used["procs"], 0), "gpus": self._gpus_left(runs)}
        # nodes of which no memory is described have enough
        left["memory_kb"] = np.where(
            self.memory_kb > 0, np.maximum(self.memory_kb - used["memory_kb"], 0), np.int64(1) << 61
        )
        demands = self._demands(time)
        all_of = {"core": self.arrays.cpus, "gpu": self.arrays.gpus[:, -1]}
        idle_of = {"core": left["procs"], "gpu": left["gpus"][:, -1]}
        for resource, totals in self.totals.items():
            idle = idle_of[resource]
            totals[USED] += int((all_of[resource] - idle).sum())
            of = demands if resource == "core" or demands is None else _with_gpus(demands)
            for state, nodes in _states_of(of, left, empty).items():
                totals[state] += int(idle[nodes].sum())

    def _gpus(self, rows: pl.DataFrame) -> IntArray:
        """GPUs on one node by type, int64 (rows, types + 1). Those of a type are of all, too."""
        share = pl.col("num_nodes").clip(1)
        by_type = [(gpus_of_type(kind).fill_null(0) / share).ceil() for kind in self.arrays.gpu_types[:-1]]
        columns = [rows.select(amount.alias("gpus"))["gpus"].to_numpy() for amount in (*by_type, pl.col("gpus"))]
        return np.column_stack(columns).astype(np.int64)

    def _gpus_left(self, runs: BoolArray) -> IntArray:
        """Idle GPUs by node and type, int64 (nodes, types + 1). Of a type at most as many are idle as of all, since those that jobs hold
        without naming a type may be of it."""
        num_nodes = self.arrays.num_nodes
        used = [np.bincount(self.node[runs], column, num_nodes) for column in self.held_gpus[runs].T]
        left = np.maximum(self.arrays.gpus - np.column_stack(used).astype(np.int64), 0)
        return np.minimum(left, left[:, -1:])

    def _demands(self, time: int) -> _Demands | None:
        submit, start = self.waited
        waits = np.flatnonzero((submit <= time) & (start > time))
        if not len(waits):
            return None
        oldest = waits[np.argsort(submit[waits], kind="stable")]
        kinds = list(dict.fromkeys(self.kind_of[oldest].tolist()))[:MOST_DEMANDS]
        rows = self.kinds[kinds]
        every = np.ones(self.arrays.num_nodes, dtype=np.bool_)
        allowed = [
            (self.arrays.partition_nodes[self.partition[queue]] if queue in self.partition else every)
            & self.arrays.feature_nodes[self.feature[features]]
            for queue, features in rows.select("queue", "features").iter_rows()
        ]
        num_nodes, procs, memory_kb = (rows[name].to_numpy() for name in ("num_nodes", "procs", "memory_kb"))
        gpus = self.asked_gpus[kinds]
        return _Demands(num_nodes, procs, gpus, memory_kb, rows["is_exclusive"].to_numpy(), np.array(allowed))

    def table(self, moments: int) -> pl.DataFrame:
        """The rows of NodeUse.states."""
        rows: list[dict[str, Any]] = []
        for resource, totals in self.totals.items():
            whole = sum(totals.values())
            rows += [
                {"resource": resource, "state": state, "mean": totals[state] / moments, "share": totals[state] / whole}
                for state in NODE_STATES
                if whole and totals[state]
            ]
        return pl.DataFrame(
            rows, schema={"resource": pl.Utf8, "state": pl.Utf8, "mean": pl.Float64, "share": pl.Float64}
        )


def _with_gpus(demands: _Demands) -> _Demands | None:
    """Those that ask for GPUs."""
    chosen = demands.gpus[:, -1] > 0
    if not chosen.any():
        return None
    num_nodes, procs, gpus, memory_kb, is_exclusive, allowed = demands
    return _Demands(
        num_nodes[chosen], procs[chosen], gpus[chosen], memory_kb[chosen], is_exclusive[chosen], allowed[chosen]
    )


def _lacks_gpus(asked: IntArray, left: IntArray) -> BoolArray:
    """Which demands find too few GPUs of all or of a type on which node, bool (demands, nodes)."""
    lacks: BoolArray = asked[:, None, -1] > left[:, -1]
    for column in np.flatnonzero(asked[:, :-1].any(axis=0)):
        lacks |= asked[:, None, column] > left[:, column]
    return lacks


def _states_of(demands: _Demands | None, left: dict[str, IntArray], empty: BoolArray) -> dict[str, BoolArray]:
    """Nodes by what their idle cores or GPUs are, each bool (nodes,)."""
    if demands is None:
        return {NOBODY_WAITS: np.ones(len(empty), dtype=np.bool_)}
    lacks = {
        "memory": demands.memory_kb[:, None] > left["memory_kb"],
        "gpus": _lacks_gpus(demands.gpus, left["gpus"]),
        "cores": demands.procs[:, None] > left["procs"],
        "whole": demands.is_exclusive[:, None] & ~empty,
    }
    failing = np.add.reduce([lack.astype(np.int64) for lack in lacks.values()])
    fits = demands.allowed & (failing == 0)
    enough = fits.sum(axis=1) >= demands.num_nodes
    states: dict[str, BoolArray] = {WOULD_FIT: fits[enough].any(axis=0)}
    rest = ~states[WOULD_FIT]
    states[STRANDED["nodes"]] = rest & fits.any(axis=0)
    rest &= ~states[STRANDED["nodes"]]
    states[STRANDED["place"]] = rest & ~demands.allowed.any(axis=0)
    rest &= ~states[STRANDED["place"]]
    alone = demands.allowed & (failing == 1)
    counts = np.array([(alone & lack).sum(axis=0) for lack in lacks.values()])
    for k, name in enumerate(lacks):
        states[STRANDED[name]] = rest & (counts.max(axis=0) > 0) & (counts.argmax(axis=0) == k)
    states[STRANDED["several"]] = rest & (counts.max(axis=0) == 0)
    return states
