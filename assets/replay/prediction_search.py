"""Stage 5, beside the evaluation: what use of predicted run times would have shortened waits."""

from typing import Any, NamedTuple

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.common.parts import asset_of_parts
from assets.common.progress import progress
from assets.common.trace import JOB_COLUMNS, Trace, load_trained_trace
from assets.core.jobs import jobs
from assets.policies.verdicts import LIVE_SHIFTS, MAYBE_NULL, TYPICAL
from assets.predictions.runtime_predictions import runtime_predictions
from assets.replay import policy_plots
from models.judging.chance import ChanceCloud
from models.judging.judge import Judgement, corrected_for_many
from models.judging.panel import Panel
from models.judging.verdict import DOMINATES, LIKE_CHANCE, MOST_AS_GOOD, PolicyVerdict, Ratios
from models.runtime import search
from models.runtime.search import ChoosingPart, Configuration, HeldOutPart, ReplayOutcome, SearchLog, TriedUse
from models.scheduling.search.priority_key import searched_jobs
from warehouse import Warehouse, replace_partitions

SEARCH_COLUMNS = (
    *("family", "name", "dominates_in_search", "verdict", "bounded_slowdown_ratio", "wait_ratio", "p99_wait_ratio"),
    *("area_wait_ratio", "wide_wait_ratio", "average_bounded_slowdown", "average_wait_s", "underestimated_share"),
    *("reservations_delayed_share", "payers"),
)
"""Columns of the table in the UI."""
_TYPES: dict[str, Any] = dict.fromkeys(("search_value", *MAYBE_NULL), pl.Float64) | {"dominates_in_search": pl.Boolean}


class PredictionSearchConfig(dg.Config):
    shakes: int = Field(
        default=2, ge=0, description="Perturbed copies of the choosing part on which each configuration is tried, too"
    )
    seed: int = Field(default=1, ge=0, description="Seed of the perturbed copies")
    parts: int = Field(
        default=8, ge=1, description="Steps that the configurations are tried in; an executor may run them side by side"
    )


def number_of_parts(config: PredictionSearchConfig, warehouse: Warehouse, source: str) -> int:
    """How many steps the search has. The rows do not depend on it."""
    return config.parts


def tried_part(
    context: dg.OpExecutionContext, config: PredictionSearchConfig, warehouse: Warehouse, number: int
) -> pl.DataFrame:
    """Tries every so-manieth configuration, beginning with the one of the part's number. Rows as `tried_uses` gives them."""
    trace, test_position = load_trained_trace(warehouse, context.partition_key)
    return tried_uses(trace, test_position, config.shakes, config.seed, slice(number, None, config.parts))


@asset_of_parts(
    "replay.prediction_search",
    group_name="evaluation",
    deps=[runtime_predictions, jobs],
    count=number_of_parts,
    part=tried_part,
    tags={"cost": "hours"},
    kinds={"numba", "duckdb"},
    least_jobs=LEAST_JOBS,
)
def prediction_search(
    context: dg.OpExecutionContext, config: PredictionSearchConfig, warehouse: Warehouse, parts: list[pl.DataFrame]
) -> dg.MaterializeResult:
    """Orders, backfilling rules, estimates and corrections, tried with live predictions and those in use.

    The part before the split chooses, for each family, what dominates FCFS with EASY there. The choices are judged on the later jobs,
    beside EASY-SJBF, EASY++, clairvoyance and random orders."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    searched = searched_uses(trace, test_position, pl.concat(parts, how="vertical_relaxed"))
    replace_partitions(warehouse, source, {"replay.prediction_search": searched})
    tested = searched.filter(pl.col("part") == "testing").sort("average_bounded_slowdown")
    penalised = tested.filter(pl.col("dominates_in_search").eq(False))["family"].to_list()
    if penalised:
        context.log.info(f"no use of predictions dominates on the choosing part in: {', '.join(penalised)}")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": searched.height,
            "jobs_choosing": test_position - searched_jobs(test_position).start,
            "jobs_testing": trace.rows.height - test_position,
            "families_where_none_dominates": ", ".join(penalised) or "none",
            "on_unseen_jobs": table(tested.select(SEARCH_COLUMNS)),
            "slowdown_and_wait": plot(policy_plots.slowdown_and_wait(searched)),
        }
    )


def tried_uses(trace: Trace, test_position: int, shakes: int, seed: int, which: slice) -> pl.DataFrame:
    """Rows of replay.prediction_search about the choosing part, for some of the configurations, without `chosen`. Same arguments, same
    rows.

    Jobs from position `test_position` on are left out. shakes: perturbed copies of the jobs before it. seed: of these copies. The rows
    have their `position` among all configurations.
    """
    choosing = ChoosingPart.of(_search_log(trace).part(slice(0, test_position)), shakes, seed)
    configurations = [(family, each) for family, members in search.use_families().items() for each in members]
    asked = list(enumerate(configurations))[which]
    rows = [
        {"position": position} | _tried(family, choosing.tried(each))
        for position, (family, each) in progress(asked, "uses of predictions")
    ]
    return pl.DataFrame(rows, schema_overrides=_TYPES, infer_schema_length=None)


def searched_uses(trace: Trace, test_position: int, tried: pl.DataFrame) -> pl.DataFrame:
    """Rows of replay.prediction_search: those of the choosing part, with the choice of each family, and the chosen ones on the jobs from
    position `test_position` on. Same arguments, same rows.

    tried: rows of `tried_uses`, in any order.
    """
    tried = _beside_chance(tried.sort("position"), trace, test_position)
    chosen = {str(family): _best(rows) for (family,), rows in tried.group_by("family", maintain_order=True)}
    best = [row["position"] for row in chosen.values()]
    tried = tried.with_columns(chosen=pl.col("position").is_in(best)).drop("position")
    tested = [("rival", name, rival) for name, rival in search.PREDICTION_RIVALS.items()]
    for family, configurations in search.use_families().items():
        use = next(each for each in configurations if str(each) == chosen[family]["name"])
        tested.append((family, str(use), use))
    held_out = HeldOutPart(_search_log(trace), test_position, LIVE_SHIFTS)
    replays, judgements = zip(*(held_out.judged(each) for *_, each in progress(tested, "whole replays")), strict=True)
    panels: list[Panel] = []
    cloud = search.cloud_beside_easy(
        _search_log(trace), test_position, lambda order, replayed, ratios: panels.append(replayed.panel())
    )
    rows = [
        _row("testing", *facts, replayed.outcome) | _tested(judgement, chosen.get(facts[0]))
        for facts, replayed, judgement in zip(tested, replays, corrected_for_many(judgements, cloud), strict=True)
    ]
    rows += _random_order_rows(cloud, panels, rows[0])
    judged = pl.DataFrame(rows, schema_overrides=_TYPES, infer_schema_length=None)
    return pl.concat([tried, judged.select(tried.columns)], how="vertical_relaxed")


def _beside_chance(tried: pl.DataFrame, trace: Trace, test_position: int) -> pl.DataFrame:
    """The rows of the choosing part. What random orders equal there does not dominate."""
    log = _search_log(trace).part(slice(0, test_position))
    cloud = search.cloud_beside_easy(log, searched_jobs(test_position).start)
    ratios = tried.select("bounded_slowdown_ratio", "wait_ratio").iter_rows()
    beyond = pl.Series([cloud.share_as_good_as(*pair) <= MOST_AS_GOOD for pair in ratios])
    dominates = pl.col("verdict").str.starts_with(DOMINATES)
    return tried.with_columns(
        dominates_in_search=pl.col("dominates_in_search") & beyond,
        verdict=pl.when(dominates & ~beyond).then(pl.lit(LIKE_CHANCE)).otherwise("verdict"),
    )


def _random_order_rows(cloud: ChanceCloud, panels: list[Panel], easy: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the testing part that sum up random orders: the mean of every number, and 5 and 95 % of them. easy: the row of EASY."""
    numbers = pl.DataFrame([_panel_columns(panel) for panel in panels], infer_schema_length=None).hstack(
        pl.DataFrame([_ratio_columns(ratios) for ratios in cloud.ratios], infer_schema_length=None)
    )
    words = {"policy": "random order", "verdict": LIKE_CHANCE, "payers": "", "replays": len(panels)}
    summed = {
        "mean": pl.all().mean(),
        "5 %": pl.all().quantile(0.05, "linear"),
        "95 %": pl.all().quantile(0.95, "linear"),
    }
    return [
        easy
        | numbers.select(expression).row(0, named=True)
        | words
        | dict.fromkeys(TYPICAL)
        | {"name": f"random order, {what}"}
        for what, expression in summed.items()
    ]


class _InSearch(NamedTuple):
    """What the search says of a configuration, as in models.runtime.search.TriedUse."""

    dominates: bool
    value: float


def _best(family: pl.DataFrame) -> dict[str, Any]:
    """The row of the configuration that is chosen from a family."""
    values = family.select("dominates_in_search", "search_value").iter_rows()
    return family.row(search.best_use([_InSearch(*row) for row in values]), named=True)


def _search_log(trace: Trace) -> SearchLog:
    submit, runtime, procs, requested = (trace.rows[name].to_numpy() for name in JOB_COLUMNS)
    return SearchLog(submit, runtime, procs, requested, trace.rows, trace.cluster_procs)


def _tried(family: str, use: TriedUse) -> dict[str, Any]:
    """A configuration on the choosing part."""
    row = _row("choosing", family, str(use.configuration), use.configuration, use.outcome)
    in_search, none = {"dominates_in_search": use.dominates, "search_value": use.value}, dict.fromkeys(TYPICAL)
    return row | _panel_columns(use.panel) | in_search | _verdict_columns(use.verdict) | none


def _tested(judgement: Judgement, chosen: dict[str, Any] | None) -> dict[str, Any]:
    """A configuration on the jobs that chose nothing. chosen: its row of the choosing part, None for a rival."""
    row = {"chosen": chosen is not None} | _panel_columns(judgement.panels[0])
    row |= {name: chosen and chosen[name] for name in ("dominates_in_search", "search_value")}
    return row | _verdict_columns(judgement.verdict) | _typical_columns(judgement)


def _panel_columns(panel: Panel) -> dict[str, Any]:
    return {
        "average_bounded_slowdown": panel.bounded_slowdown,
        "average_wait_s": panel.wait_s,
        "p99_wait_s": panel.p99_wait_s,
        "max_wait_s": panel.max_wait_s,
        "area_weighted_wait_s": panel.area_wait_s,
        "wide_wait_s": panel.wide_wait_s,
        "lost_capacity": panel.lost_capacity,
    }


def _verdict_columns(verdict: PolicyVerdict) -> dict[str, Any]:
    words = {"verdict": str(verdict), "payers": "; ".join(verdict.payers), "replays": len(verdict.ratios)}
    return words | _ratio_columns(verdict.ratios[0])


def _ratio_columns(ratios: Ratios) -> dict[str, Any]:
    return {
        "bounded_slowdown_ratio": ratios.bounded_slowdown,
        "wait_ratio": ratios.wait,
        "p99_wait_ratio": ratios.p99_wait,
        "area_wait_ratio": ratios.area_wait,
        "wide_wait_ratio": ratios.wide_wait,
        "lost_capacity_change": ratios.lost_capacity,
    }


def _typical_columns(judgement: Judgement) -> dict[str, float | None]:
    intervals = (judgement.bounded_slowdown, judgement.wait)
    return dict(zip(TYPICAL, (end for x in intervals for end in (x.ratio, x.low, x.high)), strict=True))


def _row(part: str, family: str, name: str, configuration: Configuration, outcome: ReplayOutcome) -> dict[str, Any]:
    return {
        "part": part,
        "family": family,
        "name": name,
        "policy": configuration.order,
        "backfill": configuration.backfill,
        "estimates": configuration.estimates,
        "factor": configuration.factor,
        "reserve_by": configuration.reserve_by,
        "admit_by": configuration.admit_by,
        "correction": configuration.correction,
        "underestimated_share": outcome.underestimated_share,
        "reservations_delayed_share": outcome.delayed_share,
        "mean_reservation_delay_s": outcome.mean_delay_s,
    }
