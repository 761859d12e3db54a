"""Two saved runs over the same jobs: what differs, for whom, and which one is worth adopting."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import numpy as np
import polars as pl

import sql
from assets.common.trace import load_clock, load_extent
from assets.replay.judged import verdict_of_runs
from assets.replay.scored_part import PartOptions, part_of
from simulator.metrics.metrics import METRICS, SIZE_CLASSES, bounded_slowdown, size_classes
from warehouse import Warehouse

PAIRED = ("average_wait_s", "average_turnaround_s", "average_bounded_slowdown")
"""Metrics that are means over jobs, so that their difference is a mean of differences job by job."""

COMPARED_SETTINGS = (
    "policy",
    "policy_sha256",
    "backfill",
    "inspector",
    "agent_sha256",
    "estimates",
    "reserve_by",
    "admit_by",
    "correction",
    "rules",
    "warm_start",
    "outages",
    "cancelled",
    "drop_wider",
    "procs",
    "load",
    "engine",
)


def compare_runs(
    warehouse: Warehouse, source: str, run_a: str, run_b: str, part: PartOptions | None = None
) -> dict[str, Any]:
    """How run B of a source differs from run A over the same jobs. All differences are B minus A. part: which jobs are compared, None
    for all.

    settings: by name, the pair of values that differ. metrics: for each of METRICS a, b and difference. paired: the means of
    PAIRED over the jobs that started in both, for all jobs and by size class of run A's cluster. Each has the shares of jobs
    that wait less (better), as long (equal) and longer (worse) under B. verdict: see `verdict_of_runs`. For a part of the jobs there are
    no metrics, and scored says which part it is.

    Raises ValueError for unknown runs and for runs that were not over the same jobs.
    """
    a, b = _rows(warehouse, source, run_a, run_b)
    _check_comparable(source, a, b)
    with warehouse.read() as connection:
        parameters = {"source": source, "run_a": run_a, "run_b": run_b}
        jobs = connection.sql(sql.load("replay.paired_jobs"), params=parameters).pl()
    if jobs.is_empty():
        raise ValueError(f"no job started in both {run_a!r} and {run_b!r}: nothing to compare")
    scored = None
    if part is not None and not part.is_all:
        clock = load_clock(warehouse, source)
        zero = int(clock.zero.replace(tzinfo=UTC).timestamp())
        complete = load_extent(warehouse, source)[1]
        scored = part_of(jobs.with_columns(pl.col("submit_s") - zero), clock, part, complete)
    compared = jobs if scored is None else jobs.filter(pl.Series(scored.mask))
    metrics = {name: {"a": a[name], "b": b[name], "difference": b[name] - a[name]} for name in METRICS}
    return {
        "source": source,
        "run_a": run_a,
        "run_b": run_b,
        "settings": {name: [a[name], b[name]] for name in COMPARED_SETTINGS if a[name] != b[name]},
        "jobs": a["jobs"],
        "paired_jobs": len(compared),
        **({"metrics": metrics} if scored is None else {"scored": scored.words}),
        "paired": _paired_by_class(compared, a["procs"]),
        "verdict": verdict_of_runs(a, b, jobs, None if scored is None else scored.mask, warehouse),
        "semantics": a["semantics"],
    }


def _paired_by_class(jobs: pl.DataFrame, cluster_procs: int) -> list[dict[str, Any]]:
    """The rows `paired` of compare_runs, all jobs first. jobs: of replay.paired_jobs."""
    runtime, procs = jobs["runtime_s"].to_numpy(), jobs["procs"].to_numpy()
    wait_a, wait_b = jobs["wait_a_s"].to_numpy(), jobs["wait_b_s"].to_numpy()
    values = {  # by metric: per job, under A and under B
        "average_wait_s": (wait_a.astype(np.float64), wait_b.astype(np.float64)),
        "average_turnaround_s": ((wait_a + runtime).astype(np.float64), (wait_b + runtime).astype(np.float64)),
        "average_bounded_slowdown": (bounded_slowdown(wait_a, runtime), bounded_slowdown(wait_b, runtime)),
    }
    paired = []
    for label, members in _classes(procs, cluster_procs):
        row: dict[str, Any] = {"jobs_of": label, "jobs": int(members.sum())}
        for name in PAIRED:
            under_a, under_b = (side[members] for side in values[name])
            means = {"a": float(under_a.mean()), "b": float(under_b.mean())}
            row[name] = means | {"difference": float((under_b - under_a).mean())}
        change = np.sign((wait_b - wait_a)[members])
        row |= {"better_share": float((change < 0).mean()), "equal_share": float((change == 0).mean())}
        paired.append(row | {"worse_share": float((change > 0).mean())})
    return paired


def saved_runs(warehouse: Warehouse, source: str) -> list[str]:
    """Names of the saved runs of a source, sorted."""
    with warehouse.read() as connection:
        rows = connection.execute("SELECT run FROM replay.runs WHERE source = ? ORDER BY run", [source]).fetchall()
    return [row[0] for row in rows]


def _rows(warehouse: Warehouse, source: str, run_a: str, run_b: str) -> tuple[dict[str, Any], dict[str, Any]]:
    names = saved_runs(warehouse, source)
    if not names:
        raise ValueError(
            f"source {source!r} has no saved runs yet: `tracehouse run {source}` saves some, `tracehouse replay "
            f"{source} ... --save NAME` one of yours"
        )
    for run in (run_a, run_b):
        if run not in names:
            raise ValueError(
                f"source {source!r} has no saved run {run!r}. It has {', '.join(names)}. Save one with `tracehouse replay "
                f"{source} ... --save {run}`"
            )
    with warehouse.read() as connection:
        rows = connection.sql("SELECT * FROM replay.runs WHERE source = $source", params={"source": source}).pl()
    return rows.row(by_predicate=pl.col("run") == run_a, named=True), rows.row(
        by_predicate=pl.col("run") == run_b, named=True
    )


def _check_comparable(source: str, a: dict[str, Any], b: dict[str, Any]) -> None:
    windows = [
        "the whole trace" if row["window_first"] is None else f"window {row['window_first']}:{row['window_jobs']}"
        for row in (a, b)
    ]
    names = f"{a['run']!r} and {b['run']!r}"
    again = f"save one of them again with `tracehouse replay {source} ... --save NAME`"
    if windows[0] != windows[1]:
        raise ValueError(f"{names} replay different jobs, {windows[0]} and {windows[1]}: {again} over the same window")
    if a["trace_sha256"] != b["trace_sha256"]:
        differing = [name for name in ("rules", "cancelled", "drop_wider", "procs", "load") if a[name] != b[name]]
        why = (
            f"their settings differ in {', '.join(f'{name} ({a[name]}, {b[name]})' for name in differing)}"
            if differing
            else "the log, or what was left out of it, has changed between them"
        )
        raise ValueError(
            f"{names} were not run over the same jobs (trace_sha256 {a['trace_sha256'][:12]} and "
            f"{b['trace_sha256'][:12]}), because {why}: {again}"
        )
    if a["semantics"] != b["semantics"]:
        raise ValueError(
            f"{names} were saved under different rules (semantics {a['semantics']} and {b['semantics']}): {again}"
        )


def _classes(procs: np.ndarray, cluster_procs: int) -> list[tuple[str, np.ndarray]]:
    """("all" or a size class, its jobs as bool (jobs,)), the classes of marts.job_facts, those without jobs left out."""
    size = size_classes(procs, cluster_procs)
    classes = [(name, size == k) for k, name in enumerate(SIZE_CLASSES)]
    return [("all", np.ones(len(procs), dtype=np.bool_)), *((name, jobs) for name, jobs in classes if jobs.any())]
