"""What would change under other schedulers: the replays of a source beside what really happened, on the same jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.learnable import LEAST_JOBS
from assets.common.trace import Trace, load_trace
from assets.pages.period import ReportPeriod
from assets.pages.words import DAY_S, FEW_JOBS, HOUR_S, MINUTE_S, configuration_name, count, rule_name
from assets.replay.fidelity import fitted_replay, logged_waits
from assets.replay.random_orders import (
    WaitsByLot,
    is_random_order,
    panel_of_scores,
    rank_policies,
    stored_cloud,
    waits_by_lot,
    with_share_as_good,
)
from assets.replaying.running.grade import LIMITS, machine_remark
from assets.replaying.scenarios.left_out import left_out_text
from assets.replaying.site import SiteScheduler, site_of
from models.judging.chance import ChanceCloud
from models.judging.configurations import SchedulerConfiguration
from models.judging.fidelity import NO_FIGURES
from models.judging.intervals import BLOCKS, cut_into_blocks
from models.judging.judge import Judgement, corrected_for_many
from models.judging.machine import Machine
from models.judging.panel import Panel, paid_by, panel_of
from models.judging.verdict import DOMINATES, TRADES, plain_word, typical_block, verdict_of
from models.scheduling.options import STARTED_FROM
from simulator.engine.replay import NeverStarts
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import SIZE_CLASSES, bounded_slowdown, size_classes
from warehouse import Warehouse, first_row

IntArray = NDArray[np.signedinteger]
BoolArray = NDArray[np.bool_]

USUAL_SCHEDULER = ("FCFS", "easy", "requested")
"""What most centres run: everything is compared with it where the log does not tell what ran."""
REALLY_HAPPENED, MADE_UP_LOG = "What really happened (the log)", "The log, whose waits no real cluster has seen"
"""Names of the logged row."""


@dataclass(frozen=True)
class Grade:
    """How far replays of a source can be trusted (replay.fidelity).

    letter: A to D, or None, and then `why` says why there is none. logged_s, replayed_s: mean waits of the jobs that were graded, None
    where nothing was replayed. logged_room, replayed_room: shares of the waited time in which there was room for the waiting job.
    has_real_waits: whether the waits of the log are those of a real cluster. own_scheduler: of the cluster, or LIMITS, where the
    replay is under that. following_share: as SourceGrade has it. is_described: whether replays have nodes or limits.
    """

    letter: str | None
    why: str | None = None
    logged_s: float | None = None
    replayed_s: float | None = None
    logged_room: float | None = None
    replayed_room: float | None = None
    has_real_waits: bool = True
    own_scheduler: str | None = None
    following_share: float | None = None
    is_described: bool = False


@dataclass(frozen=True)
class Scheduler:
    """A row of the comparison. Waits in seconds, of the jobs that all rows have; shares of 1.

    kind: logged, fitted, named (by catalogue or header), incumbent or tried. by_size: mean wait by size class. verdict, payers, rank:
    beside the baseline; empty and None for the baseline itself and for what really happened. as_good: the share of random orders that do
    as well, None where there are none. same_as: names of others that start every job at the same second.
    """

    name: str
    kind: str
    jobs: int
    mean_s: float
    median_s: float
    p95_s: float
    within_1_h: float
    within_24_h: float
    longest_s: float
    slowdown: float
    by_size: dict[str, float]
    verdict: str = ""
    payers: str = ""
    rank: int | None = None
    as_good: float | None = None
    same_as: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """What replays say of a source.

    why_none: why there is nothing to compare, or None. logged: None where the log has no waits. tried: best first. scored: jobs after
    the training part. cluster_procs, baseline_procs: processors of the tried schedulers and of the baseline. started_from: what the
    learned policy is where training has not improved it. runs: saved what-if runs of the whole log. all_jobs_s: mean waits over the
    whole log, as "logged" and "baseline". is_of_period: whether waits are of a period alone; verdicts never are. base_why: why the
    baseline is that one. chance: of random orders, None where they were not replayed or are of other jobs. chance_words: what they
    reach beside the baseline. carries_verdict: whether verdicts say anything, as in models.judging.chance. left_out: which jobs of the
    log no replay has, empty where all are replayed.
    """

    grade: Grade
    why_none: str | None = None
    scored: int = 0
    logged: Scheduler | None = None
    baseline: Scheduler | None = None
    tried: tuple[Scheduler, ...] = ()
    cluster_procs: int = 0
    baseline_procs: int = 0
    started_from: str | None = None
    runs: tuple[dict[str, Any], ...] = ()
    all_jobs_s: dict[str, float] = field(default_factory=dict)
    is_of_period: bool = False
    base_why: str = ""
    chance: WaitsByLot | None = None
    chance_words: str = ""
    carries_verdict: bool = True
    left_out: str = ""

    @property
    def has_figures(self) -> bool:
        """Whether figures and verdicts may be said. With grade D only the order of the schedulers and their direction may."""
        return self.grade.letter != NO_FIGURES

    @property
    def nobody_waits(self) -> bool:
        """Whether no scheduler makes anybody wait longer than a minute."""
        return all(row.longest_s <= MINUTE_S for row in (*self.tried, *([self.baseline] if self.baseline else [])))

    @property
    def ranks(self) -> bool:
        """Whether schedulers can be ranked: enough jobs were scored, and somebody waits."""
        return self.baseline is not None and self.baseline.jobs >= FEW_JOBS and not self.nobody_waits

    @property
    def best(self) -> Scheduler | None:
        """The one to adopt or to trade for: it dominates, or else trades. None where no scheduler does either."""
        if not self.ranks:
            return None
        words = [DOMINATES, TRADES]
        candidates = [row for row in self.tried if word_of(row) in words and row.rank is not None]
        return min(candidates, key=lambda row: (words.index(word_of(row)), row.rank), default=None)


def word_of(row: Scheduler) -> str:
    """The verdict without its certainty."""
    return plain_word(row.verdict)


@dataclass(frozen=True)
class _Scored:
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


def read_comparison(warehouse: Warehouse, source: str, period: ReportPeriod | None = None) -> Comparison:
    """Every scheduler that was evaluated, beside the log and the scheduler that fits it best. period: waits are of its jobs alone, and
    verdicts of all jobs. Raises ValueError for a source that has no job which can be replayed."""
    grade, scheduler = read_grade(warehouse, source)
    with warehouse.read() as connection:
        parameters = {"source": source}
        scores = connection.sql(
            "SELECT * FROM replay.period_scores WHERE source = $source ORDER BY policy, estimates, backfill, seed",
            params=parameters,
        ).pl()
        runs = connection.sql(_RUNS, params=parameters).pl().to_dicts()
        learned = first_row(
            connection,
            "SELECT best_epoch, parameters FROM policies.learned_policies WHERE source = ? AND champion AND learns = 'order'",
            [source],
        )
        replayable = first_row(
            connection, "SELECT count(*) FROM core.jobs WHERE source = ? AND runtime_s > 0 AND procs > 0", [source]
        )
    by_lot = scores.filter(is_random_order())
    scores = scores.filter(pl.col("verdict").is_not_null())
    again = f"`tracehouse run {source}`"
    if replayable is None or replayable[0] < LEAST_JOBS:
        few = count(replayable[0] if replayable else 0, "job")
        return Comparison(
            grade, f"{few} with a run time are too few to evaluate schedulers on: at least {LEAST_JOBS} are needed."
        )
    if scores.is_empty():
        return Comparison(grade, f"No scheduler was evaluated on this log yet: {again} does that.")
    trace = load_trace(warehouse, source, labels=["queue"])
    scored = _scored_jobs(trace, period)
    waits = dict(_waits_of(warehouse, source, scores, scored)) if scored else {}
    if scored is None or any(each is None for each in waits.values()):
        return Comparison(
            grade, f"The log has changed since schedulers were evaluated on it: {again} evaluates them again."
        )
    if not scored.counted.any():
        begin = trace.clock.text(int(trace.rows["submit_s"][trace.test_position or 0]))
        return Comparison(
            grade,
            f"Schedulers were evaluated on jobs submitted from {begin} on, and none of them is of this time. "
            f"`tracehouse what-if FILE --source {source} --period PERIOD` replays any time.",
        )
    compared = _compared(trace, scored, (scores, by_lot), waits, scheduler)  # type: ignore[arg-type]
    if compared.logged is not None and not grade.has_real_waits:
        compared = replace(compared, logged=replace(compared.logged, name=MADE_UP_LOG))
    start = STARTED_FROM.get(json.loads(learned[1]).get("start")) if learned and learned[0] == 0 else None
    if period is not None:
        compared = replace(compared, scored=scored.of_period, is_of_period=True)
    return replace(compared, grade=grade, runs=tuple(runs), started_from=start)


_RUNS = """
SELECT run, policy, backfill, estimates, procs, outages IS NOT NULL AS has_outages, inspector, average_wait_s, p95_wait_s
FROM replay.runs
WHERE source = $source AND window_first IS NULL AND NOT warm_start AND NOT cancelled AND NOT drop_wider AND load = 1
    AND rules = 'standard'
ORDER BY run
"""


def read_grade(warehouse: Warehouse, source: str) -> tuple[Grade, SiteScheduler]:
    """The grade of a source, and what its schedulers are compared with."""
    site = site_of(source, warehouse)
    grade = site.grade
    if grade is None:
        return Grade(None, f"replays of this log have none: {site.no_grade}", is_described=site.is_described), site.row
    own, has_real_waits = LIMITS if grade.is_of_limits else grade.own_scheduler, grade.logged_wait_s is not None
    return Grade(*grade[:6], has_real_waits, own, grade.following_share, site.is_described), site.row


def _scored_jobs(trace: Trace, period: ReportPeriod | None) -> _Scored | None:
    """None where nobody has trained on the log as it is. Of jobs outside of the period none is counted."""
    if trace.test_position is None:
        return None
    rows = trace.rows[trace.test_position :]
    logged = logged_waits(trace)[trace.test_position :]
    counted = logged >= 0 if (logged >= 0).any() else np.ones(len(logged), np.bool_)
    inside = np.ones(len(logged), np.bool_)
    if period is not None:
        inside = rows["submit_s"].is_between(period.begin, period.end, closed="left").to_numpy()
    size = size_classes(rows["procs"].to_numpy(), trace.cluster_procs)
    return _Scored(
        rows["job_index"].to_numpy(),
        rows["runtime_s"].to_numpy(),
        logged,
        size,
        counted & inside,
        int(inside.sum()),
        rows["procs"].to_numpy(),
        trace.jobs().user[trace.test_position :],
    )


def _waits_of(
    warehouse: Warehouse, source: str, scores: pl.DataFrame, scored: _Scored
) -> Iterator[tuple[tuple[str, str, str], IntArray | None]]:
    """Policy, backfilling and estimates, and the replayed wait of each scored job; None where other jobs were replayed."""
    for rule in scores.select("policy", "backfill", "estimates").iter_rows():
        with warehouse.read() as connection:
            rows = connection.execute(
                "SELECT job_index, wait_s FROM replay.schedules WHERE source = ? AND policy = ? AND backfill = ? AND estimates = ? "
                "ORDER BY job_index",
                [source, *rule],
            ).fetchnumpy()
        # half the memory: there is one for each scheduler
        yield rule, rows["wait_s"].astype(np.int32) if np.array_equal(rows["job_index"], scored.index) else None


def _compared(
    trace: Trace,
    scored: _Scored,
    both: tuple[pl.DataFrame, pl.DataFrame],
    waits: dict[tuple[str, str, str], IntArray],
    scheduler: SiteScheduler,
) -> Comparison:
    """both: rows of replay.period_scores, those of policies and those of random orders."""
    scores, by_lot = both
    logged = _row(REALLY_HAPPENED, "logged", scored, scored.logged) if (scored.logged >= 0).any() else None
    all_jobs, procs = {}, trace.cluster_procs
    if (logged_waits(trace) >= 0).all():
        all_jobs["logged"] = float(logged_waits(trace).mean())
    fitted = _configuration(trace, scheduler)
    schedule = None if fitted is None else _of_fitted(trace, fitted)
    if fitted is not None and schedule is not None:
        every = schedule.start - trace.rows["submit_s"].to_numpy()
        ours = every[trace.test_position :]
        all_jobs["baseline"] = float(every.mean())
        what, kind = ("Best fit to the log: ", "fitted") if scheduler.machine is not None else ("", "named")
        name = f"{what}{configuration_name(fitted.policy, fitted.backfill)}{machine_remark(fitted.machine)}"
        baseline = _row(name, kind, scored, ours)
        base = _fitted_panel(trace, fitted, schedule)
        cloud = stored_cloud(by_lot, base, trace.cluster_procs)
        scores = _beside(trace, scored, scores, waits, (base, ours), cloud)
        procs = fitted.procs
    else:
        baseline = _row(rule_name("FCFS", "requested"), "incumbent", scored, waits[USUAL_SCHEDULER])
        cloud = stored_cloud(pl.concat([scores, by_lot]))
    ranked = with_share_as_good(rank_policies(scores), cloud)
    tried = []
    for each in ranked.iter_rows(named=True):
        rule = (each["policy"], each["backfill"], each["estimates"])
        if baseline.kind != "incumbent" or rule != USUAL_SCHEDULER:
            kind = "incumbent" if rule == USUAL_SCHEDULER else "tried"
            row = _row(rule_name(each["policy"], each["estimates"]), kind, scored, waits[rule])
            words = {name: each[name] for name in ("verdict", "payers", "rank")}
            tried.append((replace(row, **words, as_good=each["random_orders_as_good"]), waits[rule]))
    own = waits[USUAL_SCHEDULER] if baseline.kind == "incumbent" else None
    return Comparison(
        Grade(None),
        None,
        len(scored.index),
        logged,
        baseline,
        _merged(tried, own),
        trace.cluster_procs,
        procs,
        all_jobs_s=all_jobs,
        base_why=scheduler.why,
        chance=waits_by_lot(by_lot) if scored.counted.all() else None,
        chance_words="" if cloud is None else str(cloud),
        carries_verdict=cloud is None or cloud.carries_verdict,
        left_out=left_out_text(trace.log_faults | {"jobs_left_out": trace.jobs_left_out}),
    )


def _configuration(trace: Trace, scheduler: SiteScheduler) -> SchedulerConfiguration | None:
    """The baseline to replay, None where it is the incumbent, which was replayed with the others."""
    if scheduler.machine is None and (scheduler.policy, scheduler.backfill) == USUAL_SCHEDULER[:2]:
        return None
    machine = scheduler.machine or Machine(trace.cluster_procs)
    return SchedulerConfiguration(0.0, scheduler.policy, scheduler.backfill, machine, 0)


def _of_fitted(trace: Trace, fitted: SchedulerConfiguration) -> Schedule | None:
    """None where a job of today is wider than its processors of then."""
    if int(trace.rows["procs"].max()) > fitted.procs:  # type: ignore[arg-type]
        return None
    try:
        return fitted_replay(trace, fitted)
    except NeverStarts:
        return None


def _merged(rows: list[tuple[Scheduler, IntArray]], baseline: IntArray | None) -> tuple[Scheduler, ...]:
    """The rows without those that start every job when an earlier one does: that one names them. Nor are there any that start every
    job when the baseline does."""
    merged: list[tuple[Scheduler, IntArray]] = []
    for row, waits in rows:
        if baseline is not None and np.array_equal(waits, baseline):
            continue
        twin = next((k for k, (_, other) in enumerate(merged) if np.array_equal(waits, other)), None)
        if twin is None:
            merged.append((row, waits))
        else:
            first, other = merged[twin]
            merged[twin] = (replace(first, same_as=(*first.same_as, row.name)), other)
    return tuple(row for row, _ in merged)


def _row(name: str, kind: str, scored: _Scored, waits: IntArray) -> Scheduler:
    wait, size = waits[scored.counted], scored.size[scored.counted]
    slowdown = bounded_slowdown(wait, scored.runtime[scored.counted])
    return Scheduler(
        name, kind, len(wait), float(wait.mean()), float(np.median(wait)), float(np.quantile(wait, 0.95)),
        float((wait <= HOUR_S).mean()), float((wait <= DAY_S).mean()), float(wait.max()), float(slowdown.mean()),
        {label: float(wait[size == k].mean()) for k, label in enumerate(SIZE_CLASSES) if (size == k).any()},
    )  # fmt: skip


def _fitted_panel(trace: Trace, fitted: SchedulerConfiguration, schedule: Schedule) -> Panel:
    scored = np.arange(trace.rows.height) >= (trace.test_position or 0)
    return panel_of(trace.jobs(), schedule, fitted.machine.cluster, scored, wide_of=trace.cluster_procs)


def _beside(
    trace: Trace,
    scored: _Scored,
    scores: pl.DataFrame,
    waits: dict[tuple[str, str, str], IntArray],
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
