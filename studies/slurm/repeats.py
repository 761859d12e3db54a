"""How far real runs of one scenario are from each other, next to our replays: `python -m studies slurm_repeats`.

Further real runs are made with `python -m tests.slurm.recording SCENARIO.json FOLDER`, and TRACEHOUSE_RECORDED names the folder above those
of the scenarios. Jobs are matched by their numbers, and times count from the first submission.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import NOT_GIVEN
from studies.slurm.decisions import SHARED
from studies.slurm.free_runs import SEEDS, Distance, distance, phases_of, replay_golden
from studies.slurm.golden_runs import GoldenJob, GoldenRun, read_golden_run

LEAST_JOBS = 20
"""Groups of fewer jobs are left out."""


def runs_of_scenarios() -> dict[str, list[GoldenRun]]:
    """Runs of the scenarios that ran more than once, the reference's first."""
    recorded = os.environ.get("TRACEHOUSE_RECORDED")
    roots = [SHARED / "golden" / "slurm", *([Path(recorded)] if recorded else [])]
    folders: dict[str, list[Path]] = {}
    for root in roots:
        for folder in sorted(root.glob("*/run*")):
            folders.setdefault(folder.parent.name, []).append(folder)
    return {name: [read_golden_run(one) for one in some] for name, some in sorted(folders.items()) if len(some) > 1}


def starts_in(run: GoldenRun, other: GoldenRun) -> NDArray[np.int64]:
    """Starts of a run's jobs in another run of the same scenario, on the clock of the first one. NOT_GIVEN for none."""
    later = _first(run) - _first(other)
    starts = {job.label: job.start_s for job in other.jobs if job.start_s is not None}
    return np.array([starts.get(job.label, NOT_GIVEN - later) + later for job in run.jobs], dtype=np.int64)


def _first(run: GoldenRun) -> int:
    return min(job.request.submit_s for job in run.jobs)


def worst_ratio(run: GoldenRun, start: NDArray[np.int64]) -> float:
    """The largest ratio of a partition's, a QOS's or an account's mean waits, the larger by the smaller."""
    ratios = [1.0]
    for places in groups_of(run).values():
        both = [place for place in places if run.jobs[place].start_s is not None and start[place] >= 0]
        if len(both) < LEAST_JOBS:
            continue
        submit = np.array([run.jobs[place].request.submit_s for place in both])
        waits = sorted(
            (
                float((start[both] - submit).mean()),
                float(np.mean([run.jobs[place].start_s or 0 for place in both] - submit)),
            )
        )
        ratios.append(waits[1] / max(waits[0], 1.0))
    return max(ratios)


def groups_of(run: GoldenRun) -> Mapping[tuple[str, str], list[int]]:
    """Places of the jobs of each partition, QOS and account."""
    groups: dict[tuple[str, str], list[int]] = {}
    for place, job in enumerate(run.jobs):
        for kind, name in _names(job):
            groups.setdefault((kind, name), []).append(place)
    return groups


def _names(job: GoldenJob) -> Iterator[tuple[str, str]]:
    yield "partition", job.partition
    yield "QOS", job.request.qos
    yield "account", job.request.account


def _cells(distances: list[Distance], ratios: list[float]) -> str:
    within, tau = (float(np.mean([getattr(one, name) for one in distances])) for name in ("within_60_s", "tau"))
    return f"{within:.2f} | {tau:.3f} | {np.mean(ratios):.2f}"


def main() -> None:
    """Prints the table."""
    print(
        "| run | real runs | their mean waits, s | within 60 s | tau | worst group | ours, mean wait, s | within 60 s | tau | worst group |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, runs in runs_of_scenarios().items():
        pairs = [(one, starts_in(one, other)) for one, other in combinations(runs, 2)]
        real = _cells([distance(*pair) for pair in pairs], [worst_ratio(*pair) for pair in pairs])
        starts = [replay_golden(runs[0], phases_of(runs[0], seed)) for seed in range(SEEDS)]
        far = [distance(runs[0], start) for start in starts]
        ours = _cells(far, [worst_ratio(runs[0], start) for start in starts])
        waits = ", ".join(f"{distance(one, starts_in(one, one)).real_wait_s:.0f}" for one in runs)
        print(
            f"| {name} | {len(runs)} | {waits} | {real} | {np.mean([one.wait_s for one in far]):.0f} | {ours} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
