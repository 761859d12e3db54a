"""Rows of replay.runs, replay.run_jobs and replay.run_series from a what-if replay."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

from assets.replaying.running.run import ReplayRun
from assets.replaying.running.settings import parse_window
from simulator.metrics.metrics import SEMANTICS

STEPS_S = (60, 300, 900, 3600, 6 * 3600, 86_400)
MOST_STEPS = 20_000
"""A series has hourly steps where that gives between a hundred and this many of them (two years). Otherwise steps are shorter or longer."""
LEAST_STEPS = 100
COUNT_COLUMNS = (
    "jobs",
    "jobs_left_out",
    "requests_below_runtime",
    "jobs_out_of_order",
    "equal_submit_times",
    "repeated_job_ids",
    "jobs_wider_than_cluster",
    "cancelled_jobs",
    "running_jobs",
    "waiting_jobs",
)


def run_row(name: str, run: ReplayRun) -> pl.DataFrame:
    """The row of replay.runs (without `source`)."""
    settings, trimmed = run.settings, run.trimmed_metrics()
    first, length = parse_window(settings.window) if settings.window else (None, None)
    row: dict[str, Any] = {
        "run": name,
        "policy": run.policy.portable_text,
        "policy_sha256": run.policy.sha256,
        "backfill": settings.portable_backfill,
        "inspector": settings.portable_inspector,
        "agent_sha256": run.policy.agent_sha256,
        "estimates": run.estimates,
        "reserve_by": settings.reserve_by if settings.is_standard else None,
        "admit_by": settings.admit_by if settings.is_standard else None,
        "correction": settings.correction if settings.is_standard else None,
        "rules": settings.rules,
        "window_first": first,
        "window_jobs": length,
        "warm_start": settings.warm_start,
        "outages": settings.outages_json(),
        "cancelled": settings.cancelled,
        "drop_wider": settings.drop_wider,
        "trim_share": settings.trim,
        "load": settings.load,
        "procs": run.cluster.procs,
        "procs_from": run.procs_from,
        **{name: run.counts[name] for name in COUNT_COLUMNS},
        "trace_sha256": run.trace_sha256,
        "engine": run.engine,
        "semantics": SEMANTICS,
        **run.metrics(),
        **run.hindsight(),
        "trimmed_metrics": None if trimmed is None else json.dumps(trimmed),
    }
    # a column of one NULL has no type by itself
    types = {key: pl.Int64() if key.startswith("window_") else pl.Utf8() for key, value in row.items() if value is None}
    return pl.DataFrame([row], schema_overrides=types)


def run_jobs(name: str, run: ReplayRun) -> pl.DataFrame:
    """The rows of replay.run_jobs (without `source`), one per job of the replay. A cancelled job has no start."""
    start = pl.when(pl.Series(run.schedule.started)).then(pl.Series(run.schedule.start))
    zero = pl.lit(run.trace.clock_zero)
    return run.rows.select(
        pl.lit(name).alias("run"),
        "job_index",
        start_time=zero + pl.duration(seconds=start),
        end_time=zero + pl.duration(seconds=start + pl.col("runtime_s") + pl.Series(run.schedule.suspended_s)),
        wait_s=start - pl.col("submit_s"),
        procs="procs",
        backfilled=pl.Series(run.schedule.backfilled),
    )


def run_series(name: str, run: ReplayRun) -> pl.DataFrame:
    """The rows of replay.run_series (without `source`): means over equal steps of the log's clock, first submission to last
    completion."""
    series = with_time(series_of(run), run)
    return series.select(pl.lit(name).alias("run"), "time", "step_s", "procs_in_use", "jobs_waiting", "procs_waiting")


def with_time(series: pl.DataFrame, run: ReplayRun) -> pl.DataFrame:
    """Rows of series_of with the UTC time that replay.run_series stores."""
    return series.with_columns(time=pl.lit(run.trace.clock_zero) + pl.duration(seconds="time_s"))


def series_of(run: ReplayRun) -> pl.DataFrame:
    """time_s (begin of a step, second of the log's clock), step_s, and means over the step: procs_in_use, jobs_waiting,
    procs_waiting (what they need). All have jobs of a warm start included, from the first submission of the others to their last
    completion. A step is a whole number of steps from the clock's second 0."""
    jobs, start, started = run.all_jobs, run.all_starts.start, run.all_starts.started
    running, asked = run.cluster.running, slice(run.cluster.waiting, None)
    leaves = np.where(started, start, jobs.cancel)  # the queue
    begin = int(run.jobs.submit[0])
    ends = start + jobs.runtime + run.all_starts.suspended_s
    completion = ends[asked][started[asked]]
    end = max(int(leaves[asked].max()), int(completion.max(initial=begin)), begin + 1)
    step = step_for(end - begin)
    edges = np.arange(begin // step, -(-end // step) + 1) * step
    paused, paused_s = run.all_starts.suspended or (np.zeros(0, np.int64), np.zeros(0, np.int64))
    is_paused = paused_s > 0
    held = (
        np.concatenate([running.start, start[started], paused[is_paused]]),
        np.concatenate([running.start + running.runtime, ends[started], (paused + paused_s)[is_paused]]),
        np.concatenate([running.procs, jobs.procs[started], -jobs.procs[: len(is_paused)][is_paused]]),
    )
    return pl.DataFrame(
        {
            "time_s": edges[:-1],
            "step_s": np.full(len(edges) - 1, step),
            "procs_in_use": mean_level(edges, *held),
            "jobs_waiting": mean_level(edges, jobs.submit, leaves, np.ones_like(jobs.procs)),
            "procs_waiting": mean_level(edges, jobs.submit, leaves, jobs.procs),
        }
    )


def step_for(span_s: int) -> int:
    """Length of a step in seconds: one hour where that gives a fair number of steps, else the nearest that does. At most MOST_STEPS
    days or multiples of days."""
    step = next((step for step in reversed(STEPS_S[:4]) if span_s >= LEAST_STEPS * step), STEPS_S[0])
    longest = max(1, -(-span_s // (MOST_STEPS * STEPS_S[-1]))) * STEPS_S[-1]
    return next((longer for longer in STEPS_S if longer >= step and span_s <= MOST_STEPS * longer), longest)


def mean_level(edges: np.ndarray, begin: np.ndarray, end: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Mean over each step of the sum of `amount` over what lasts from `begin` to `end`, float64 (len(edges) - 1,).

    edges: int64 seconds, ascending. begin, end, amount: int64 (num_intervals,). Exact, because sums are of whole numbers.
    """
    time = np.concatenate([begin, end, edges])
    change = np.concatenate([amount, -amount, np.zeros(len(edges), dtype=np.int64)])
    order = np.argsort(time, kind="stable")
    level = np.cumsum(change[order])[:-1]
    total = np.concatenate([[0], np.cumsum(level * np.diff(time[order]))])  # integral up to each moment
    at_edges = total[np.searchsorted(time[order], edges, side="left")]
    return np.diff(at_edges) / np.diff(edges)
