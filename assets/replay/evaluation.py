"""The asset replay/evaluation: every policy on held-out jobs, in a replay of the whole log."""

from dataclasses import dataclass, replace
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

import sql
from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.common.trace import Trace, load_trace, load_trained_trace
from assets.core.jobs import jobs
from assets.policies.lessons import why_no_training
from assets.policies.priority_key import priority_key
from assets.policies.registry import has_policies, learned_policies
from assets.policies.scheduling_policy import scheduling_policy
from assets.policies.verdicts import BOUNDED_KEY, MAYBE_NULL, JudgedRule, chance_cloud, judged_replays, scores_of
from assets.predictions.runtime_predictions import runtime_predictions
from assets.replay import policy_plots
from assets.replay.fidelity import fidelity
from assets.replay.paced_orders import PACE_COLUMNS, PacedOrders
from assets.replay.random_orders import incumbent_of, random_order_rows
from assets.replaying.judged_orders import JudgedOrders
from assets.replaying.starts import OnSite, on_site
from models.judging.chance import ChanceCloud
from models.judging.judge import corrected_for_many
from models.judging.panel import Replayed
from simulator.policies.network import KernelWeights
from simulator.policies.registry import RIVAL_HEURISTICS
from warehouse import Warehouse, first_row, replace_partitions

THRESHOLDS_H = (6, 12)


def with_threshold(name: str, key: str, hours: int) -> JudgedRule:
    """An order in which whoever has waited so long goes first, in the order of submission: the usual remedy for starving jobs.

    key: a formula of which the least goes first.
    """
    return JudgedRule(f"{name}, {hours} h", f"formula:(1e12 + wait) if wait > {hours * 3600} else -({key})")


THRESHOLD_RIVALS = (
    *(with_threshold("SJF", "estimate", hours) for hours in THRESHOLDS_H),
    *(with_threshold("SAF", "estimate * procs", hours) for hours in THRESHOLDS_H),
    *(with_threshold("fewest processors", "procs", hours) for hours in THRESHOLDS_H),
)
SEARCHED_KEY = JudgedRule("searched-key", "formula:-(submit + min(0.00234757*estimate**1.70135*procs**1.12346, 94210))")
"""Of `python -m studies guarded_keys`, the key of CTC-SP2, SDSC-SP2, HPC2N and two models together: blind on any other log."""
EXPERT_RIVALS = (
    JudgedRule("LEXP", "LEXP"),
    JudgedRule("multifactor", "multifactor"),
    *THRESHOLD_RIVALS,
    SEARCHED_KEY,
)
"""Of the default leaderboard, beside the heuristics of simulator.policies.registry, with requested times."""


EVALUATED_ESTIMATES = ("requested", "predicted")
BACKFILL = "easy"
WITH_PREDICTIONS = ("SAF", "key", "learned")
"""Contestants that a site is also replayed with under predicted times, beside its own scheduler."""


@dataclass(frozen=True)
class Contestant:
    """A policy to be compared. A heuristic has no seed and no weights.

    text: as simulator.policies.registry.parse_policy takes it.
    """

    policy: str
    text: str
    seed: int | None = None
    weights: KernelWeights | None = None


def contestants_of(warehouse: Warehouse, source: str, test_position: int, is_trained: bool = True) -> list[Contestant]:
    """Heuristics, the priority key, and the champion among the learned policies. is_trained: whether the pipeline trains for this source.
    Where it does not, only what earlier trainings have left competes.

    Raises ValueError where policies or key learned from jobs of the test part.
    """
    learned = learned_policies(warehouse, source) if is_trained or has_policies(warehouse, source) else []
    if not is_trained:
        learned = [policy for policy in learned if policy.trained_jobs <= test_position]
    if any(policy.trained_jobs > test_position for policy in learned):
        raise ValueError(
            f"source {source!r}: the policies were trained on jobs that are now in the test part: materialize "
            "policies/trajectory_filter, policies/priority_key and policies/scheduling_policy again"
        )
    with warehouse.read() as connection:
        key = first_row(
            connection, "SELECT formula, trained_jobs FROM policies.priority_keys WHERE source = ?", [source]
        )
    keys = [key[0]] if key is not None and key[1] <= test_position else []
    if is_trained and not keys:
        raise ValueError(
            f"source {source!r} has no priority key of this split: materialize policies/priority_key again"
        )
    return [
        *(Contestant(name, name) for name in RIVAL_HEURISTICS),
        *(Contestant("key", formula) for formula in keys),
        *(Contestant("learned", "learned", policy.seed, policy.weights) for policy in learned if policy.champion),
    ]


def period_rules(contestants: list[Contestant]) -> list[tuple[JudgedRule, int | None]]:
    """What is judged on the whole log, with training seeds: the contestants, rules that anybody can have with the same estimates,
    the bounded key, and what an expert would name."""
    rules = [
        (JudgedRule(entry.policy, entry.text, BACKFILL, estimates, weights=entry.weights), entry.seed)
        for estimates in EVALUATED_ESTIMATES
        for entry in contestants
    ]
    shortest = [(JudgedRule("EASY-SJBF", "FCFS", "easy-sjbf", estimates), None) for estimates in EVALUATED_ESTIMATES]
    return [*rules, *shortest, (BOUNDED_KEY, None), *((rule, None) for rule in EXPERT_RIVALS)]


def site_rules(contestants: list[Contestant], incumbent: JudgedRule) -> list[tuple[JudgedRule, int | None]]:
    """The same on a site, in the place of its own order. incumbent: that."""
    orders = [
        (JudgedRule(entry.policy, entry.text, incumbent.backfill, weights=entry.weights), entry.seed)
        for entry in contestants
    ]
    predicted = [each for each in orders if each[0].name in WITH_PREDICTIONS]
    keys = [
        replace(key, backfill=incumbent.backfill) for key in (JudgedRule("bounded-key", "bounded-key"), SEARCHED_KEY)
    ]
    return [
        *orders,
        *((key, None) for key in keys),
        *((replace(rule, estimates="predicted"), seed) for rule, seed in [(incumbent, None), *predicted]),
    ]


def period_replays(
    trace: Trace,
    contestants: list[Contestant],
    test_position: int,
    on_nodes: JudgedOrders | None = None,
    site: OnSite | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame, ChanceCloud]:
    """Rows of replay.period_scores and of replay.schedules: the whole log is replayed, and jobs from `test_position` on are scored.
    Rows of random orders are among the scores. And what they reach. on_nodes: of a site that a cluster describes, None for a row of
    processors. site: whose users keep their pace once more, None for none."""
    if on_nodes is None:
        rules, cluster, replayed_rows = period_rules(contestants), None, trace.rows
        replays = judged_replays(trace, [rule for rule, _ in rules], test_position)
        judged = [(rule, *each) for (rule, _), each in zip(rules, replays, strict=True)]
        by_lot, add = random_order_rows(BACKFILL)
        cloud = chance_cloud(trace, test_position, add)
    else:
        rules, cluster, replayed_rows = site_rules(contestants, on_nodes.incumbent), on_nodes.cluster, on_nodes.rows
        judged = list(on_nodes.judged([rule for rule, _ in rules]))
        by_lot, add = random_order_rows(on_nodes.incumbent.backfill, cluster)
        cloud = on_nodes.cloud([judgement for *_, judgement in judged], add)
    seeds = {(rule.name, rule.estimates): seed for rule, seed in rules}
    judgements = corrected_for_many([judgement for *_, judgement in judged], cloud)
    paced: list[dict[str, Any]] = [{} for _ in judged]
    if site is not None:
        orders = PacedOrders(site, trace, test_position, on_nodes)
        paced = orders.columns(
            [each[:2] for each in judged], judgements, pl.DataFrame(by_lot, infer_schema_length=None)
        )
    scores, schedules = [], []
    for (rule, replayed, _), judgement, pace in zip(judged, judgements, paced, strict=True):
        facts = {"policy": rule.name, "backfill": rule.backfill, "estimates": rule.estimates}
        seed = seeds.get((rule.name, rule.estimates))
        facts_of = facts | {"cluster": cluster, "seed": seed} | dict.fromkeys(PACE_COLUMNS)
        scores.append(facts_of | scores_of(replayed, judgement) | pace)
        of_rule = {name: pl.lit(text) for name, text in facts.items()}
        schedules.append(_scored_schedule(trace, replayed_rows, replayed).with_columns(**of_rule))
    rows = pl.DataFrame(scores + by_lot, infer_schema_length=None)
    kinds = {"seed": pl.Int64, "cluster": pl.Utf8} | dict.fromkeys(MAYBE_NULL, pl.Float64) | PACE_COLUMNS
    return rows.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items()), pl.concat(schedules), cloud


def _scored_schedule(trace: Trace, rows: pl.DataFrame, replayed: Replayed) -> pl.DataFrame:
    """Rows of replay.schedules, besides what tells which policy it is: of the scored jobs that have started. rows: of the replayed jobs."""
    period = np.flatnonzero(replayed.scored & replayed.schedule.started)
    start = replayed.schedule.start[period]
    start_time = pl.lit(trace.clock_zero) + pl.duration(seconds=pl.lit(pl.Series(start)))
    lasts = pl.col("runtime_s") + pl.Series(replayed.schedule.suspended_s[period])
    return rows[period].select(
        "job_index",
        "procs",
        start_time=start_time,
        end_time=start_time + pl.duration(seconds=lasts),
        wait_s=pl.Series(start - replayed.jobs.submit[period]),
        backfilled=pl.Series(replayed.schedule.backfilled[period]),
    )


@asset(
    "replay.evaluation",
    group_name="evaluation",
    deps=[scheduling_policy, priority_key, runtime_predictions, fidelity, jobs],
    table="replay.period_scores",
    kinds={"numba", "duckdb"},
    least_jobs=LEAST_JOBS,
)
def replay_evaluation(
    context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Every policy in a replay of the whole log, scored on the held-out jobs, with a verdict on who should adopt it.

    Where a cluster is described orders are in the place of its scheduler's own, and beside that. Else they are beside FCFS, with EASY
    backfilling, once with requested and once with predicted run times. The learned policy is the champion. What may be advised is replayed
    once more with users who keep their pace."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    site, on_nodes = on_site(warehouse, source), None
    if site.settings.labels:
        trace = load_trace(warehouse, source, labels=site.settings.labels)
    if (described := site.site.scheduler.described) is not None:
        on_nodes = JudgedOrders(site.settings, site.policy, trace, test_position, described.name)
    is_trained = why_no_training(warehouse, trace) is None
    contestants = contestants_of(warehouse, source, test_position, is_trained)
    periods, schedules, cloud = period_replays(trace, contestants, test_position, on_nodes, site)
    replace_partitions(
        warehouse,
        source,
        {
            "replay.period_scores": periods,
            "replay.schedules": schedules,
        },
    )
    with warehouse.read() as connection:
        usage = connection.sql(sql.load("replay.usage_over_time"), params={"source": source}).pl()
    shown_in_time = (incumbent_of(periods)["policy"], "learned")
    shown = ["policy", "estimates", "average_bounded_slowdown", "average_wait_s", "wide_wait_s", "verdict", "payers"]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": periods.height,
            "jobs_left_out": trace.jobs_left_out,
            "random_orders": str(cloud),
            "whole_period": table(
                periods.filter(pl.col("verdict").is_not_null()).select(shown).sort("average_bounded_slowdown")
            ),
            "usage": plot(policy_plots.usage_over_time(usage, trace.cluster_procs, trace.has_calendar, shown_in_time)),
        }
    )


CHECKS = [
    row_check(
        replay_evaluation, "checks.never_oversubscribes", "no replayed schedule uses more processors than there are"
    ),
    row_check(replay_evaluation, "checks.no_start_before_submission", "no replayed job starts before it was submitted"),
]
