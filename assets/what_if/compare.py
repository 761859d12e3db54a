"""Two saved runs over the same jobs: what differs, for whom, and whether it could be chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import sql
from simulator.metrics.metrics import METRICS, SIZE_CLASSES, bounded_slowdown, size_classes
from warehouse import Warehouse

BLOCK_RESAMPLES = 2000
RESAMPLING_SEED = 1
LEAST_BLOCKS = 5
"""With fewer blocks of submission time there is no interval: it would say nothing."""
WANTED_BLOCKS = 20
LONGEST_BLOCK_DAYS = 7
_DAY_S = 86_400
PAIRED = ("average_wait_s", "average_turnaround_s", "average_bounded_slowdown")
"""Metrics that are means over jobs, so that their difference is a mean of differences job by job and gets an interval."""

COMPARED_SETTINGS = (
    "policy",
    "policy_sha256",
    "backfill",
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
    "engine",
)


def compare_runs(warehouse: Warehouse, source: str, run_a: str, run_b: str) -> dict[str, Any]:
    """How run B of a source differs from run A over the same jobs; all differences are B minus A.

    settings: by name, the pair of values that differ. metrics: for each of METRICS a, b and difference, and low and high of
    the 95 % interval where there is one. paired: the means of PAIRED over the jobs that started in both, for all jobs and by
    size class of run A's cluster. Each has the shares of jobs that wait less (better), as long (equal) and longer (worse)
    under B. blocks, block_days: what was resampled.

    Raises ValueError for unknown runs and for runs that were not over the same jobs.
    """
    a, b = _rows(warehouse, source, run_a, run_b)
    _check_comparable(source, a, b)
    with warehouse.read() as connection:
        parameters = {"source": source, "run_a": run_a, "run_b": run_b}
        jobs = connection.sql(sql.load("replay.paired_jobs"), params=parameters).pl()
    if jobs.is_empty():
        raise ValueError(f"no job started in both {run_a!r} and {run_b!r}: nothing to compare")
    days, block = blocks_of(jobs["submit_s"].to_numpy())
    metrics = {name: {"a": a[name], "b": b[name], "difference": b[name] - a[name]} for name in METRICS}
    paired = _paired_by_class(jobs, block, a["procs"])
    if len(jobs) == a["jobs"]:  # else the means over all jobs are not those over the paired ones
        for name in PAIRED:
            metrics[name] |= {end: paired[0][name][end] for end in ("low", "high")}
    return {
        "source": source,
        "run_a": run_a,
        "run_b": run_b,
        "settings": {name: [a[name], b[name]] for name in COMPARED_SETTINGS if a[name] != b[name]},
        "jobs": a["jobs"],
        "paired_jobs": len(jobs),
        "block_days": days,
        "blocks": len(np.unique(block)),
        "metrics": metrics,
        "paired": paired,
        "semantics": a["semantics"],
    }


def _paired_by_class(jobs: pl.DataFrame, block: np.ndarray, cluster_procs: int) -> list[dict[str, Any]]:
    """The rows `paired` of compare_runs, all jobs first. jobs: of replay.paired_jobs; block: int (jobs,)."""
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
            low, high = paired_interval(under_b - under_a, block[members])
            means = {"a": float(under_a.mean()), "b": float(under_b.mean())}
            row[name] = means | {"difference": float((under_b - under_a).mean()), "low": low, "high": high}
        change = np.sign((wait_b - wait_a)[members])
        row |= {"better_share": float((change < 0).mean()), "equal_share": float((change == 0).mean())}
        paired.append(row | {"worse_share": float((change > 0).mean())})
    return paired


def blocks_of(submit: np.ndarray) -> tuple[int, np.ndarray]:
    """(length in days, block of each job int64 (jobs,)) for submissions in seconds, int64 (jobs,).

    Blocks are whole days counted from the first submission: a week where that gives at least WANTED_BLOCKS blocks, else as
    many days as do, at least one.
    """
    since = submit - submit.min()
    spanned = int(since.max()) // _DAY_S + 1  # days, the last one not always whole
    days = int(np.clip(spanned // WANTED_BLOCKS, 1, LONGEST_BLOCK_DAYS))
    return days, since // (days * _DAY_S)


def paired_interval(
    difference: np.ndarray, block: np.ndarray, resamples: int = BLOCK_RESAMPLES, seed: int = RESAMPLING_SEED
) -> tuple[float | None, float | None]:
    """95 % percentile bootstrap interval of the mean of `difference` (jobs,) when whole blocks are resampled.

    Waits of neighbouring jobs depend on each other, so that jobs are no independent draws; what lies in different blocks
    nearly is, as long as backlogs are shorter than a block. block: int (jobs,). (None, None) with jobs in fewer than
    LEAST_BLOCKS blocks. A resample draws as many blocks as there are, with replacement; its mean is over their jobs.
    """
    _, number = np.unique(block, return_inverse=True)
    total, jobs = np.bincount(number, difference), np.bincount(number)
    blocks = len(jobs)
    if blocks < LEAST_BLOCKS:
        return None, None
    drawn = np.random.default_rng(seed).integers(blocks, size=(resamples, blocks))
    means = total[drawn].sum(axis=1) / jobs[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def saved_runs(warehouse: Warehouse, source: str) -> list[str]:
    """Names of the saved runs of a source, sorted."""
    with warehouse.read() as connection:
        rows = connection.execute("SELECT run FROM replay.runs WHERE source = ? ORDER BY run", [source]).fetchall()
    return [row[0] for row in rows]


def _rows(warehouse: Warehouse, source: str, run_a: str, run_b: str) -> tuple[dict[str, Any], dict[str, Any]]:
    names = saved_runs(warehouse, source)
    if not names:
        raise ValueError(
            f"source {source!r} has no saved runs yet: `tracehouse run --source {source}` saves some, `tracehouse replay "
            f"{source} ... --save NAME` one of yours"
        )
    for run in (run_a, run_b):
        if run not in names:
            raise ValueError(
                f"source {source!r} has no saved run {run!r}; it has {', '.join(names)}. Save one with `tracehouse replay "
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
        differing = [name for name in ("rules", "cancelled", "drop_wider", "procs") if a[name] != b[name]]
        why = (
            f"their settings differ in {', '.join(f'{name} ({a[name]}, {b[name]})' for name in differing)}"
            if differing
            else "the log has changed between them"
        )
        raise ValueError(
            f"{names} were not run over the same jobs (trace_sha256 {a['trace_sha256'][:12]} and "
            f"{b['trace_sha256'][:12]}): {why}; {again}"
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
