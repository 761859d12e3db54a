"""What the experiments on policies share: training, rows of their tables, and writing them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.progress import progress_bar
from assets.common.storage import remove_unused_models
from assets.common.trace import Trace
from assets.policies.training import TrainingSetup, store_policy
from assets.policies.verdicts import MAYBE_NULL, JudgedRule, chance_cloud, judged_replays, scores_of
from models.judging.intervals import ratio_interval
from models.judging.judge import corrected_for_many
from models.scheduling.arena import Arena, Windows
from models.scheduling.comparison import paired_difference
from models.scheduling.learning.dense import DenseLearner
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.training import Lessons
from models.scheduling.options import PPOOptions, Recipe
from simulator.policies.network import KernelWeights
from warehouse import Warehouse, replace_partition

if TYPE_CHECKING:
    import dagster as dg


FloatArray = NDArray[np.float64]

COMPARED_WITH = (("SAF", "requested"), ("SAF", "predicted"))
"""Policy and estimates of the entries that every other is compared with."""
INTERVAL_COLUMNS = ("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high")
EXPERIMENT_TABLES = ("window_costs", "comparisons", "policies", "verdicts")
EXPERIMENT_CARD = (
    *("experiment", "rules", "backfill", "goal", "policy", "estimates", "seed", "best_epoch", "validation_cost"),
    *("source", "parameters"),
)
"""What the file of an experiment's policy says of itself. All but the last two are columns of experiments.policies, too."""


@dataclass(frozen=True)
class ExperimentEntry:
    """A policy on the judging windows. trained_on: its source. costs: float64 (windows,). rule: how it replays the whole log, where
    it is judged by that too."""

    policy: str
    estimates: str
    trained_on: str | None
    seed: int | None
    costs: FloatArray
    rule: JudgedRule | None = None


def trained_entries(
    context: dg.AssetExecutionContext | dg.OpExecutionContext,
    setup: TrainingSetup,
    experiment: str,
    recipes: list[Recipe],
    seeds: list[int],
) -> tuple[list[ExperimentEntry], list[dict[str, Any]]]:
    """Trains every recipe with every seed. Returns what they cost on the judging windows, and rows of experiments.policies."""
    task, source = setup.task, setup.trace.source
    entries, rows = [], []
    with progress_bar(f"{experiment} {task.goal} {task.backfill}", len(recipes) * len(seeds)) as bar:
        for recipe in recipes:
            for policy in setup.train(recipe, seeds):
                seed, trained = policy.seed, policy.trained
                rule = learned_rule(setup, recipe.method, trained.weights)
                entries.append(ExperimentEntry(rule.name, task.estimates, source, seed, policy.costs, rule))
                card = setup.card(policy, EXPERIMENT_CARD, experiment=experiment, policy=rule.name)
                row = {key: value for key, value in card.items() if key not in ("source", "parameters")}
                which = [task.rules, task.estimates, task.base, task.agent] if task.agent else []
                words = [experiment, task.goal, task.backfill, *which, recipe.method, str(seed)]
                name = re.sub(r"[^\w.-]", "_", "-".join(words))
                rows.append(row | store_policy(source, name, trained.weights, card, task.agent))
                judged = f"epoch {trained.best_epoch}, {trained.validation_cost:.2f}, judged {policy.costs.mean():.2f}"
                context.log.info(f"{name}: {judged}")
                bar.update()
    return entries, rows


def learned_rule(setup: TrainingSetup, method: str, weights: KernelWeights) -> JudgedRule:
    """How a learned policy replays the whole log. An agent's has the method and what it decides as its name."""
    task, agent = setup.task, setup.arena.agent
    if agent is None:
        return JudgedRule(method, "learned", task.backfill, task.estimates, weights=weights)
    name = f"{method}, {task.base}, {task.agent}"
    return JudgedRule(name, task.base, task.backfill, task.estimates, agent=agent.learned(weights))


def costs_of(entries: Sequence[ExperimentEntry], windows: Windows, labels: dict[str, str]) -> pl.DataFrame:
    """Rows of experiments.window_costs. labels: experiment, rules, backfill and goal."""
    rows = [
        labels
        | {"policy": entry.policy, "estimates": entry.estimates, "trained_on": entry.trained_on, "seed": entry.seed}
        | {"window_number": k, "first_position": int(first), "window_jobs": windows.jobs, "cost": float(entry.costs[k])}
        for entry in entries
        for k, first in enumerate(windows.first)
    ]
    columns = {"trained_on": pl.Utf8, "seed": pl.Int64}
    return pl.DataFrame(rows, schema_overrides=columns, infer_schema_length=None)


def comparisons(
    entries: Sequence[ExperimentEntry],
    windows: Windows,
    labels: dict[str, str],
    rivals: Sequence[tuple[str, str]] = COMPARED_WITH,
) -> pl.DataFrame:
    """Rows of experiments.comparisons: each policy, with all its seeds, against each existing rival (policy and estimates).

    A rival that was trained is the one from the same source, with all its seeds.
    """
    groups: dict[tuple[str, str, str | None], list[ExperimentEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.policy, entry.estimates, entry.trained_on), []).append(entry)
    rows = []
    for (policy, estimates, trained_on), members in groups.items():
        costs = np.stack([entry.costs for entry in members])
        for name, rival_estimates in rivals:
            rival = groups.get((name, rival_estimates, None)) or groups.get((name, rival_estimates, trained_on))
            if rival is None or (trained_on is not None and rival is members):
                continue
            others = np.stack([entry.costs for entry in rival])
            rows.append(
                labels
                | {"policy": policy, "estimates": estimates, "trained_on": trained_on, "seeds": len(members)}
                | {"windows": len(windows), "cost": float(costs.mean()), "rival": f"{name}, {rival_estimates}"}
                | _interval(costs, others, windows)
            )
    columns = {"trained_on": pl.Utf8} | dict.fromkeys(INTERVAL_COLUMNS, pl.Float64)
    return pl.DataFrame(rows, schema_overrides=columns, infer_schema_length=None)


def verdicts_on(
    trace: Trace,
    entries: Sequence[ExperimentEntry],
    others: Sequence[JudgedRule],
    scored: range,
    labels: dict[str, str],
) -> pl.DataFrame:
    """Rows of experiments.verdicts: the entries that have a rule, then the others. scored: positions of the jobs that judge.

    labels: experiment and goal.
    """
    rules = [(entry.rule, entry.seed) for entry in entries if entry.rule is not None]
    rules += [(rule, None) for rule in others]
    judged = list(judged_replays(trace, [rule for rule, _ in rules], scored.start))
    judgements = corrected_for_many([each for _, each in judged], chance_cloud(trace, scored.start))
    rows = [
        labels
        | {"policy": rule.name, "seed": seed, "backfill": rule.backfill, "estimates": rule.estimates}
        | scores_of(replayed, judgement)
        for (rule, seed), (replayed, _), judgement in zip(rules, judged, judgements, strict=True)
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    return table.with_columns(pl.col("seed").cast(pl.Int64), pl.col(*MAYBE_NULL).cast(pl.Float64))


def _interval(costs: NDArray[np.float64], rival: NDArray[np.float64], windows: Windows) -> dict[str, float | None]:
    """How costs (seeds, windows) compare with a rival's: by the ratio in the typical block of a continuous replay, and by the
    difference where windows are apart."""
    values: dict[str, float | None] = dict.fromkeys(INTERVAL_COLUMNS)
    if not windows.continuous:
        apart = paired_difference(costs, rival, windows, 1)
        return values | {"difference": apart.mean, "difference_low": apart.low, "difference_high": apart.high}
    values["difference"] = float(costs.mean() - rival.mean())
    if (costs > 0).all() and (rival > 0).all():
        typical = ratio_interval(costs.mean(axis=0), rival.mean(axis=0))
        values |= {"ratio": typical.ratio, "ratio_low": typical.low, "ratio_high": typical.high}
    return values


def store_trained(warehouse: Warehouse, source: str, experiment: str, policies: pl.DataFrame) -> None:
    """Replaces the policies of one experiment of a source for these goals, names and seeds. All others stay."""

    def replace(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
        kept = connection.sql(
            "SELECT * EXCLUDE (source) FROM experiments.policies WHERE source = $source", params={"source": source}
        ).pl()
        kept = kept.join(policies, on=["experiment", "goal", "backfill", "policy", "seed"], how="anti")
        whole = pl.concat([kept, policies.select(kept.columns)], how="vertical_relaxed")
        replace_partition(connection, "experiments.policies", source, whole)
        return whole

    whole = warehouse.transact(source, replace)
    remove_unused_models(source, experiment, whole.filter(pl.col("experiment") == experiment)["file"])


def write_results(
    warehouse: Warehouse,
    source: str,
    experiment: str,
    costs: pl.DataFrame,
    differences: pl.DataFrame,
    policies: list[dict[str, Any]],
    verdicts: pl.DataFrame | None = None,
) -> None:
    """Replaces the rows of one experiment of a source for these goals and backfillings, and verdicts for these goals. All others stay.

    The rows of agents, whose backfilling has the agent's name, are all replaced for these goals.
    """
    stored = pl.DataFrame(policies, infer_schema_length=None)
    new = dict(zip(EXPERIMENT_TABLES, (costs, differences, stored, pl.DataFrame(verdicts)), strict=True))
    again = costs.select("experiment", "goal", "backfill").unique()

    def replace(connection: duckdb.DuckDBPyConnection) -> list[str]:
        files: list[str] = []
        for name in EXPERIMENT_TABLES:
            kept = connection.sql(
                f"SELECT * EXCLUDE (source) FROM experiments.{name} WHERE source = $source", params={"source": source}
            ).pl()
            # rules of experiments.verdicts have backfilling rules of their own
            altogether = name == "verdicts" or "agents" in again["backfill"]
            same = ["experiment", "goal"] if altogether else again.columns
            kept = kept.join(again, on=same, how="anti")
            rows = [part for part in (kept, new[name]) if part.height]
            if not rows:
                continue
            whole = pl.concat([part.select(rows[0].columns) for part in rows], how="vertical_relaxed")
            replace_partition(connection, f"experiments.{name}", source, whole)
            if name == "policies":
                files = whole.filter(pl.col("experiment") == experiment)["file"].to_list()
        return files

    remove_unused_models(source, experiment, warehouse.transact(source, replace))


def curve_rows(
    arena: Arena, lessons: Lessons, options: PPOOptions, networks: list[str], filtering: bool, seeds: list[int]
) -> pl.DataFrame:
    """Rows of experiments.curves. Raises ValueError when there is nothing to compare."""
    half = max(options.epochs // 2, 1)
    variants: list[tuple[str, str, PPOOptions]] = [("networks", name, options) for name in networks]
    if filtering:
        variants += [
            ("filtering", "unfiltered", options),
            ("filtering", "filtered", options.model_copy(update={"filtered_epochs": half})),
            ("filtering", "relative", options.model_copy(update={"reward": "relative"})),
        ]
    if not variants:
        raise ValueError("no networks and no filtering: there is nothing to compare")
    rows = []
    with progress_bar("training curves", len(variants) * len(seeds)) as bar:
        for experiment, variant, asked in variants:
            for seed in seeds:
                other = experiment == "networks" and variant != "kernel"
                learner = DenseLearner(arena, asked, seed, variant) if other else None
                for report in train_by_ppo(arena, lessons, asked, seed, learner=learner).curve:
                    kept = asdict(report)
                    names = ("epoch", "phase", "decisions", "sampled_cost", "validation_cost")
                    rows.append(
                        {"experiment": experiment, "variant": variant, "seed": seed}
                        | {name: kept[name] for name in names}
                    )
                bar.update()
    return pl.DataFrame(rows, infer_schema_length=None)


def store_curves(warehouse: Warehouse, source: str, rows: pl.DataFrame, same: list[str]) -> None:
    """Replaces the rows of experiments.curves of a source that are alike in the columns `same`. All others stay."""

    def replace(connection: duckdb.DuckDBPyConnection) -> None:
        others = connection.sql(
            "SELECT * EXCLUDE (source) FROM experiments.curves WHERE source = $source", params={"source": source}
        ).pl()
        others = others.join(rows, on=same, how="anti").select(rows.columns)
        replace_partition(connection, "experiments.curves", source, pl.concat([others, rows], how="vertical_relaxed"))

    warehouse.transact(source, replace)


def last_epochs(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean over seeds of the last epoch of every variant."""
    last = rows.filter(pl.col("epoch") == pl.col("epoch").max())
    return last.group_by("experiment", "variant", maintain_order=True).agg(
        pl.col("validation_cost", "sampled_cost").mean()
    )
