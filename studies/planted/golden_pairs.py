"""Two runs of a real scheduler on the same jobs that differ in its settings: is the change predicted from the first of them?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.fidelity import WAIT_FIGURES, agreement_of
from studies.pbs.free_replays import replay_recorded
from studies.pbs.recorded_runs import read_recorded_run
from studies.planted.effects import SCHEMA, figure_of
from studies.slurm.decisions import SHARED
from studies.slurm.free_runs import phases_of, replay_golden
from studies.slurm.golden_runs import read_golden_run

IntArray = NDArray[np.int64]

SLURM_RUNS = ("S1-backfill", "S1-bfcont", "S1-builtin", "S9-interval", "S9-jobtest", "S9-window")
"""The same 100 jobs under other settings of backfilling: usual, continued over new events, none at all, every five minutes, five jobs
deep, and twenty minutes ahead."""
PBS_RUNS = ("P1", "P2", "P3")
"""The same 90 jobs: strict order with one top job, no strict order, and a formula."""
PBS_SECOND_S = 60
"""A second of these runs stands for a minute."""
SEED = 0


def golden_cases(slurm_runs: Sequence[str] = SLURM_RUNS) -> pl.DataFrame:
    """A row for each ordered pair of runs and each figure, with the columns of SCHEMA: predictor is the scheduler, change the pair."""
    folder = SHARED / "golden"
    runs = {name: read_golden_run(folder / "slurm" / name / "run1") for name in slurm_runs}
    recorded = {name: read_recorded_run(folder / "pbs" / name / "run1") for name in PBS_RUNS}
    rows: list[dict[str, Any]] = []

    def slurm_waits(jobs_of: str, cluster_of: str) -> IntArray:
        run = replace(runs[jobs_of], cluster=runs[cluster_of].cluster)
        submit = np.array([job.request.submit_s for job in run.jobs])
        return replay_golden(run, phases_of(runs[jobs_of], SEED)) - submit

    def pbs_waits(jobs_of: str, cluster_of: str) -> IntArray:
        run = replace(recorded[jobs_of], cluster=recorded[cluster_of].cluster)
        return (replay_recorded(run) - np.array([each.job.submit_s for each in run.jobs])) * PBS_SECOND_S

    real = {
        name: np.array([(job.start_s or 0) - job.request.submit_s for job in run.jobs]) for name, run in runs.items()
    }
    rows += _rows("Slurm", real, slurm_waits)
    real = {
        name: np.array([(each.start_s or 0) - each.job.submit_s for each in run.jobs]) * PBS_SECOND_S
        for name, run in recorded.items()
    }
    rows += _rows("OpenPBS", real, pbs_waits)
    return pl.DataFrame(rows, schema=SCHEMA)


def _rows(
    scheduler: str, real: dict[str, IntArray], replayed: Callable[[str, str], IntArray]
) -> Iterator[dict[str, Any]]:
    for before, after in itertools.permutations(real, 2):
        logged, now, then = real[before], replayed(before, before), replayed(before, after)
        agreement = agreement_of(logged, now, np.ones_like(logged))
        for figure in WAIT_FIGURES:
            waits = zip(("logged", "replayed", "true", "predicted"), (logged, now, real[after], then), strict=True)
            yield {
                "predictor": scheduler,
                "part": "all",
                "value": "",
                "figure": figure,
                "change": f"{before} to {after}",
                "jobs": len(logged),
                "rank": agreement.rank_correlation,
                "alike": agreement.alike,
                "distance": agreement.distance,
            } | {f"{which}_s": figure_of(figure, each) for which, each in waits}
