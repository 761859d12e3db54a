"""Our Slurm against one real run of UB's micro cluster: `python -m studies slurm_micro_cluster`.

500 jobs on ten nodes, under real Slurm of version 17.11. Requests come from the events, which have what accounting lacks: features and
GPUs. Submissions, starts and run times come from accounting. Jobs give tasks, and how many go on a node at most, but no number of nodes.
So each asks for one node or more, and its priority counts one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.slurm.replaying import Phases, SlurmReplayer
from studies.slurm.decisions import SHARED
from studies.slurm.events import read_events
from studies.slurm.waits_by_group import COLUMNS, RULER, rows_by_group
from traces.cluster.description import ClusterDescription
from traces.slurm.configuration.folder import read_slurm_cluster

SEEDS = 5
VERSION = "17.11"
MEMORY_PER_CPU_MIB = 2800
"""DefMemPerCPU of its partitions."""
ANY, LARGE = "any", "large memory"
"""Nodes of jobs that need no feature and no GPU."""


def micro_cluster(folder: Path) -> ClusterDescription:
    """The cluster from its configuration."""
    files = [folder / "etc" / "slurm.conf", folder / "v3" / "etc" / "sacctmgr.script"]
    cluster = read_slurm_cluster([*files, folder / "etc" / "topology.conf"], "micro").description
    return replace(cluster, scheduler=replace(cluster.scheduler, version=VERSION))


def micro_requests(folder: Path) -> tuple[list[Request], list[tuple[int, int]]]:
    """The requests, and the start and end of each job."""
    names, *lines = (folder / "real_slurm_run" / "slurm_acct.out").read_text().splitlines()
    rows = [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]
    by_name = {row["JobName"]: row for row in rows}
    asked, ran = [], []
    for event in read_events(folder / "v3" / "workload" / "jobs500.events", MEMORY_PER_CPU_MIB):
        row = by_name[event.name]
        ran.append((_second(row["Start"]), _second(row["End"])))
        asked.append(replace(event.request, submit_s=_second(row["Submit"])))
    return asked, ran


def _second(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def micro_groups(folder: Path) -> dict[str, list[str]]:
    """Each job's user, and what it needs of its nodes, in the order of replay_micro."""
    asked = sorted(micro_requests(folder)[0], key=lambda one: one.submit_s)
    return {
        "user": [one.user for one in asked],
        "nodes": [one.features or ("GPU" if one.gpus else LARGE if one.memory_per == "node" else ANY) for one in asked],
    }


def replay_micro(folder: Path, phases: Phases) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Waits of our replay and of the real run, in seconds, in the order of submission."""
    cluster = micro_cluster(folder)
    asked, ran = micro_requests(folder)
    order = sorted(range(len(asked)), key=lambda k: asked[k].submit_s)
    asked, ran = [asked[k] for k in order], [ran[k] for k in order]
    arrays = cluster_arrays(cluster, {one.features for one in asked})
    requests = request_arrays(asked, cluster, arrays)
    start, end = np.array(ran, dtype=np.int64).T
    runtime = end - start
    jobs = Jobs(requests.submit, runtime, np.ones_like(start), requests.limit, np.maximum(requests.limit, runtime))
    outcome = SlurmReplayer(cluster, arrays, requests, phases).replay(jobs, Cluster(cluster.num_cpus))
    return outcome.schedule.start - requests.submit, start - requests.submit


def share_alike(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """The share of waits that differ by at most a minute or a tenth of the larger one."""
    return float((np.abs(one - other) <= np.maximum(60, np.maximum(one, other) / 10)).mean())


def rank_correlation(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Spearman's: the correlation of the ranks, where equal values share the mean of their ranks."""
    ranks = [_ranks(values) for values in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: NDArray[np.int64]) -> NDArray[np.float64]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[place]


def main() -> None:
    """Prints mean waits, ranks and how many jobs are alike, over phases, then the waits of each user and kind of node."""
    folder = SHARED / "traces" / "clusters" / "ub-micro"
    if not folder.exists():
        sys.exit(f"{folder}: the data are not there; name the folder above with TRACEHOUSE_SHARED")
    waits = []
    print("by phase\n\n| phase | mean wait, s | real, s | ratio | rank | alike |")
    print("| --- | --- | --- | --- | --- | --- |")
    for seed in range(SEEDS):
        ours, real = replay_micro(folder, Phases.drawn(seed))
        waits.append(ours)
        print(
            f"| {seed} | {ours.mean():.0f} | {real.mean():.0f} | {ours.mean() / real.mean():.2f} | "
            f"{rank_correlation(ours, real):.3f} | {share_alike(ours, real):.2f} |",
            flush=True,
        )
    print(f"\nby user and nodes\n\n| {COLUMNS} |\n| {RULER} |")
    for row in rows_by_group(micro_groups(folder), real, waits):
        print(f"| {row} |")


if __name__ == "__main__":
    main()
