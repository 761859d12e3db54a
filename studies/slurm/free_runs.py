"""Whole replays of our Slurm against recorded runs: `python -m studies slurm_free_runs`.

Submissions, limits, run times and the configuration alone make a schedule, and how long a backfill cycle takes for a job, which is the
machine's. No two runs of the real one agree job by job, so the measures are those by which two of its runs are compared: starts within
60 s, tau of the order of starts, and the mean wait, of all jobs and of those of each partition, QOS and account.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import NOT_GIVEN, request_arrays
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.settings import slurm_settings
from studies.slurm.decisions import golden_folders
from studies.slurm.golden_runs import GoldenRun, read_golden_run
from studies.slurm.waits_by_group import COLUMNS, RULER, rows_by_group

SEEDS = 20
SOON_S = 0.3
"""Seconds after its interval in which a cycle begins that waits for nothing."""


@dataclass(frozen=True)
class Distance:
    """Of one replay from the real run, over jobs that started in both."""

    within_60_s: float
    tau: float
    real_wait_s: float
    wait_s: float


def replay_golden(run: GoldenRun, phases: Phases) -> NDArray[np.int64]:
    """Starts of a recorded run's jobs in a replay. Jobs that never ended run for their limit."""
    replayer, jobs = golden_replay(run, phases)
    start = np.empty(len(jobs), dtype=np.int64)
    start[_by_submission(run)] = replayer.replay(jobs, Cluster(run.cluster.num_cpus)).schedule.start
    return start


def golden_replay(run: GoldenRun, phases: Phases) -> tuple[SlurmReplayer, Jobs]:
    """What replays a recorded run's jobs, and these by their submissions. Jobs that never ended run for their limit."""
    arrays = cluster_arrays(run.cluster)
    order = _by_submission(run)
    place = np.argsort(order)
    asked = [
        one.__class__(**(one.__dict__ | {"dependencies": tuple((kind, int(place[k])) for kind, k in one.dependencies)}))
        for one in (run.jobs[k].request for k in order)
    ]
    requests = request_arrays(asked, run.cluster, arrays)
    runtime = np.array([_runtime(run, int(k)) for k in order], dtype=np.int64)
    limit = np.maximum(requests.limit, 1)
    jobs = Jobs(requests.submit, runtime, np.ones_like(runtime), limit, np.maximum(limit, runtime))
    return SlurmReplayer(run.cluster, arrays, requests, phases), jobs


def _by_submission(run: GoldenRun) -> NDArray[np.int64]:
    return np.argsort([job.request.submit_s for job in run.jobs], kind="stable")


def phases_of(run: GoldenRun, seed: int) -> Phases:
    """The phases of a replay. The cluster is idle before the first job, so the first backfill cycle follows its submission at once. What a
    cycle takes for a job, and how long nodes complete, are what they took in the recorded run."""
    interval = slurm_settings(run.cluster.scheduler).interval
    cycles = [event.cycle for event in run.events if event.cycle is not None]
    spent, tests = 0.0, 0
    for cycle, following in pairwise(cycles):
        late = following.time - cycle.time - interval
        if cycle.end_time > 0 and late < cycle.end_time - cycle.time + SOON_S:  # it has not waited for a change
            spent, tests = spent + late, tests + len(cycle.tests)
    drawn = Phases.drawn(seed, epilog_s=_epilog_s(run), test_us=int(1e6 * spent / max(tests, 1)))
    return replace(drawn, cycle_s=1)


def _epilog_s(run: GoldenRun) -> tuple[int, int]:
    """How long nodes complete: the first and the last decile of the seconds from ends of jobs to the next pass of the main scheduler."""
    passes = np.array([event.time for event in run.events if event.kind == "pass"])
    ends = np.array([event.time for event in run.events if event.kind == "end"])
    place = np.searchsorted(passes, ends)
    seconds = (passes[place[place < len(passes)]] - ends[place < len(passes)]).tolist()
    least, most = np.quantile(seconds, (0.1, 0.9)) if seconds else (0, 0)
    return int(least), round(most)


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


def _group_rows(run: GoldenRun, starts: Sequence[NDArray[np.int64]]) -> Iterator[str]:
    """Rows of the second table, over jobs that started in the real run and in all replays."""
    both = [k for k, job in enumerate(run.jobs) if job.start_s is not None and all(start[k] >= 0 for start in starts)]
    jobs = [run.jobs[k] for k in both]
    submit = np.array([job.request.submit_s for job in jobs])
    groups = {
        "partition": [job.partition for job in jobs],
        "QOS": [job.request.qos for job in jobs],
        "account": [job.request.account for job in jobs],
    }
    real = np.array([job.start_s for job in jobs]) - submit
    yield from rows_by_group(groups, real, [start[both] - submit for start in starts])


def main() -> None:
    """Prints two tables: of each run the mean over phases and the range of mean waits, then the waits of its groups."""
    groups: list[str] = []
    print(
        "by run\n\n| run | within 60 s | tau | mean wait of the real run, s | ours, mean over phases, s | least and most, s |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for folder in golden_folders():
        if len(sys.argv) > 1 and folder.parent.name not in sys.argv[1:]:
            continue
        run = read_golden_run(folder)
        starts = [replay_golden(run, phases_of(run, seed)) for seed in range(SEEDS)]
        distances = [distance(run, start) for start in starts]
        groups += [f"{folder.parent.name} | {row}" for row in _group_rows(run, starts)]
        waits = [one.wait_s for one in distances]
        print(
            f"| {folder.parent.name} | {np.mean([one.within_60_s for one in distances]):.2f} | "
            f"{np.mean([one.tau for one in distances]):.4f} | {distances[0].real_wait_s:.0f} | {np.mean(waits):.0f} | "
            f"{min(waits):.0f} to {max(waits):.0f} |",
            flush=True,
        )
    print(f"\nby partition, QOS and account\n\n| run | {COLUMNS} |\n| --- | {RULER} |")
    for row in groups:
        print(f"| {row} |")


if __name__ == "__main__":
    main()
