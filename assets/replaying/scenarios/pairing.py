"""A scenario beside its base over the jobs that are in both: waits, intervals, a verdict.

Whose waits grow and shrink: jobs of a scenario and of the base, by account, user, size, queue and QOS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replaying.running.run import ReplayRun
from models.judging.intervals import cut_into_blocks
from models.judging.judge import Judgement
from models.judging.panel import paid_by, panel_of
from models.judging.verdict import HARDLY, typical_block, verdict_of
from simulator.metrics.metrics import SIZE_CLASSES, size_classes

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
    first = run.schedule.start[positions]
    starts = [first]
    for other in run.others:
        begun = other.started[run.of_rows][positions]
        starts.append(np.where(begun, other.start[run.of_rows][positions], first))
    return np.stack(starts) - run.jobs.submit[positions]


def judge_pair(base: ReplayRun, other: ReplayRun, pairs: PairedJobs) -> Judgement:
    """The verdict on a scenario with the base as incumbent, over the pairs. Panels as models.judging.panel.panel_of gives them, each of
    its own replay, in which jobs that never started in the log use processors, too. Jobs are wide by the base's cluster. Intervals are of
    the typical of 16 blocks of pairs."""
    panels = []
    for run, positions in ((other, pairs.other), (base, pairs.base)):
        counted = np.zeros(len(run.all_rows), dtype=np.bool_)
        counted[np.flatnonzero(~run.freed)[positions]] = True
        jobs = run.all_jobs.window(run.cluster.waiting, len(run.all_rows))
        schedule = run.all_starts.part(slice(run.cluster.waiting, None))
        panels.append(panel_of(jobs, schedule, run.cluster, counted, wide_of=base.cluster.procs))
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


# --- fate


IntArray = NDArray[np.int64]
NONE = "(none)"
"""The group of jobs whose account or queue the log does not know."""
GROUP_SCHEMA = {
    "scenario": pl.Utf8,
    "grouped_by": pl.Utf8,
    "group": pl.Utf8,
    "jobs": pl.Int64,
    "base_wait_h": pl.Float64,
    "wait_h": pl.Float64,
    "change_h": pl.Float64,
    "total_change_h": pl.Float64,
    "jobs_longer_by_1h": pl.Int64,
    "jobs_shorter_by_1h": pl.Int64,
    "within_spread": pl.Boolean,
}


def labelled_jobs(rows: pl.DataFrame, cluster_procs: int) -> pl.DataFrame:
    """job_index, and the groups that jobs belong to. Their columns are account where the log has accounts, user, size, and queue and qos
    where there are several.

    rows: of a trace, with the columns user_name, account, queue and qos. cluster_procs: of the base.
    """
    sizes = size_classes(rows["procs"].to_numpy(), cluster_procs)
    labels: dict[str, pl.Expr | pl.Series] = {
        **({"account": pl.col("account").fill_null(NONE)} if rows["account"].null_count() < rows.height else {}),
        "user": pl.col("user_name").fill_null(NONE),
        "size": pl.Series(sizes).replace_strict(dict(enumerate(SIZE_CLASSES)), return_dtype=pl.Utf8),
    }
    labels |= {name: pl.col(name).fill_null(NONE) for name in ("queue", "qos") if rows[name].n_unique() > 1}
    return rows.select("job_index", **labels)


def fate_of_groups(
    scenario: str, waits: pl.DataFrame, labels: pl.DataFrame, runs: tuple[IntArray, IntArray] | None = None
) -> pl.DataFrame:
    """A row for each group with the columns of GROUP_SCHEMA, those whose jobs wait longer in total first.

    waits: of assets.replaying.scenarios.pairing.paired_waits. labels: of labelled_jobs. Waits are means over jobs, in hours.
    total_change_h is the change summed over jobs. runs: waits of the same jobs in each run of the base and of the scenario,
    (runs, jobs). within_spread: whether mean waits of a group in the runs of the one are among those of the other, null where both
    ran once.
    """
    change = pl.col("wait_s") - pl.col("base_wait_s")
    jobs = waits.join(labels, on="job_index", how="left", maintain_order="left")
    parts = []
    spread = runs is not None and max(len(each) for each in runs) > 1
    if spread and runs is not None:
        jobs = jobs.with_columns(
            **{
                f"{which}_{k}": pl.Series(row)
                for which, each in zip("ab", runs, strict=True)
                for k, row in enumerate(each)
            }
        )
    for name in labels.columns[1:]:
        groups = jobs.group_by(pl.col(name).alias("group")).agg(
            jobs=pl.len().cast(pl.Int64),
            base_wait_h=pl.col("base_wait_s").mean() / SECONDS_PER_HOUR,
            wait_h=pl.col("wait_s").mean() / SECONDS_PER_HOUR,
            change_h=change.mean() / SECONDS_PER_HOUR,
            total_change_h=change.sum() / SECONDS_PER_HOUR,
            jobs_longer_by_1h=(change > SECONDS_PER_HOUR).sum().cast(pl.Int64),
            jobs_shorter_by_1h=(change < -SECONDS_PER_HOUR).sum().cast(pl.Int64),
            within_spread=_within_spread() if spread else pl.lit(None, dtype=pl.Boolean),
        )
        ordered = groups.sort("total_change_h", "group", descending=[True, False])
        parts.append(
            ordered.with_columns(scenario=pl.lit(scenario), grouped_by=pl.lit(name)).select(list(GROUP_SCHEMA))
        )
    return pl.concat(parts)


def _within_spread() -> pl.Expr:
    """Whether the means of a group in the columns a_0, a_1, ... and b_0, b_1, ... overlap."""
    ends = {
        which: (
            pl.min_horizontal(pl.col(f"^{which}_\\d+$").mean()),
            pl.max_horizontal(pl.col(f"^{which}_\\d+$").mean()),
        )
        for which in "ab"
    }
    return (ends["a"][0] <= ends["b"][1]) & (ends["b"][0] <= ends["a"][1])


def most_changed(groups: pl.DataFrame, top: int) -> list[tuple[str, str, pl.DataFrame]]:
    """(grouped by, "longer" or "shorter", the first `top` groups) of one scenario, where any group changes. Those whose jobs wait longer
    (or shorter) by most hours in total come first."""
    parts = []
    for name in groups["grouped_by"].unique(maintain_order=True):
        of_kind = groups.filter(grouped_by=name)
        longer = of_kind.filter(pl.col("total_change_h") > 0).head(top)
        shorter = of_kind.filter(pl.col("total_change_h") < 0).reverse().head(top)
        parts += [(name, word, part) for word, part in (("longer", longer), ("shorter", shorter)) if part.height]
    return parts
