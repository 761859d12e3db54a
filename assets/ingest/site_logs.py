"""Logs of the bundled clusters: submissions, started by our PBS and Slurm under each cluster's configuration and its hidden rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import polars as pl

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays
from simulator.pbs.loop import run_pbs
from simulator.pbs.replaying import new_pbs_replay, suspensions
from simulator.pbs.requests import PbsJob, Piece
from simulator.pbs.settings import PbsPhases
from simulator.slurm.loop import run_replay
from simulator.slurm.replaying import Phases, new_replay
from traces.catalogue.clusters import bundled_cluster
from traces.cluster.description import ClusterDescription
from traces.pbs.writer import write_pbs_site
from traces.slurm.writer import write_sacct
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import BundledSite, SiteOptions

IntArray = npt.NDArray[np.int64]
KIB_PER_GIB, MIB_PER_GIB = 1 << 20, 1000
"""Slurm's nodes have round thousands of MiB here, so that jobs ask for so many for a gigabyte."""


class Ran(NamedTuple):
    """start, end: seconds of the log's clock, int64 (jobs,). suspended_from, suspended: when each job was suspended, and for how many
    seconds, 0 for never. nodes: names of each job's nodes."""

    start: IntArray
    end: IntArray
    suspended_from: IntArray
    suspended: IntArray
    nodes: list[list[str]]


def write_bundled_log(options: SiteOptions, folder: Path) -> None:
    """Writes the log of a bundled cluster into a folder: daily files of PBS accounting, or one file of sacct."""
    site = options.bundled
    rows = bundled_jobs(options)
    zero_s = site_zero_s(site)
    rows = rows.with_columns(pl.col("submit_s", "start_s", "end_s", "suspend_s") + zero_s)
    write = write_pbs_site if site.scheduler == "pbs" else write_sacct
    write(rows, folder, site.time_zone, site.name)


def bundled_jobs(options: SiteOptions) -> pl.DataFrame:
    """The jobs of a bundled log: the columns of `site_submissions`, and start_s, end_s (null without a start, or when it was withdrawn),
    suspend_s (when it was suspended, null for never), suspended_s and node_names."""
    site = options.bundled
    cluster = ruled_cluster(site)
    jobs = site_submissions(site.work, options.seed)
    return with_starts(site, cluster, jobs)


def ruled_cluster(site: BundledSite) -> ClusterDescription:
    """The cluster with its hidden rule."""
    cluster = bundled_cluster(site.name).description
    limits = cluster.limits if site.limit is None else (*cluster.limits, site.limit)
    gates = cluster.gates if site.gate is None else (*cluster.gates, site.gate)
    return replace(cluster, limits=limits, gates=gates)


def site_zero_s(site: BundledSite) -> int:
    """UTC second of second 0 of the jobs of a site: local midnight of the first day."""
    return int(datetime.combine(site.work.first_day, datetime.min.time(), ZoneInfo(site.time_zone)).timestamp())


def with_starts(site: BundledSite, cluster: ClusterDescription, jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs as they ran on a cluster. Those that their users withdrew take no nodes, and stay only where the next job of their queue
    waited longer."""
    place = np.cumsum((jobs["withdrawn_s"] < 0).to_numpy()) - 1
    sent = jobs.filter(pl.col("withdrawn_s") < 0)
    first = sent["attempt_of"].to_numpy()
    sent = sent.with_columns(pl.Series("attempt_of", np.where(first >= 0, place[first], -1)))
    run = _run_pbs if site.scheduler == "pbs" else _run_slurm
    ran = run(cluster, sent.to_dicts(), site_zero_s(site))
    if (ran.start < 0).any():
        raise ValueError(f"{site.name}: {int((ran.start < 0).sum())} jobs never start: correct the site's kinds")
    sent = sent.with_columns(
        pl.Series("start_s", ran.start),
        pl.Series("end_s", ran.end),
        pl.Series("suspend_s", ran.suspended_from).set(pl.Series(ran.suspended == 0), None),
        pl.Series("suspended_s", ran.suspended),
        pl.Series("node_names", ran.nodes),
    )
    withdrawn = _withdrawn(jobs, sent)
    first_of = sent.with_row_index("row").with_columns(row=pl.col("row").cast(pl.Int64))
    both = pl.concat([first_of, withdrawn.with_columns(row=pl.lit(-1, dtype=pl.Int64)).select(first_of.columns)])
    both = both.sort("submit_s", maintain_order=True)
    new = np.full(sent.height, -1)
    old = both["row"].to_numpy()
    new[old[old >= 0]] = np.flatnonzero(old >= 0)
    first = both["attempt_of"].to_numpy()
    return both.drop("row").with_columns(pl.Series("attempt_of", np.where(first >= 0, new[first], -1)))


def mean_wait_s(site: BundledSite, cluster: ClusterDescription, jobs: pl.DataFrame) -> float:
    """The mean wait of the later half of the jobs, of those that started, seconds."""
    ran = with_starts(site, cluster, jobs).filter(pl.col("start_s").is_not_null())
    later = ran.filter(pl.col("submit_s") > ran["submit_s"].median())
    return float((later["start_s"] - later["submit_s"]).mean())  # type: ignore[arg-type]


def _withdrawn(jobs: pl.DataFrame, sent: pl.DataFrame) -> pl.DataFrame:
    """The jobs that their users cancelled while they waited."""
    waits = sent.select("queue", "submit_s", next_wait_s=pl.col("start_s") - pl.col("submit_s"))
    rows = jobs.filter(pl.col("withdrawn_s") >= 0).sort("submit_s")
    rows = rows.join_asof(waits.sort("submit_s"), on="submit_s", by="queue", strategy="forward", check_sortedness=False)
    return rows.filter(pl.col("next_wait_s") > pl.col("withdrawn_s")).with_columns(
        pl.lit(None, dtype=pl.Int64).alias("start_s"),
        (pl.col("submit_s") + pl.col("withdrawn_s")).alias("end_s"),
        pl.lit(None, dtype=pl.Int64).alias("suspend_s"),
        pl.lit(0, dtype=pl.Int64).alias("suspended_s"),
        pl.lit(None, dtype=pl.List(pl.Utf8)).alias("node_names"),
        pl.lit("cancelled").alias("status"),
    )


def _run_pbs(cluster: ClusterDescription, rows: Sequence[dict[str, Any]], zero_s: int) -> Ran:
    asked = [
        PbsJob(
            row["submit_s"],
            (Piece(row["nodes"], {"ncpus": row["cores"], "mem": row["memory_gb"] * KIB_PER_GIB}),),
            row["requested_s"],
            arrangement="scatter" if row["exclusive"] else "free",
            sharing="excl" if row["exclusive"] else "",
            queue=row["queue"],
            user=row["user"],
            group=row["group"],
            array=row["array"],
            array_task=row["task"],
            dependencies=(("afterany", row["attempt_of"]),) if row["attempt_of"] >= 0 else (),
        )
        for row in rows
    ]
    submit, runtime = (np.array([row[name] for row in rows], dtype=np.int64) for name in ("submit_s", "runtime_s"))
    replay = new_pbs_replay(cluster, asked, (submit, runtime), PbsPhases(minute_s=zero_s))
    run_pbs(replay)
    running = replay.engine.running
    names = [cluster.nodes[k].name for k in np.argsort([node.weight for node in cluster.nodes], kind="stable")]
    held = [
        [names[k] for k in running.node[first : first + count]]
        for first, count in zip(running.first, running.count, strict=False)
    ]
    never = np.zeros(len(rows), dtype=np.int64)
    return Ran(
        replay.first_start.copy(), replay.finished.copy(), *(suspensions(replay, runtime) or (never, never)), held
    )


def _run_slurm(cluster: ClusterDescription, rows: Sequence[dict[str, Any]], zero_s: int) -> Ran:
    asked = [
        Request(
            row["submit_s"],
            limit_s=row["requested_s"],
            min_nodes=row["nodes"],
            max_nodes=row["nodes"],
            cpus=row["nodes"] * row["cores"],
            tasks_per_node=row["cores"] if row["nodes"] > 1 else 0,
            memory_mib=row["memory_gb"] * MIB_PER_GIB,
            gpus={"a100": row["nodes"] * row["gpus"]} if row["gpus"] else {},
            gpus_per="job",
            partitions=(row["queue"],),
            qos=row["quality"] or "normal",
            account=row["group"],
            user=row["user"],
            array=row["array"],
            array_task=row["task"],
            dependencies=(("afterany", row["attempt_of"]),) if row["attempt_of"] >= 0 else (),
        )
        for row in rows
    ]
    arrays = cluster_arrays(cluster)
    runtime = np.array([row["runtime_s"] for row in rows], dtype=np.int64)
    replay = new_replay(cluster, arrays, request_arrays(asked, cluster, arrays), runtime, Phases.drawn(0))
    run_replay(replay)
    running = replay.engine.running
    names = [node.name for node in cluster.nodes]
    held = [
        [names[k] for k in running.node[first : first + count]]
        for first, count in zip(running.first, running.nodes, strict=False)
    ]
    never = np.zeros(len(rows), dtype=np.int64)
    return Ran(running.start.copy(), running.start + runtime, never, never, held)
