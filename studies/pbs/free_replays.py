"""Whole replays of our PBS against recorded runs: `python -m studies pbs_free_replays`.

Submissions, walltimes, run times and the configuration alone make a schedule. It is measured by what two runs of the real PBS are
compared by: mean difference of waits, share of waits within 3 s, and share of pairs of jobs that start in the same order.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.replaying import PbsReplayer
from studies.pbs.recorded_runs import RecordedRun, read_recorded_run, recorded_folders

SECOND_RUNS = {
    "P1": (3.5, 0.83, 0.991),
    "P1f": (2.6, 0.87, 0.994),
    "P2": (0.8, 0.92, 0.999),
    "P3": (3.8, 0.66, 0.978),
    "P4": (5.1, 0.77, 0.986),
    "P5": (6.6, 0.60, 0.967),
    "P6": (0.6, 0.92, 0.995),
    "P7": (0.3, 1.00, 1.000),
}
"""The same measures between two runs of PBS, from the reference."""
UNKNOWN_RUN_S = 60
SEEDS = 5


@dataclass(frozen=True)
class WaitDistance:
    """Of one replay from the real run, over jobs that started in both."""

    jobs: int
    real_wait_s: float
    wait_s: float
    difference_s: float
    within_3_s: float
    pair_order: float


def replay_recorded(run: RecordedRun, seed: int | None = None) -> NDArray[np.int64]:
    """Starts of a recorded run's jobs in a replay. seed: of run times that are a second longer for half of the jobs, None for those of the
    log."""
    asked = [each.job for each in run.jobs]
    submit = np.array([job.submit_s for job in asked], dtype=np.int64)
    runtime = np.array([UNKNOWN_RUN_S if each.ran_s is None else each.ran_s for each in run.jobs], dtype=np.int64)
    if seed is not None:
        runtime += np.random.default_rng(seed).integers(0, 2, len(runtime))
    limit = np.array([job.time_s for job in asked], dtype=np.int64)
    jobs = Jobs(submit, runtime, np.ones_like(runtime), limit, np.maximum(limit, runtime))
    turns = tuple(np.array([getattr(each, name) for each in run.jobs]) for name in ("submit_turn", "end_turn"))
    return PbsReplayer(run.cluster, asked, turns=turns).replay(jobs, Cluster(run.cluster.num_cpus)).schedule.start


def noise_s(run: RecordedRun) -> float:
    """Mean difference of waits between the replay and replays in which half of the jobs run a second longer, about as much as a log of
    whole seconds leaves open."""
    start = replay_recorded(run)
    return float(np.mean([np.abs(replay_recorded(run, seed) - start).mean() for seed in range(SEEDS)]))


def wait_distance(run: RecordedRun, start: NDArray[np.int64]) -> WaitDistance:
    """How far a replay's waits are from those of the real run."""
    real = np.array([-1 if each.start_s is None else each.start_s for each in run.jobs])
    submit = np.array([each.job.submit_s for each in run.jobs])
    both = (real >= 0) & (start >= 0)
    mine, theirs, submit = start[both], real[both], submit[both]
    pairs = np.triu(np.ones((len(mine), len(mine)), dtype=np.bool_), 1)
    order = np.sign(mine[:, None] - mine[None, :]) * np.sign(theirs[:, None] - theirs[None, :])
    away = np.abs(mine - theirs)
    return WaitDistance(
        int(both.sum()),
        float((theirs - submit).mean()),
        float((mine - submit).mean()),
        float(away.mean()),
        float((away <= 3).mean()),
        float((order[pairs] >= 0).mean()),
    )


def main() -> None:
    """Prints the table. Names of scenarios may be given."""
    print(
        "| run | mean wait of the real run, s | ours, s | mean difference, s | within 3 s | pair order | PBS itself: difference, s | "
        "within 3 s | pair order | a second of noise, s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for folder in recorded_folders():
        name = folder.parent.name
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        run = read_recorded_run(folder)
        one = wait_distance(run, replay_recorded(run))
        second = SECOND_RUNS.get(name)
        itself = f"{second[0]:.1f} | {second[1]:.2f} | {second[2]:.3f}" if second else "- | - | -"
        print(
            f"| {name} | {one.real_wait_s:.1f} | {one.wait_s:.1f} | {one.difference_s:.1f} | {one.within_3_s:.2f} | "
            f"{one.pair_order:.3f} | {itself} | {noise_s(run):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
