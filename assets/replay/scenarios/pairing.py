"""A scenario beside its base over the jobs that are in both: waits, intervals, a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replay.run import ReplayRun
from models.judging.intervals import cut_into_blocks
from models.judging.judge import Judgement
from models.judging.panel import paid_by, panel_of
from models.judging.verdict import HARDLY, typical_block, verdict_of

SECONDS_PER_HOUR = 3600
SHORTER_WAITS, LONGER_WAITS, SAME_WAITS = "shorter waits", "longer waits", "about the same waits"
"""Directions of the mean wait. It is about the same within HARDLY of it."""


@dataclass(frozen=True)
class PairedJobs:
    """Scored jobs that started in both replays, in order of submission. base, other: their positions among the rows of each replay.
    base_only, other_only: scored jobs of one replay that the other does not have."""

    base: NDArray[np.int64]
    other: NDArray[np.int64]
    base_only: int
    other_only: int


def pair_jobs(base: ReplayRun, other: ReplayRun, scored: NDArray[np.int64]) -> PairedJobs:
    """The scored jobs of two replays side by side. scored: job_index, ascending. Raises ValueError where no job is in both."""
    positions, numbers = [], []
    for run in (base, other):
        index = run.rows["job_index"].to_numpy()
        there = np.flatnonzero(np.isin(index, scored) & run.schedule.started)
        positions.append(there)
        numbers.append(index[there])  # ascending, as the rows of a trace are
    both = np.intersect1d(numbers[0], numbers[1], assume_unique=True)
    if not len(both):
        raise ValueError("no scored job is in both this scenario and the base: there is nothing to compare")
    of_base, of_other = (there[np.searchsorted(index, both)] for there, index in zip(positions, numbers, strict=True))
    return PairedJobs(of_base, of_other, len(numbers[0]) - len(both), len(numbers[1]) - len(both))


def paired_waits(base: ReplayRun, other: ReplayRun, pairs: PairedJobs) -> pl.DataFrame:
    """job_index, procs, runtime_s, base_wait_s and wait_s of each pair, in order of submission. Waits are means over all runs of a
    scheduler that is not deterministic, in whole seconds."""
    base_wait, wait = (
        np.round(waits_of_runs(run, positions).mean(axis=0)).astype(np.int64)
        for run, positions in ((base, pairs.base), (other, pairs.other))
    )
    jobs = base.rows.select("job_index", "procs", "runtime_s")[pairs.base]
    return jobs.with_columns(base_wait_s=pl.Series(base_wait), wait_s=pl.Series(wait))


def waits_of_runs(run: ReplayRun, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Waits of jobs of a replay in each of its runs, (runs, jobs), in seconds. positions: of the jobs, which have started in the first
    run. Where another did not start a job, its wait of the first run counts."""
    asked = slice(run.cluster.waiting, None)
    first = run.schedule.start[positions]
    starts = [first]
    for other in run.others:
        begun = other.started[asked][positions]
        starts.append(np.where(begun, other.start[asked][positions], first))
    return np.stack(starts) - run.jobs.submit[positions]


def judge_pair(base: ReplayRun, other: ReplayRun, pairs: PairedJobs) -> Judgement:
    """The verdict on a scenario with the base as incumbent, over the pairs. Panels as models.judging.panel.panel_of gives them, each of
    its own replay; jobs are wide by the base's cluster. Intervals are of the typical of 16 blocks of pairs."""
    panels = []
    for run, positions in ((other, pairs.other), (base, pairs.base)):
        counted = np.zeros(len(run.jobs), dtype=np.bool_)
        counted[positions] = True
        panels.append(panel_of(run.jobs, run.schedule, run.cluster, counted, wide_of=base.cluster.procs))
    waits = paired_waits(base, other, pairs)
    wait = np.stack([waits["wait_s"].to_numpy(), waits["base_wait_s"].to_numpy()]).astype(np.float64)
    blocks = cut_into_blocks(np.ones(wait.shape[1], dtype=np.bool_))
    runtime, procs = waits["runtime_s"].to_numpy(), waits["procs"].to_numpy()
    typical = typical_block(blocks, wait, runtime, procs)
    ours, theirs = (panels[0],), (panels[1],)
    paid = paid_by(wait.astype(np.int64), base.jobs.user[pairs.base], procs, runtime, base.cluster.procs)
    return Judgement(ours, theirs, *typical.averages, verdict_of(ours, theirs, typical), paid)


def ranked_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the rank of each by its change of the mean wait, and the direction of that change. Those with the same wait share a
    rank."""
    ranked = []
    for row in rows:
        rank = 1 + sum(other["change_h"] < row["change_h"] for other in rows)
        ranked.append(row | {"rank": rank, "direction": direction_of(row["change_h"], row["paired_base_wait_h"])})
    return ranked


def direction_of(change: float, before: float) -> str:
    """Which way a mean wait goes. change: how it differs from what it was before, in the same unit."""
    if abs(change) <= HARDLY * before:
        return SAME_WAITS
    return SHORTER_WAITS if change < 0 else LONGER_WAITS
