"""What would change under other schedulers: the replays of a source beside what really happened, on the same jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from assets.common.learnable import LEAST_JOBS
from assets.common.trace import Trace, load_trace
from assets.pages.baseline import (
    IntArray,
    Rule,
    ScoredJobs,
    baseline_configuration,
    baseline_panel,
    baseline_schedule,
    beside_baseline,
)
from assets.pages.period import ReportPeriod
from assets.pages.words import DAY_S, FEW_JOBS, HOUR_S, MINUTE_S, configuration_name, count, rule_name
from assets.replay.fidelity import logged_waits
from assets.replay.random_orders import (
    WaitsByLot,
    incumbent_of,
    is_random_order,
    rank_policies,
    stored_cloud,
    waits_by_lot,
    with_share_as_good,
)
from assets.replaying.running.grade import LIMITS, machine_remark
from assets.replaying.running.settings import OWN_SCHEDULERS
from assets.replaying.scenarios.left_out import left_out_text
from assets.replaying.scenarios.paced import turns_round
from assets.replaying.site import SiteScheduler, site_of
from models.judging.chance import ChanceCloud
from models.judging.fidelity import NO_FIGURES, NO_REACTION, Reacting
from models.judging.verdict import DEPENDS, DOMINATES, TRADES, plain_word
from models.scheduling.options import STARTED_FROM
from simulator.metrics.metrics import SIZE_CLASSES, bounded_slowdown, size_classes
from warehouse import Warehouse, first_row

REALLY_HAPPENED, MADE_UP_LOG = "What really happened (the log)", "The log, whose waits no real cluster has seen"
"""Names of the logged row."""


@dataclass(frozen=True)
class Grade:
    """How far replays of a source can be trusted (replay.fidelity).

    letter: A to D, or None, and then `why` says why there is none. logged_s, replayed_s: mean waits of the jobs that were graded, None
    where nothing was replayed. logged_room, replayed_room: shares of the waited time in which there was room for the waiting job.
    has_real_waits: whether the waits of the log are those of a real cluster. own_scheduler: of the cluster, or LIMITS, where the
    replay is under that. reacting: as SourceGrade has it. is_described: whether replays have nodes or limits.
    """

    letter: str | None
    why: str | None = None
    logged_s: float | None = None
    replayed_s: float | None = None
    logged_room: float | None = None
    replayed_room: float | None = None
    has_real_waits: bool = True
    own_scheduler: str | None = None
    reacting: Reacting = NO_REACTION
    is_described: bool = False


@dataclass(frozen=True)
class Scheduler:
    """A row of the comparison. Waits in seconds, of the jobs that all rows have; shares of 1.

    kind: logged, fitted, named (by catalogue or header), incumbent or tried. by_size: mean wait by size class. verdict, payers, rank:
    beside the baseline; empty and None for the baseline itself and for what really happened. as_good: the share of random orders that do
    as well, None where there are none. same_as: names of others that start every job at the same second. pace_change: of the mean wait
    where users keep their pace, None where that was not replayed. times_verdict, pace_verdict: where they keep the log's times and their
    pace, "" there. not_paced_because: why an order that may be advised was not replayed so.
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
    pace_change: float | None = None
    times_verdict: str = ""
    pace_verdict: str = ""
    not_paced_because: str | None = None


@dataclass(frozen=True)
class Comparison:
    """What replays say of a source.

    why_none: why there is nothing to compare, or None. logged: None where the log has no waits. tried: best first. scored: jobs after the
    training part. cluster_procs, baseline_procs: processors of the tried schedulers and of the baseline. started_from: what the learned
    policy is where training has not improved it. runs: saved what-if runs of the whole log. all_jobs_s: mean waits over the whole log, as
    "logged" and "baseline". is_of_period: whether waits are of a period alone; verdicts never are. base_why: why the baseline is that one.
    chance: of random orders, None where they were not replayed or are of other jobs. chance_words: what they reach beside the baseline.
    place: where orders were replayed, "" for a row of processors. carries_verdict: whether verdicts say anything, as in
    models.judging.chance. left_out: which jobs of the log no replay has, empty where all are replayed.
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
    place: str = ""
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
        """The one to adopt or to trade for: it dominates where users keep times and pace, or at the log's times alone, or else trades. None
        where no scheduler does either."""
        if not self.ranks:
            return None
        words = [DOMINATES, TRADES]
        candidates = [row for row in self.tried if word_of(row) in words and row.rank is not None]

        def place(row: Scheduler) -> tuple[int, bool, int]:
            return words.index(word_of(row)), not row.pace_verdict or row.verdict == DEPENDS, row.rank or 0

        return min(candidates, key=place, default=None)


def word_of(row: Scheduler) -> str:
    """The verdict without its certainty, where users keep the log's times."""
    return plain_word(row.times_verdict or row.verdict)


def read_comparison(warehouse: Warehouse, source: str, period: ReportPeriod | None = None) -> Comparison:
    """Every scheduler that was evaluated, beside the log and the scheduler that fits it best. period: waits are of its jobs alone, and
    verdicts of all jobs. Raises ValueError for a source that has no job which can be replayed."""
    grade, scheduler = read_grade(warehouse, source)
    with warehouse.read() as connection:
        parameters = {"source": source}
        scores = connection.sql(
            "SELECT * REPLACE (coalesce(times_verdict, verdict) AS verdict) FROM replay.period_scores WHERE source = $source "
            "ORDER BY policy, estimates, backfill, seed",
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
    described = scheduler.described
    if scores["cluster"][0] != (None if described is None else described.name):
        where = "a row of processors" if described is None else "the nodes and limits that are described now"
        return Comparison(grade, f"No scheduler was evaluated on {where} yet: {again} does that.")
    trace = load_trace(warehouse, source, labels=["queue"])
    scored = _scored_jobs(trace, period)
    waits = dict(_waits_of(warehouse, source, scores, scored)) if scored else {}
    if scored is None or any(each is None for each in waits.values()):
        return Comparison(
            grade, f"The log has changed since schedulers were evaluated on it: {again} evaluates them again."
        )
    started = [each >= 0 for each in waits.values() if each is not None]
    scored = replace(scored, counted=np.all([scored.counted, *started], axis=0))
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
        tried = tuple(replace(row, pace_change=None) for row in compared.tried)  # which is of all scored jobs
        compared = replace(compared, scored=scored.of_period, is_of_period=True, tried=tried)
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
        why_not = f"replays of this log have none: {site.no_grade}"
        return Grade(None, why_not, is_described=site.is_described), site.scheduler
    own, has_real_waits = LIMITS if grade.is_of_limits else grade.own_scheduler, grade.logged_wait_s is not None
    return Grade(*grade[:6], has_real_waits, own, grade.reacting, site.is_described), site.scheduler


def _scored_jobs(trace: Trace, period: ReportPeriod | None) -> ScoredJobs | None:
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
    return ScoredJobs(
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
    warehouse: Warehouse, source: str, scores: pl.DataFrame, scored: ScoredJobs
) -> Iterator[tuple[Rule, IntArray | None]]:
    """Policy, backfilling and estimates, and the replayed wait of each scored job, -1 for one that never starts; None where other jobs were
    replayed."""
    for rule in scores.select("policy", "backfill", "estimates").iter_rows():
        with warehouse.read() as connection:
            rows = connection.execute(
                "SELECT job_index, wait_s FROM replay.schedules WHERE source = ? AND policy = ? AND backfill = ? AND estimates = ? "
                "ORDER BY job_index",
                [source, *rule],
            ).fetchnumpy()
        place = np.searchsorted(scored.index, rows["job_index"])
        place[place == len(scored.index)] = 0
        waits = np.full(len(scored.index), -1, dtype=np.int32)  # half the memory: there is one for each scheduler
        waits[place] = rows["wait_s"]
        stored = scores["jobs"][0]
        is_whole = stored == len(scored.index) or (stored < len(scored.index) and scores["cluster"][0] is not None)
        is_same = is_whole and np.array_equal(scored.index[place], rows["job_index"])
        yield rule, waits if is_same else None


def _compared(
    trace: Trace,
    scored: ScoredJobs,
    both: tuple[pl.DataFrame, pl.DataFrame],
    waits: dict[Rule, IntArray],
    scheduler: SiteScheduler,
) -> Comparison:
    """both: rows of replay.period_scores, those of policies and those of random orders."""
    scores, by_lot = both
    present = incumbent_of(scores)
    incumbent = (present["policy"], present["backfill"], present["estimates"])
    logged = _row(REALLY_HAPPENED, "logged", scored, scored.logged) if (scored.logged >= 0).any() else None
    described, all_jobs = scheduler.described, {}
    if (logged_waits(trace) >= 0).all():
        all_jobs["logged"] = float(logged_waits(trace).mean())
    tried_procs = trace.cluster_procs if described is None else described.num_cpus
    fitted = _beside_fitted(trace, scored, both, waits, scheduler)
    if fitted is not None:
        baseline, scores, cloud, every_s, procs = fitted
        all_jobs["baseline"] = every_s
    else:
        name = rule_name("FCFS", "requested") if described is None else configuration_name(*incumbent[:2])
        baseline, procs = _row(name, "incumbent", scored, waits[incumbent]), tried_procs
        cloud = stored_cloud(pl.concat([scores, by_lot]))
    ranked = with_share_as_good(rank_policies(scores), cloud)
    tried = []
    for each in ranked.iter_rows(named=True):
        rule = (each["policy"], each["backfill"], each["estimates"])
        if baseline.kind != "incumbent" or rule != incumbent:
            kind = "incumbent" if rule == incumbent else "tried"
            called = rule_name(each["policy"], each["estimates"], described is not None)
            row = _row(called, kind, scored, waits[rule])
            words = {name: each[name] for name in ("payers", "rank", "not_paced_because")}
            tried.append((replace(row, **words, as_good=each["random_orders_as_good"], **_verdicts(each)), waits[rule]))
    own = waits[incumbent] if baseline.kind == "incumbent" else None
    return Comparison(
        Grade(None),
        None,
        len(scored.index),
        logged,
        baseline,
        _merged(tried, own),
        tried_procs,
        procs,
        all_jobs_s=all_jobs,
        base_why=scheduler.why,
        chance=waits_by_lot(by_lot) if scored.counted.all() else None,
        chance_words="" if cloud is None else str(cloud),
        place=_place(scheduler),
        carries_verdict=cloud is None or cloud.carries_verdict,
        left_out=left_out_text(trace.log_faults | {"jobs_left_out": trace.jobs_left_out}),
    )


def _verdicts(row: dict[str, Any]) -> dict[str, Any]:
    """The verdicts of a Scheduler, and its change where users keep their pace. row: of replay.period_scores, with the verdict at the log's
    times beside the baseline."""
    times, pace = row["verdict"], row["pace_verdict"]
    if pace is None:
        return {"verdict": times}
    verdict = DEPENDS if turns_round(plain_word(times), plain_word(pace)) else times
    return {"verdict": verdict, "times_verdict": times, "pace_verdict": pace, "pace_change": row["pace_change_share"]}


def _beside_fitted(
    trace: Trace,
    scored: ScoredJobs,
    both: tuple[pl.DataFrame, pl.DataFrame],
    waits: dict[Rule, IntArray],
    scheduler: SiteScheduler,
) -> tuple[Scheduler, pl.DataFrame, ChanceCloud | None, float, int] | None:
    """The scheduler that fits the log best as the baseline: its row, the rows of the others beside it, what random orders reach, its mean
    wait over the whole log in seconds, and its processors. None where the incumbent is the baseline. both: as for `_compared`."""
    scores, by_lot = both
    fitted = baseline_configuration(trace, scheduler)
    schedule = None if fitted is None else baseline_schedule(trace, fitted)
    if fitted is None or schedule is None:
        return None
    every = schedule.start - trace.rows["submit_s"].to_numpy()
    ours = every[trace.test_position :]
    what, kind = ("Best fit to the log: ", "fitted") if scheduler.machine is not None else ("", "named")
    name = f"{what}{configuration_name(fitted.policy, fitted.backfill)}{machine_remark(fitted.machine)}"
    base = baseline_panel(trace, fitted, schedule)
    cloud = stored_cloud(by_lot, base, trace.cluster_procs)
    scores = beside_baseline(trace, scored, scores, waits, (base, ours), cloud)
    return _row(name, kind, scored, ours), scores, cloud, float(every.mean()), fitted.procs


def _place(scheduler: SiteScheduler) -> str:
    """Where orders were replayed, in words."""
    if scheduler.described is None:
        return ""
    if not scheduler.is_own:
        return f"orders under the limits of the cluster {scheduler.described.name}"
    return f"orders in place of {OWN_SCHEDULERS[scheduler.policy]}'s own, on its nodes and under its limits"


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


def _row(name: str, kind: str, scored: ScoredJobs, waits: IntArray) -> Scheduler:
    wait, size = waits[scored.counted], scored.size[scored.counted]
    slowdown = bounded_slowdown(wait, scored.runtime[scored.counted])
    return Scheduler(
        name, kind, len(wait), float(wait.mean()), float(np.median(wait)), float(np.quantile(wait, 0.95)),
        float((wait <= HOUR_S).mean()), float((wait <= DAY_S).mean()), float(wait.max()), float(slowdown.mean()),
        {label: float(wait[size == k].mean()) for k, label in enumerate(SIZE_CLASSES) if (size == k).any()},
    )  # fmt: skip
