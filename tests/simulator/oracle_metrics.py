"""The metrics of docs/reference/semantics.md that every replay without cancelled jobs has, in plain arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the percentile with linear interpolation between the two nearest ranks, in the unit of `values`."""
    ordered = sorted(values)
    rank = Fraction(percent, 100) * (len(ordered) - 1)
    below = math.floor(rank)
    above = math.ceil(rank)
    return ordered[below] + float(rank - below) * (ordered[above] - ordered[below])


def oracle_metrics(
    submit: Sequence[int],
    runtime: Sequence[int],
    procs: Sequence[int],
    start: Sequence[int],
    backfilled: Sequence[bool],
    cluster_procs: int,
) -> dict[str, float]:
    """Return the metrics table of docs/reference/semantics.md under its names, in its units; needs at least one job."""
    jobs = [
        {"wait": begin - s, "runtime": r, "procs": p, "end": begin + r}
        for s, r, p, begin in zip(submit, runtime, procs, start, strict=True)
    ]
    count = len(jobs)
    waits = [job["wait"] for job in jobs]
    bounded_slowdowns = [max(1.0, (job["wait"] + job["runtime"]) / max(job["runtime"], 10)) for job in jobs]
    makespan_s = max(job["end"] for job in jobs) - min(submit)
    return {
        "average_wait_s": sum(waits) / count,
        "p95_wait_s": percentile(waits, 95),
        "max_wait_s": float(max(waits)),
        "average_turnaround_s": sum(job["wait"] + job["runtime"] for job in jobs) / count,
        "average_slowdown": math.fsum((job["wait"] + job["runtime"]) / job["runtime"] for job in jobs) / count,
        "average_bounded_slowdown": math.fsum(bounded_slowdowns) / count,
        "p95_bounded_slowdown": percentile(bounded_slowdowns, 95),
        "utilisation": sum(job["runtime"] * job["procs"] for job in jobs) / (cluster_procs * makespan_s),
        "makespan_s": float(makespan_s),
        "backfilled_share": sum(bool(flag) for flag in backfilled) / count,
    }
