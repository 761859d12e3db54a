"""Rows of run-time predictors, made as the warehouse makes them: a busy random log, its features by SQL, its similar jobs.

Similar jobs in plain Python: classes are keys of a dictionary, which holds the run times of each, the latest last.

Every predictor, fitted once on the rows of the random log: what the tests of predictors share.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assets.features.tables import runtime_rows, write_job_features, write_similar_jobs
from models.runtime.named import PREDICTORS, make_predictor, predictor_to_bytes
from models.runtime.predictor import Prediction
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


# --- plain


def ladder(job: dict[str, Any]) -> list[tuple[Any, ...]]:
    user, executable = job["user_name"], job["executable"]
    request = -1 if job["requested_walltime_s"] is None else job["requested_walltime_s"]
    procs = -1 if job["requested_procs"] is None else job["requested_procs"]
    about = round(2 * math.log2(max(request, 1))) if request > 0 else -1
    size = math.ceil(math.log2(max(procs, 1)))
    return [
        (0, user, executable, request, procs), (1, user, executable, request), (2, user, request), (3, user, executable),
        (4, user), (5, about, size), (6, about),
    ]  # fmt: skip


def sample_of(
    job: dict[str, Any], lists: dict[tuple[Any, ...], list[float]], recency: float, doubt: Sequence[float]
) -> list[tuple[float, float]]:
    """((run time, weight), ...) of what is known."""
    request = job["requested_walltime_s"] or math.inf
    left, sample = 1.0, []
    for rung, key in enumerate(ladder(job)):
        latest_first = lists[key][::-1][:12]
        total = sum(recency**age for age in range(len(latest_first)))
        taken = left * total / (total + doubt[rung])
        for age, runtime in enumerate(latest_first):
            sample.append((min(runtime, request), taken * recency**age / total))
        left -= taken
    sample.append((request / 4 if request < math.inf else 3600.0, left))
    return sample


def quantile(sample: list[tuple[float, float]], level: float) -> float:
    """Piecewise linear through (sum of the weights below + half of its own, value), flat beyond the ends."""
    ordered = sorted(sample, key=lambda pair: pair[0])
    middles, below = [], 0.0
    for _, weight in ordered:
        middles.append(below + weight / 2)
        below += weight
    return float(np.interp(level, middles, [value for value, _ in ordered]))


# --- trials


FITTED = 250

every_predictor = pytest.mark.parametrize("name", PREDICTORS)


class Trial:
    """A fitted predictor and what it says of later rows."""

    def __init__(self, name: str, rows: pl.DataFrame) -> None:
        self.fitted, self.later = rows[:FITTED], rows[FITTED:]
        self.predictor = make_predictor(name)
        self.predictor.fit(self.fitted)
        self.content = predictor_to_bytes(self.predictor)
        self.found = self.predictor.predict(self.later)


def assert_same(found: Prediction, expected: Prediction) -> None:
    np.testing.assert_array_equal(found.point, expected.point)
    np.testing.assert_array_equal(found.quantiles, expected.quantiles)
