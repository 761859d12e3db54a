"""How fast live estimates follow a deep queue: a synthetic log on which thousands of jobs wait, FCFS beside the bounded key.

400 users submit campaigns of like jobs; the offered load lies just above what 1,024 processors can do. Every job that ends changes
what is believed of all its user's waiting jobs. Compilation is not in the figures.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from benchmarks.engine import median_cpu_s
from models.runtime.live import LiveSettings, replay_live
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs, jobs_from_log

JOBS = 448_000
PROCS = 1024
CAMPAIGN = 20
SETTINGS = LiveSettings("mean", reserve_by="requested", admit_by="requested")


def campaigns(num_jobs: int, load: float, users: int = 400, seed: int = 1) -> tuple[Jobs, pl.DataFrame]:
    """Jobs, and what live estimates know of them. Each of three applications per user has its own width, request and usual run
    time; few applications have most jobs."""
    draw = np.random.default_rng(seed)
    applications = 3 * users
    user = draw.integers(0, users, applications)
    width = 2 ** draw.integers(0, 8, applications)
    usual = np.exp(draw.normal(7.5, 1.6, applications))
    request = np.exp(np.ceil(np.log(3 * usual) * 2) / 2).astype(np.int64).clip(300, 172_800)
    size = draw.geometric(1 / CAMPAIGN, num_jobs)
    app = np.repeat((draw.zipf(1.3, num_jobs) - 1) % applications, size)[:num_jobs]
    campaign = np.repeat(np.arange(num_jobs), size)[:num_jobs]
    runtime = (usual[app] * np.exp(draw.normal(0, 0.5, num_jobs))).astype(np.int64).clip(1, request[app])
    gap_s = (runtime * width[app]).mean() / PROCS / load
    begin = np.cumsum(draw.exponential(CAMPAIGN * gap_s, campaign[-1] + 1))
    submit = np.sort((begin[campaign] + draw.exponential(5, num_jobs)).astype(np.int64))
    rows = pl.DataFrame({
        "user_name": user[app].astype(str), "executable": app.astype(str),
        "requested_walltime_s": request[app], "requested_procs": width[app],
    })  # fmt: skip
    return jobs_from_log(submit, runtime, width[app], request[app]), rows


def main() -> None:
    print(
        f"{JOBS:,} synthetic jobs, EASY{'offered load':>20}{'mean queue':>12}{'FCFS, CPU-s':>13}{'bounded key, live':>19}"
    )
    for load in (0.9, 1.0, 1.03):
        jobs, rows = campaigns(JOBS, load)
        fcfs = median_cpu_s(lambda jobs=jobs: replay(jobs, PROCS), 3)  # type: ignore[misc]
        schedules = []
        live = median_cpu_s(
            lambda jobs=jobs, rows=rows, kept=schedules: kept.append(  # type: ignore[misc]
                replay_live(jobs, rows, PROCS, "bounded-key", "easy", settings=SETTINGS).schedule
            ),
            1,
        )
        queue = (schedules[0].start - jobs.submit).sum() / (jobs.submit[-1] - jobs.submit[0])
        print(f"{'':<28}{load:>20}{queue:>12,.0f}{fcfs:>13.2f}{live:>19.1f}")


if __name__ == "__main__":
    main()
