"""The scheduler that fits a log best as the baseline of a comparison: its replay over a row of processors, and verdicts beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.trace import Trace
from assets.replay.fidelity import fitted_replay
from assets.replay.random_orders import panel_of_scores
from assets.replaying.site import SiteScheduler
from models.judging.chance import ChanceCloud
from models.judging.configurations import SchedulerConfiguration
from models.judging.intervals import BLOCKS, cut_into_blocks
from models.judging.judge import Judgement, corrected_for_many
from models.judging.machine import Machine
from models.judging.panel import Panel, paid_by, panel_of
from models.judging.verdict import typical_block, verdict_of
from simulator.engine.replay import NeverStarts
from simulator.jobs.schedule import Schedule

IntArray = NDArray[np.signedinteger]
BoolArray = NDArray[np.bool_]
Rule = tuple[str, str, str]
"""Policy, backfilling and estimates."""
USUAL_SCHEDULER = ("FCFS", "easy")
"""What most centres run: over a row of processors everything is compared with it where the log does not tell what ran."""


@dataclass(frozen=True)
class ScoredJobs:
    """The jobs that are scored, in replay order. logged: waits of the log, -1 where it does not know. counted: which of them all rows
    are about. Arrays (jobs,). of_period: jobs of the period that is asked for."""

    index: IntArray
    runtime: IntArray
    logged: IntArray
    size: IntArray
    counted: BoolArray
    of_period: int
    procs: IntArray
    user: IntArray


def baseline_configuration(trace: Trace, scheduler: SiteScheduler) -> SchedulerConfiguration | None:
    """The baseline to replay, None where it is the incumbent, which was replayed with the others."""
    is_usual = scheduler.machine is None and (scheduler.policy, scheduler.backfill) == USUAL_SCHEDULER
    if scheduler.described is not None or is_usual:
        return None
    machine = scheduler.machine or Machine(trace.cluster_procs)
    return SchedulerConfiguration(0.0, scheduler.policy, scheduler.backfill, machine, 0)


def baseline_schedule(trace: Trace, fitted: SchedulerConfiguration) -> Schedule | None:
    """None where a job of today is wider than its processors of then."""
    if int(trace.rows["procs"].max()) > fitted.procs:  # type: ignore[arg-type]
        return None
    try:
        return fitted_replay(trace, fitted)
    except NeverStarts:
        return None


def baseline_panel(trace: Trace, fitted: SchedulerConfiguration, schedule: Schedule) -> Panel:
    """The panel of the baseline's replay, over the jobs after the training part."""
    scored = np.arange(trace.rows.height) >= (trace.test_position or 0)
    return panel_of(trace.jobs(), schedule, fitted.machine.cluster, scored, wide_of=trace.cluster_procs)


def beside_baseline(
    trace: Trace,
    scored: ScoredJobs,
    scores: pl.DataFrame,
    waits: dict[Rule, IntArray],
    baseline: tuple[Panel, IntArray],
    cloud: ChanceCloud | None,
) -> pl.DataFrame:
    """The rows of replay.period_scores with verdicts and ratios beside the fitted scheduler instead of FCFS with EASY, by the same
    rules: docs/reference/semantics.md, "Verdicts". Policies that learn from their own replay are judged by one start of the log."""
    cut = cut_into_blocks(np.ones(len(scored.index), np.bool_), BLOCKS)
    judgements = []
    for row in scores.iter_rows(named=True):
        ours = waits[row["policy"], row["backfill"], row["estimates"]]
        pair = np.stack([ours, baseline[1]]).astype(np.float64)
        typical = typical_block(cut, pair, scored.runtime, scored.procs)
        panels = (panel_of_scores(row, trace.cluster_procs),), (baseline[0],)
        paid = paid_by(pair.astype(np.int64), scored.user, scored.procs, scored.runtime, trace.cluster_procs)
        judgements.append(Judgement(*panels, *typical.averages, verdict_of(*panels, typical), paid))
    verdicts = [judgement.verdict for judgement in corrected_for_many(judgements, cloud)]
    return scores.with_columns(
        verdict=pl.Series([str(verdict) for verdict in verdicts]),
        payers=pl.Series(["; ".join(verdict.payers) for verdict in verdicts]),
        bounded_slowdown_ratio=pl.Series([verdict.ratios[0].bounded_slowdown for verdict in verdicts]),
        wait_ratio=pl.Series([verdict.ratios[0].wait for verdict in verdicts]),
    )
