"""A week of UB-HPC under four settings of its QOS: `python -m studies slurm_hpc_week`.

19,579 jobs on 217 nodes, in the configuration of the centre. There are no real starts, so the table shows what the settings change,
and how long a replay takes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
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
from traces.cluster.description import ClusterDescription
from traces.slurm.configuration.folder import read_slurm_cluster

SETTINGS = {"none": "_nopriority", "100": "_priority100", "200": "_priority200", "as it was": ""}
"""Priority of the QOS `priority`, and the end of the name of the file that has it."""
QUALITIES = ("general-compute", "supporters", "priority", "priority-supporters", "debug")
MEMORY_PER_CPU_MIB = 2800
"""DefMemPerCPU of its partitions."""
VERSION = "21.08"


def hpc_week(folder: Path, setting: str) -> tuple[ClusterDescription, list[Request], NDArray[np.int64]]:
    """The cluster, its requests, and how long each job runs in seconds."""
    etc = folder / "etc"
    files = [etc / "slurm.conf", etc / f"sacctmgr{setting}.script", etc / "topology.conf", etc / "gres.conf"]
    cluster = read_slurm_cluster(files, "ub-hpc").description
    cluster = replace(cluster, scheduler=replace(cluster.scheduler, version=VERSION))
    accounts = {member.user: member.account for member in cluster.members}
    events = list(read_events(folder / "job_traces" / "workload_week.events.gz", MEMORY_PER_CPU_MIB))
    requests = [
        replace(event.request, submit_s=int(event.after_s), account=accounts[event.request.user]) for event in events
    ]
    return cluster, requests, np.array([max(int(event.ran_s or 0), 1) for event in events])


def week_waits(
    folder: Path, setting: str, phases: Phases, most_jobs: int | None = None
) -> tuple[list[Request], NDArray[np.int64], float]:
    """The requests, the wait of each in seconds, and the CPU seconds of the replay. most_jobs: those that came first, None for all."""
    cluster, asked, runtime = hpc_week(folder, setting)
    asked, runtime = asked[:most_jobs], runtime[:most_jobs]
    arrays = cluster_arrays(cluster, {one.features for one in asked})
    requests = request_arrays(asked, cluster, arrays)
    jobs = Jobs(requests.submit, runtime, np.ones_like(runtime), requests.limit, np.maximum(requests.limit, runtime))
    began = time.process_time()
    outcome = SlurmReplayer(cluster, arrays, requests, phases).replay(jobs, Cluster(cluster.num_cpus))
    return asked, outcome.schedule.start - requests.submit, time.process_time() - began


def _by_quality(asked: list[Request], waits: NDArray[np.int64]) -> Iterator[str]:
    for quality in QUALITIES:
        mine = np.array([one.qos == quality for one in asked])
        yield f"{waits[mine].mean() / 3600:.2f}"


def main() -> None:
    """Prints mean waits in hours by QOS under each setting, and the time of a replay."""
    folder = SHARED / "traces" / "clusters" / "ub-hpc-week"
    if not folder.exists():
        sys.exit(f"{folder}: the data are not there; name the folder above with TRACEHOUSE_SHARED")
    print(f"| priority | all, h | {' | '.join(QUALITIES)} | never started | CPU, s |")
    print("| --- |" + " --- |" * (len(QUALITIES) + 3))
    week_waits(folder, "", Phases(), 10)  # compiles
    for name, setting in SETTINGS.items():
        asked, waits, seconds = week_waits(folder, setting, Phases())
        started = waits >= 0
        print(
            f"| {name} | {waits[started].mean() / 3600:.2f} | {' | '.join(_by_quality(asked, waits))} | "
            f"{int((~started).sum())} | {seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
