"""States of a machine, and a log in which jobs queue: what the tests of waits share."""

from __future__ import annotations

import numpy as np
import polars as pl

from models.runtime.predictor import LEVELS, QUANTILE_COLUMNS, FloatArray
from models.waits.history import JobSet, State
from models.waits.replays import RowStarts
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import parse_policy


def job_set(*jobs: tuple[int, int, int, float]) -> JobSet:
    """(since, procs, request, run time that is certain), all of user 0."""
    since, procs, request, runtime = (np.array(column) for column in zip(*jobs, strict=True)) if jobs else [[]] * 4
    whole = [np.asarray(column, dtype=np.int64) for column in (since, procs, request)]
    number = np.arange(len(jobs))
    certain = np.repeat(np.asarray(runtime, dtype=np.float64)[:, None], len(LEVELS), axis=1)
    return JobSet(*whole, np.zeros(len(jobs), dtype=np.int64), number, certain)  # type: ignore[call-arg]


def rows_of(jobs: int = 300, seed: int = 3, procs: int = 16) -> pl.DataFrame:
    """A log in which jobs queue, with quantiles around requests; some are cancelled while they wait."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 20 * 86_400, jobs))
    width = rng.choice([1, 2, 4, 8], jobs)
    runtime = np.ceil(rng.lognormal(9.6, 1.0, jobs)).astype(np.int64)
    request = np.ceil(runtime * rng.uniform(1, 4, jobs)).astype(np.int64)
    start = replay(Jobs(submit, runtime, width, request, request), procs, "FCFS", "easy").start
    quantiles = {name: request * share for name, share in zip(QUANTILE_COLUMNS, np.linspace(0.1, 0.95, 8), strict=True)}
    rows = pl.DataFrame({
        "job_index": np.arange(jobs), "submit_s": submit, "start_s": start, "cancel_s": np.full(jobs, None),
        "runtime_s": runtime, "procs": width, "requested_walltime_s": request,
        "user_number": rng.integers(0, 6, jobs), **quantiles,
    }, schema_overrides={"cancel_s": pl.Int64})  # fmt: skip
    gone = (pl.col("job_index") % 29 == 3) & (pl.col("start_s") > pl.col("submit_s") + 100)
    return rows.with_columns(
        cancel_s=pl.when(gone).then(pl.col("submit_s") + 100), start_s=pl.when(~gone).then(pl.col("start_s"))
    )


def start_times(
    state: State, position: int, samples: int, seed: int | list[int], policy: str = "FCFS", backfill: str = "easy"
) -> FloatArray:
    """Seconds from now until one waiting job starts, in replays over a row of processors, float64 (samples,)."""
    return RowStarts(parse_policy(policy), backfill)(state, samples, seed)[:, position]
