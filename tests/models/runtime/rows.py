"""Rows of run-time predictors, made as the warehouse makes them: a busy random log, its features by SQL, its similar jobs."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assets.predictions.features import runtime_rows, write_job_features, write_similar_jobs
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from tests.tiny import warehouse_of
from warehouse import Warehouse

SOURCE = "mine"
GRID_S = 300
"""All times of the random log are multiples of this, so that much happens in the same second."""


def odd_log(jobs: int = 400, procs: int = 16, seed: int = 0, days: int = 20) -> str:
    """An SWF log in which jobs queue: users with habits, several executables and queues; users, executables and requests are
    missing here and there."""
    rng = np.random.default_rng(seed)
    user = rng.choice([-1, 1, 2, 3, 4, 5, 6], jobs, p=[0.04, 0.3, 0.2, 0.16, 0.14, 0.1, 0.06])
    executable = rng.choice([-1, 1, 2, 3], jobs, p=[0.1, 0.4, 0.3, 0.2])
    habit = rng.lognormal(9.6, 0.8, (8, 5))[user, executable]
    runtime = _on_grid(habit * rng.lognormal(0, 0.5, jobs) * days / 20 * 400 / jobs)
    width = rng.choice([1, 2, 4, 8, 16], jobs, p=[0.4, 0.2, 0.2, 0.15, 0.05])
    request = np.maximum(runtime, rng.choice([3600, 7200, 14_400, 43_200, 86_400], jobs))
    submit = np.sort(rng.integers(0, days * 86_400, jobs)) // GRID_S * GRID_S
    start = replay(Jobs(submit, runtime, width, request, request), procs, "FCFS", "none").start
    request = np.where(rng.random(jobs) < 0.1, -1, request)
    status = rng.choice([1, 0, 5], jobs, p=[0.85, 0.1, 0.05])
    queue = rng.choice([-1, 1, 2], jobs)
    columns = (submit, start - submit, runtime, width, request, status, user, executable, queue)
    lines = [
        f"{k + 1} {s} {w} {r} {p} -1 -1 -1 {q} -1 {st} {u} {max(u, 1) % 2 + 1} {x} {qu} 1 -1 -1\n"
        for k, (s, w, r, p, q, st, u, x, qu) in enumerate(zip(*columns, strict=True))
    ]
    return f"; UnixStartTime: 1767225600\n; TimeZoneString: Europe/Berlin\n; MaxProcs: {procs}\n" + "".join(lines)


def _on_grid(seconds: np.ndarray) -> np.ndarray:
    return np.maximum(1, np.rint(seconds / GRID_S)).astype(np.int64) * GRID_S


class Chain:
    """A warehouse with one source, of which the jobs can be changed and all features computed again."""

    def __init__(self, folder: Path, log: str) -> None:
        self.warehouse: Warehouse = warehouse_of(folder, log, SOURCE)
        with self.warehouse.read() as connection:
            self.jobs = connection.sql("FROM core.jobs ORDER BY job_index").pl()

    def rows(self, jobs: pl.DataFrame | None = None) -> pl.DataFrame:
        """What predictors see of the log, or of these jobs in its place."""
        with self.warehouse.write() as connection:
            if jobs is not None:
                connection.execute("DELETE FROM core.jobs")
                connection.register("changed", jobs.to_arrow())
                connection.execute("INSERT INTO core.jobs BY NAME SELECT * FROM changed")
                connection.unregister("changed")
        write_job_features(self.warehouse, SOURCE)
        write_similar_jobs(self.warehouse, SOURCE)
        return runtime_rows(self.warehouse, SOURCE)


def another_future(jobs: pl.DataFrame, moment: datetime, rng: random.Random) -> pl.DataFrame:
    """The jobs submitted up to a moment; those that had not ended before it start (if they had not), run and end otherwise."""
    rows: list[dict[str, Any]] = []
    for row in jobs.filter(pl.col("submit_time") <= moment).to_dicts():
        if row["end_time"] >= moment:
            if row["start_time"] >= moment:
                row["start_time"] = moment + timedelta(seconds=rng.randrange(50_000))
            least = max(1, int((moment - row["start_time"]).total_seconds()))
            row["runtime_s"] = least + rng.choice([0, rng.randrange(1000), rng.randrange(300_000)])
            row["end_time"] = row["start_time"] + timedelta(seconds=row["runtime_s"])
            row["status"] = rng.choice(["completed", "failed", "cancelled"])
        rows.append(row)
    return pl.DataFrame(rows, schema=jobs.schema)


def telling_moments(jobs: pl.DataFrame, rng: random.Random, count: int) -> list[datetime]:
    """In the second of an end and of a submission, and in others; in the later two thirds of the log."""
    late = jobs[jobs.height // 3 :]
    found = []
    for turn in range(count):
        times = late[("end_time", "submit_time", "start_time")[turn % 3]].drop_nulls().unique().sort().to_list()
        last = late["submit_time"][-1]
        found.append(rng.choice([time for time in times if time <= last]) + timedelta(seconds=rng.choice([0, 0, 1])))
    return found
