"""What a schedule is worth: the metrics of docs/semantics.md."""

from __future__ import annotations

import numpy as np

from simulator.jobs import Jobs
from simulator.schedule import Schedule

SEMANTICS = 1
"""Version of the rules and metric definitions in docs/semantics.md; stored with every result."""

BOUNDED_SLOWDOWN_TAU_S = 10


def bounded_slowdown(wait: np.ndarray, runtime: np.ndarray) -> np.ndarray:
    """max(1, (wait + run) / max(run, 10 s)) per job (Feitelson 2001); seconds in, ratio out, shape (num_jobs,)."""
    return np.maximum(1.0, (wait + runtime) / np.maximum(runtime, BOUNDED_SLOWDOWN_TAU_S))


def metrics(jobs: Jobs, schedule: Schedule, cluster_procs: int) -> dict[str, float]:
    """All metrics of a whole replay, plain averages over its jobs; names carry units, semantics in the docs."""
    if len(jobs) == 0:
        raise ValueError("no job to measure: the replay is empty")
    wait = schedule.start - jobs.submit
    turnaround = wait + jobs.runtime
    slowdown = bounded_slowdown(wait, jobs.runtime)
    makespan = int((schedule.start + jobs.runtime).max() - jobs.submit[0])
    return {
        "average_wait_s": float(wait.mean()),
        "p95_wait_s": float(np.percentile(wait, 95)),
        "max_wait_s": float(wait.max()),
        "average_turnaround_s": float(turnaround.mean()),
        "average_slowdown": float((turnaround / jobs.runtime).mean()),
        "average_bounded_slowdown": float(slowdown.mean()),
        "p95_bounded_slowdown": float(np.percentile(slowdown, 95)),
        "utilisation": float((jobs.runtime * jobs.procs).sum() / (cluster_procs * makespan)),
        "makespan_s": float(makespan),
        "backfilled_share": float(schedule.backfilled.mean()),
    }


METRICS = (
    "average_wait_s", "p95_wait_s", "max_wait_s", "average_turnaround_s", "average_slowdown",
    "average_bounded_slowdown", "p95_bounded_slowdown", "utilisation", "makespan_s", "backfilled_share",
)  # fmt: skip
