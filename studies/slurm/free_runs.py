"""Whole replays of our Slurm against recorded runs: `python -m studies slurm_free_runs`.

Submissions, limits, run times and the configuration alone make a schedule. No two runs of the real one agree job by job, so the measures
are those by which two of its runs are compared: starts within 60 s, tau of the order of starts, and the mean wait.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import NOT_GIVEN, request_arrays
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.slurm.replaying import Phases, SlurmReplayer
from studies.slurm.decisions import golden_folders
from studies.slurm.golden_runs import GoldenRun, read_golden_run

SEEDS = 5


@dataclass(frozen=True)
class Distance:
    """Of one replay from the real run, over jobs that started in both."""

    within_60_s: float
    tau: float
    real_wait_s: float
    wait_s: float


def replay_golden(run: GoldenRun, phases: Phases) -> NDArray[np.int64]:
    """Starts of a recorded run's jobs in a replay. Jobs that never ended run for their limit."""
    arrays = cluster_arrays(run.cluster)
    order = np.argsort([job.request.submit_s for job in run.jobs], kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    asked = [
        one.__class__(**(one.__dict__ | {"dependencies": tuple((kind, int(place[k])) for kind, k in one.dependencies)}))
        for one in (run.jobs[k].request for k in order)
    ]
    requests = request_arrays(asked, run.cluster, arrays)
    runtime = np.array([_runtime(run, int(k)) for k in order], dtype=np.int64)
    limit = np.maximum(requests.limit, 1)
    jobs = Jobs(requests.submit, runtime, np.ones_like(runtime), limit, np.maximum(limit, runtime))
    replayer = SlurmReplayer(run.cluster, arrays, requests, phases)
    start = replayer.replay(jobs, Cluster(run.cluster.num_cpus)).schedule.start
    return start[place]


def _runtime(run: GoldenRun, k: int) -> int:
    job = run.jobs[k]
    if job.start_s is None or job.end_s is None:
        return job.request.limit_s or 60
    return max(job.end_s - job.start_s, 0)


def distance(run: GoldenRun, start: NDArray[np.int64]) -> Distance:
    """How far a replay's starts are from those of the real run."""
    real = np.array([NOT_GIVEN if job.start_s is None else job.start_s for job in run.jobs])
    submit = np.array([job.request.submit_s for job in run.jobs])
    both = (real >= 0) & (start >= 0)
    mine, theirs, submit = start[both], real[both], submit[both]
    order = np.sign(mine[:, None] - mine[None, :]) * np.sign(theirs[:, None] - theirs[None, :])
    pairs = np.triu(np.ones_like(order, dtype=np.bool_), 1)
    same, other = int((order[pairs] > 0).sum()), int((order[pairs] < 0).sum())
    return Distance(
        float((np.abs(mine - theirs) <= 60).mean()),
        (same - other) / max(same + other, 1),
        float((theirs - submit).mean()),
        float((mine - submit).mean()),
    )


def main() -> None:
    """Prints the table: the mean over phases, and the range of mean waits."""
    print("| run | within 60 s | tau | mean wait of the real run, s | ours, mean over phases, s | least and most, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for folder in golden_folders():
        if len(sys.argv) > 1 and folder.parent.name not in sys.argv[1:]:
            continue
        run = read_golden_run(folder)
        distances = [distance(run, replay_golden(run, Phases.drawn(seed))) for seed in range(SEEDS)]
        waits = [one.wait_s for one in distances]
        print(
            f"| {folder.parent.name} | {np.mean([one.within_60_s for one in distances]):.2f} | "
            f"{np.mean([one.tau for one in distances]):.4f} | {distances[0].real_wait_s:.0f} | {np.mean(waits):.0f} | "
            f"{min(waits):.0f} to {max(waits):.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
