"""A small cluster with a limit that matters, planted once for all tests of the study."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from studies.planted.clusters import PlantedCluster, Workload, starts_on
from studies.planted.planting import LIMIT, PlantedLog
from traces.cluster.accounts import Limit

PROCS, JOBS = 64, 800
FOUR_RUNNING = Limit("cluster", "", "running", "user", "jobs", 4)


def small_workload(seed: int = 1, jobs: int = JOBS) -> Workload:
    """Jobs of eight users in three queues, in bursts."""
    rng = np.random.default_rng(seed)
    submit = np.sort(np.repeat(rng.integers(0, 20 * 86_400, jobs // 10), 10) + rng.integers(0, 600, jobs))
    runtime = np.minimum(rng.lognormal(8.5, 1, jobs), 80_000).astype(np.int64) + 1
    user = rng.integers(0, 8, jobs // 10).repeat(10)
    rows = pl.DataFrame(
        {
            "job_index": np.arange(jobs),
            "submit_s": submit,
            "eligible_s": submit,
            "runtime_s": runtime,
            "procs": rng.choice([1, 2, 4, 8, 16], jobs),
            "requested_walltime_s": runtime * 2,
            "user_name": [f"u{number:03}" for number in user],
            "group_name": [f"g{number % 3:02}" for number in user],
            "account": [f"a{number % 3:02}" for number in user],
            "queue": np.array(["short", "normal", "long"])[np.searchsorted([3600, 20_000], runtime)],
            "qos": [None] * jobs,
        },
        schema_overrides={"qos": pl.Utf8},
    )
    return Workload(rows, PROCS, 1_738_540_800, "UTC")


@cache
def small_planted() -> PlantedLog:
    """Four running jobs a user, under FCFS with EASY."""
    workload, bare = small_workload(), PlantedCluster(PROCS)
    cluster = PlantedCluster(PROCS, limits=(FOUR_RUNNING,))
    start = starts_on(cluster, workload, is_true=True)
    return PlantedLog(3, LIMIT, "running jobs", "user", workload, cluster, bare, start, 0.5)
