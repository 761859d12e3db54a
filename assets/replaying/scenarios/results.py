"""All scenarios of a plan, replayed and compared with their base: rows, groups, jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.progress import progress
from assets.common.writing.outputs import output_beside
from assets.replaying.pace import pace_of_site
from assets.replaying.running.run import ReplayRun, engine_version, replay_run
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.by_lot import is_an_order, random_orders_beside
from assets.replaying.scenarios.freed import freed_waits, held_jobs, replay_with_freed
from assets.replaying.scenarios.left_out import left_out_text
from assets.replaying.scenarios.paced import (
    GIVING_UP_COUNTS,
    Paced,
    pace_of_plan,
    pace_words,
    paced_columns,
    paced_scenarios,
)
from assets.replaying.scenarios.pairing import (
    SECONDS_PER_HOUR,
    PairedJobs,
    fate_of_groups,
    judge_pair,
    labelled_jobs,
    pair_jobs,
    paired_waits,
    ranked_rows,
    waits_of_runs,
)
from assets.replaying.scenarios.planning import PlannedReplay, ScenarioPlan, replay_words
from assets.replaying.scenarios.remarks import scenario_remarks
from assets.replaying.scenarios.scenario_file import BASE, LOG
from assets.replaying.scenarios.unchanged import WITHIN_NOISE, why_like_itself, why_no_verdict, why_unchanged
from models.judging.chance import ChanceCloud
from models.judging.judge import Judgement, beside_cloud, corrected_for_many
from models.judging.verdict import NO_DIFFERENCE, NOT_SIGNIFICANT, PolicyVerdict, verdict_text
from models.waits.clock import DAY_S
from simulator.jobs.schedule import Schedule
from simulator.jobs.words import partitions_text
from simulator.metrics.metrics import SEMANTICS, metrics

ROW_SCHEMA = {
    "scenario": pl.Utf8,
    "policy": pl.Utf8,
    "backfill": pl.Utf8,
    "estimates": pl.Utf8,
    "users": pl.Utf8,
    "procs": pl.Int64,
    "load": pl.Float64,
    "without_queue": pl.Utf8,
    "partitions": pl.Utf8,
    "round_walltimes": pl.Utf8,
    "jobs": pl.Int64,
    **dict.fromkeys(("jobs_wider_than_cluster", *GIVING_UP_COUNTS), pl.Int64),
    **dict.fromkeys(("average_wait_h", "median_wait_h", "p95_wait_h"), pl.Float64),
    **dict.fromkeys(("started_within_1h_share", "started_within_24h_share"), pl.Float64),
    **dict.fromkeys(("utilisation", "average_bounded_slowdown"), pl.Float64),
    "paired_jobs": pl.Int64,
    "base_only_jobs": pl.Int64,
    "base_only_work_share": pl.Float64,
    **dict.fromkeys(("scenario_only_jobs", "freed_jobs"), pl.Int64),
    "freed_wait_h": pl.Float64,
    "paired_base_wait_h": pl.Float64,
    "paired_wait_h": pl.Float64,
    "change_h": pl.Float64,
    "change_share": pl.Float64,
    "typical_ratio": pl.Float64,
    "typical_ratio_low": pl.Float64,
    "typical_ratio_high": pl.Float64,
    "no_interval_because": pl.Utf8,
    "no_verdict_because": pl.Utf8,
    "random_orders_as_good": pl.Float64,
    **dict.fromkeys(("pace_wait_h", "pace_change_share"), pl.Float64),
    "pace_never_submitted": pl.Int64,
    **dict.fromkeys(("pace_jobs_that_gave_up", "pace_core_hours_given_up"), pl.Int64),
    "pace_verdict": pl.Utf8,
    "not_paced_because": pl.Utf8,
    "times_verdict": pl.Utf8,
    "verdict": pl.Utf8,
    "who_pays": pl.Utf8,
    "jobs_longer_by_1h": pl.Int64,
    "jobs_shorter_by_1h": pl.Int64,
    "rank": pl.Int64,
    "direction": pl.Utf8,
    "unchanged_because": pl.Utf8,
    "failed_because": pl.Utf8,
}


@dataclass(frozen=True)
class ScenarioResults:
    """What came of a plan. Waits are in hours.

    rows: the log (where it knows starts), the base and the scenarios, with the columns of ROW_SCHEMA. groups: those of GROUP_SCHEMA, in
    the order of the scenarios. waits: of assets.replaying.scenarios.pairing.paired_waits, by scenario. counts: of the base's replay.
    cloud: of random orders beside the base, where a scenario is another order. following: the share of the jobs that follow others, None
    where scenarios were not replayed with users who keep their pace.
    """

    plan: ScenarioPlan
    rows: pl.DataFrame
    groups: pl.DataFrame
    waits: dict[str, pl.DataFrame]
    counts: dict[str, int]
    cloud: ChanceCloud | None = None
    following: float | None = None

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """A row for each job and scenario, with the columns scenario, job_id, submit_s (the log's own second), user_name, account,
        queue, procs, runtime_s, logged_wait_h, base_wait_h, wait_h and change_h."""
        return pl.concat(_jobs_of(self.plan, name, waits) for name, waits in self.waits.items())

    @property
    def base_words(self) -> str:
        """The base in one line, and why it is that one."""
        base, plan = self.plan.base, self.plan
        own = f", with {', '.join(plan.overridden)} from [base]" if plan.overridden else ""
        nodes = "".join(f" ({line})" for line in plan.changed_lines.get(BASE, ()))
        return f"{replay_words(base, procs=True)}{nodes}: {plan.configuration.why}{own}"

    @property
    def left_out_words(self) -> str:
        """Which jobs no replay has, in one line; empty where all are replayed."""
        return left_out_text(self.counts)

    @property
    def scenario_words(self) -> list[str]:
        """One line for each scenario: its name and its settings, processors where they are not the base's. Below it each value that an edit
        of the configuration changes."""
        base = self.plan.base.procs
        return [
            line
            for each in self.plan.scenarios
            for line in (
                f"{each.name}: {replay_words(each, procs=each.procs != base)}",
                *(f"  {change}" for change in self.plan.changed_lines.get(each.name, ())),
            )
        ]

    @property
    def scored_words(self) -> str:
        """Which jobs are compared, in one line."""
        count = f"{len(self.plan.scored):,} of {self.plan.trace.rows.height:,} jobs"
        if not self.plan.scored_words:
            return (
                f"all {self.plan.trace.rows.height:,} jobs, where `tracehouse run` and `compare` judge the later half"
            )
        return f"{self.plan.scored_words}, {count}; every replay begins with the first job of the log"

    @property
    def following_words(self) -> str:
        """What the changes are of with users who keep their pace, in one line; empty where there are none."""
        return "" if self.following is None else pace_words(self.following)

    @property
    def last_of_use(self) -> str:
        """Until which last event the use of the cluster is measured: of all jobs their end, of some their submission."""
        return "submission of these jobs" if self.plan.scored_words else "end"

    @property
    def spread_of_random_orders(self) -> tuple[float, float, float] | None:
        """Mean, and 5 and 95 %, of their mean waits over that of the base; None where none was replayed."""
        return None if self.cloud is None else self.cloud.spread("wait")

    @property
    def remarks(self) -> list[str]:
        """How large a cluster of so many nodes is, who pays for a scenario, and which jobs are left out somewhere, in sentences."""
        said = []
        for each in (self.plan.base, *self.plan.scenarios):
            said += [f"{each.name}: {each.procs:,} processors, {each.node_procs} a node"] if each.node_procs else []
            said += [f"{each.name}: {each.remark}"] if each.remark else []
        has_figures = self.plan.configuration.has_figures
        if has_figures and self.cloud is not None:
            said.append(f"beside the base, {self.cloud}")
        return said + [
            f"{row['scenario']}: {text}"
            for row in self.rows.iter_rows(named=True)
            for text in scenario_remarks(row, has_figures)
        ]

    def summary(self) -> dict[str, Any]:
        """Everything but the jobs, as `tracehouse what-if --json` prints it."""
        return {
            "source": self.plan.source,
            "base": self.base_words,
            "scored": self.scored_words,
            "changed_lines": dict(self.plan.changed_lines),
            "left_out": self.left_out_words,
            "grade": getattr(self.plan.configuration.grade, "grade", None),
            "trust": self.plan.configuration.trust,
            "following_share": self.following,
            "scenarios": self.rows.to_dicts(),
            "groups": self.groups.to_dicts(),
            "remarks": self.remarks,
            "semantics": SEMANTICS,
            "engine": engine_version(),
        }

    def write(self, folder: Path, file_format: str = "csv") -> list[Path]:
        """Writes scenarios, groups and jobs into a folder, which is made if need be, as csv or parquet. Returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, table in (("scenarios", self.rows), ("groups", self.groups), ("jobs", self.jobs)):
            path = folder / f"{name}.{file_format}"
            with output_beside(path) as new:
                if file_format == "csv":
                    table.write_csv(new, float_precision=6)
                else:
                    table.write_parquet(new)
            paths.append(path)
        return paths


def replay_scenarios(plan: ScenarioPlan) -> ScenarioResults:
    """Replays the base and all scenarios, with a progress bar. A scenario that fails has a row that says why. Raises ValueError where the
    base fails, or every scenario."""
    planned = iter(progress([plan.base, *plan.scenarios], "scenarios"))
    pace = pace_of_site(plan.source, plan.trace) if plan.base.settings.is_closed else None
    base = _replayed(plan, next(planned), pace)
    failures, compared = dict(plan.failures), {}
    labels, held = labelled_jobs(base.logged_rows, base.cluster.procs), held_jobs(plan.trace, plan.base, plan.scenarios)
    for scenario in planned:
        with plan.file.keeping_fault(scenario.name, failures):
            run = replay_with_freed(plan.trace, scenario, held, pace)
            compared[scenario.name] = _compared(plan, base, run, scenario.name, labels)
    if not compared:
        raise ValueError("\n".join(failures.values()))
    orders = {each.name for each in plan.scenarios if each.name in compared and is_an_order(plan.base, each)}
    cloud = random_orders_beside(plan, base) if orders else None

    def corrected(judgements: dict[str, Judgement]) -> dict[str, Judgement]:
        beside = [
            beside_cloud(judgement, cloud) if cloud is not None and name in orders else judgement
            for name, judgement in judgements.items()
        ]
        return dict(zip(judgements, corrected_for_many(beside), strict=True))

    judgements = corrected({name: each.judgement for name, each in compared.items()})
    paced, unpaced, following = _paced(plan, base, compared)
    of_pace = corrected({name: each.judgement for name, each in paced.items()})
    others = []
    for name, each in compared.items():
        row = each.row | _judged_columns(judgements[name], each, plan.configuration.has_figures)
        row["not_paced_because"] = unpaced.get(name)
        others.append(row | paced_columns(row["verdict"], paced.get(name), of_pace.get(name)))
    ranked = {row["scenario"]: row for row in ranked_rows(others)}
    rows = [row for row in (_logged_row(plan, base), _row(plan, BASE, base)) if row is not None]
    rows += [ranked.get(name) or {"scenario": name, "failed_because": failures[name]} for name in plan.file.order]
    table = pl.DataFrame([dict.fromkeys(ROW_SCHEMA) | row for row in rows], schema=ROW_SCHEMA)
    groups = pl.concat([each.groups for each in compared.values()])
    waits = {name: each.waits for name, each in compared.items()}
    return ScenarioResults(plan, table, groups, waits, base.counts, cloud, following)


def _paced(
    plan: ScenarioPlan, base: ReplayRun, compared: dict[str, _Compared]
) -> tuple[dict[str, Paced], dict[str, str], float | None]:
    """Scenarios with users who keep their pace, why others are not among them, and the share of the jobs that follow others, None where
    no scenario is. Jobs that a limit kept follow nobody, so that a scenario which has some is in it at the log's times alone."""
    alike = [each for each in plan.scenarios if each.name in compared and not compared[each.name].row["freed_jobs"]]
    try:
        pace = pace_of_plan(plan, base)
    except ValueError as error:
        return {}, {each.name: str(error) for each in alike}, None
    if pace is None or not alike:
        return {}, {}, None
    paced, failures = paced_scenarios(plan, base, alike, pace)
    return paced, failures, pace.share if paced else None


@dataclass(frozen=True)
class _Compared:
    """A scenario beside the base. row: without the columns of its verdict. is_live: whether either replay has live estimates."""

    row: dict[str, Any]
    judgement: Judgement
    groups: pl.DataFrame
    waits: pl.DataFrame
    is_live: bool


def _compared(plan: ScenarioPlan, base: ReplayRun, run: ReplayRun, scenario: str, labels: pl.DataFrame) -> _Compared:
    pairs = pair_jobs(base, run, plan.scored)
    waits, judgement = paired_waits(base, run, pairs), judge_pair(base, run, pairs)
    row = _row(plan, scenario, run) | _paired_columns(plan, base, waits, pairs)
    row["unchanged_because"] = why_unchanged(base, run, waits) or why_like_itself(base, run)
    if row["unchanged_because"] is not None:
        judgement = replace(judgement, verdict=_unchanged(judgement.verdict, row["unchanged_because"]))
    runs = waits_of_runs(base, pairs.base), waits_of_runs(run, pairs.other)
    groups = fate_of_groups(scenario, waits, labels, runs)
    is_live = any(each.believed.is_live for each in (plan.base.settings, run.settings))
    freed = freed_waits(run)
    row |= {"freed_jobs": len(freed), "freed_wait_h": float(freed.mean()) / SECONDS_PER_HOUR if len(freed) else None}
    row["no_verdict_because"] = why_no_verdict(base, run)
    return _Compared(row, judgement, groups, waits, is_live)


def _unchanged(verdict: PolicyVerdict, because: str) -> PolicyVerdict:
    is_noise = because.startswith(WITHIN_NOISE) and verdict.word != NO_DIFFERENCE
    return replace(verdict, word=NOT_SIGNIFICANT if is_noise else NO_DIFFERENCE, is_certain=False, payers=())


def _replayed(plan: ScenarioPlan, planned: PlannedReplay, pace: UsersPace | None) -> ReplayRun:
    with plan.file.naming(*planned.path):
        return replay_run(plan.trace, planned.settings, planned.policy, pace=pace)


def _row(plan: ScenarioPlan, name: str, run: ReplayRun) -> dict[str, Any]:
    """The row of one replay, but for its comparison with the base."""
    settings = run.settings
    scored = np.isin(run.rows["job_index"].to_numpy(), plan.scored)
    waits = (run.schedule.start - run.jobs.submit)[scored & run.schedule.started]
    return {
        "scenario": name,
        "policy": run.policy.text,
        "backfill": settings.portable_backfill,
        "estimates": run.estimates,
        "users": settings.users,
        "procs": run.cluster.procs,
        "load": settings.load,
        "without_queue": ", ".join(settings.without_queue) or None,
        "partitions": partitions_text(settings.partitions) or None,
        "round_walltimes": settings.round_walltimes,
        "jobs_wider_than_cluster": run.counts["jobs_wider_than_cluster"],
        **{name: run.counts.get(name) for name in GIVING_UP_COUNTS},
        **_measured(run.metrics(scored), waits),
    }


def _logged_row(plan: ScenarioPlan, base: ReplayRun) -> dict[str, Any] | None:
    """The row of what users waited by the log, over the jobs of the base whose start it knows; None where it knows none."""
    started = base.logged_rows.filter(pl.col("start_s").is_not_null())
    scored = started["job_index"].is_in(plan.scored).to_numpy()
    if not scored.any():
        return None
    jobs, start = plan.trace.jobs_of(started), started["start_s"].to_numpy()
    schedule = Schedule(start, np.zeros(len(start), dtype=np.bool_))
    measured = metrics(jobs, schedule, base.cluster.procs, scored)
    return {"scenario": LOG, "procs": base.cluster.procs, **_measured(measured, (start - jobs.submit)[scored])}


def _measured(measured: dict[str, float], waits: NDArray[np.int64]) -> dict[str, Any]:
    """Figures of one replay. waits: of the scored jobs that started, seconds."""
    return {
        "jobs": len(waits),
        **{f"{name}_wait_h": measured[f"{name}_wait_s"] / SECONDS_PER_HOUR for name in ("average", "median", "p95")},
        "started_within_1h_share": float((waits <= SECONDS_PER_HOUR).mean()),
        "started_within_24h_share": float((waits <= DAY_S).mean()),
        "utilisation": measured["utilisation"],
        "average_bounded_slowdown": measured["average_bounded_slowdown"],
    }


def _paired_columns(plan: ScenarioPlan, base: ReplayRun, waits: pl.DataFrame, pairs: PairedJobs) -> dict[str, Any]:
    work = (base.jobs.procs * base.jobs.runtime).astype(np.float64)
    of_all = work[np.isin(base.rows["job_index"].to_numpy(), plan.scored) & base.schedule.started].sum()
    change = (waits["wait_s"] - waits["base_wait_s"]).to_numpy()
    before, after = (float(waits[name].to_numpy().mean()) / SECONDS_PER_HOUR for name in ("base_wait_s", "wait_s"))
    return {
        "paired_jobs": waits.height,
        "base_only_jobs": pairs.base_only,
        "base_only_work_share": float(1 - work[pairs.base].sum() / of_all) if pairs.base_only and of_all else 0.0,
        "scenario_only_jobs": pairs.other_only,
        "paired_base_wait_h": before,
        "paired_wait_h": after,
        "change_h": after - before,
        "change_share": after / before - 1 if before else None,
        "jobs_longer_by_1h": int((change > SECONDS_PER_HOUR).sum()),
        "jobs_shorter_by_1h": int((change < -SECONDS_PER_HOUR).sum()),
    }


def _judged_columns(judgement: Judgement, compared: _Compared, has_figures: bool) -> dict[str, Any]:
    """A replay with live estimates is one of many that another start would have given, so that nothing is certain. has_figures: whether
    the grade allows a verdict."""
    verdict, wait = judgement.verdict, judgement.wait
    has_figures = has_figures and compared.row["no_verdict_because"] is None
    return {
        "typical_ratio": wait.ratio,
        "typical_ratio_low": wait.low,
        "typical_ratio_high": wait.high,
        "no_interval_because": wait.why_none,
        "random_orders_as_good": verdict.share_as_good if has_figures else None,
        "verdict": verdict_text(verdict.word, verdict.is_certain and not compared.is_live) if has_figures else None,
        "who_pays": ("; ".join(verdict.payers) or None) if has_figures else None,
    }


def _jobs_of(plan: ScenarioPlan, scenario: str, waits: pl.DataFrame) -> pl.DataFrame:
    logged = plan.trace.rows.select(
        "job_index",
        "job_id",
        "submit_s",
        "user_name",
        "account",
        "queue",
        logged_wait_h=(pl.col("start_s") - pl.col("submit_s")) / SECONDS_PER_HOUR,
    )
    return waits.join(logged, on="job_index", how="left", maintain_order="left").select(
        pl.lit(scenario).alias("scenario"),
        *("job_id", "submit_s", "user_name", "account", "queue", "procs", "runtime_s", "logged_wait_h"),
        base_wait_h=pl.col("base_wait_s") / SECONDS_PER_HOUR,
        wait_h=pl.col("wait_s") / SECONDS_PER_HOUR,
        change_h=(pl.col("wait_s") - pl.col("base_wait_s")) / SECONDS_PER_HOUR,
    )
