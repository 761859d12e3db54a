"""What the experiments on policies share: training, rows of their tables, writing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.progress import progress_bar
from assets.common.storage import remove_unused_models, store_model
from assets.common.trace import Trace
from assets.policies.training import Split, Task, arena_of_task
from models.scheduling.arena import Arena, Windows
from models.scheduling.comparison import compare
from models.scheduling.learning.dense import DenseLearner
from models.scheduling.learning.ppo import train
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import Lessons
from models.scheduling.options import PPOOptions, Recipe
from models.scheduling.policy_file import policy_to_bytes
from models.scheduling.trajectory_filter import filter_trajectories
from warehouse import Warehouse, replace_partition

if TYPE_CHECKING:
    import dagster as dg


FloatArray = NDArray[np.float64]

RIVALS = (("SAF", "requested"), ("SAF", "predicted"))
TABLES = ("window_costs", "comparisons", "policies")


@dataclass(frozen=True)
class Contest:
    """Where policies are trained and compared."""

    task: Task
    arena: Arena
    split: Split

    @classmethod
    def of(cls, trace: Trace, task: Task, split: Split) -> Contest:
        return cls(task, arena_of_task(trace, task), split)


@dataclass(frozen=True)
class Entry:
    """A policy on the judging windows; costs: float64 (windows,)."""

    policy: str
    estimates: str
    trained_on: str | None
    seed: int | None
    costs: FloatArray


def trained_entries(
    context: dg.AssetExecutionContext,
    trace: Trace,
    contest: Contest,
    experiment: str,
    recipes: list[Recipe],
    seeds: list[int],
) -> tuple[list[Entry], list[dict[str, Any]]]:
    """Trains every recipe with every seed; returns what they cost on the judging windows, and rows of experiments.policies."""

    task, arena, split = contest.task, contest.arena, contest.split
    lessons = Lessons(split.learn, filter_trajectories(arena, split.learn).kept_windows, split.choose)
    entries, cards = [], []
    with progress_bar(f"{experiment} {task.goal} {task.backfill}", len(recipes) * len(seeds)) as bar:
        for recipe in recipes:
            for seed in seeds:
                found = learn(arena, lessons, recipe, seed)
                costs = arena.costs(found.weights, split.judge)
                entries.append(Entry(recipe.method, task.estimates, trace.source, seed, costs))
                told: dict[str, Any] = {
                    "experiment": experiment,
                    "rules": task.rules,
                    "backfill": task.backfill,
                    "goal": task.goal,
                }
                told |= {"policy": recipe.method, "estimates": task.estimates, "seed": seed}
                told |= {"best_epoch": found.best_epoch, "validation_cost": found.validation_cost}
                card = told | {"source": trace.source, "parameters": found.parameters}
                name = f"{experiment}-{task.goal}-{task.backfill}-{recipe.method}-{seed}".replace(":", "_")
                file, digest = store_model(trace.source, name, policy_to_bytes(found.weights, card))
                cards.append(told | {"file": file, "sha256": digest})
                context.log.info(
                    f"{name}: epoch {found.best_epoch}, {found.validation_cost:.2f}, judged {costs.mean():.2f}"
                )
                bar.update()
    return entries, cards


def costs_of(entries: Sequence[Entry], windows: Windows, told: dict[str, str]) -> pl.DataFrame:
    """Rows of experiments.window_costs."""
    rows = [
        told
        | {"policy": entry.policy, "estimates": entry.estimates, "trained_on": entry.trained_on, "seed": entry.seed}
        | {"window_number": k, "first_position": int(first), "window_jobs": windows.jobs, "cost": float(entry.costs[k])}
        for entry in entries
        for k, first in enumerate(windows.first)
    ]
    columns = {"trained_on": pl.Utf8, "seed": pl.Int64}
    return pl.DataFrame(rows, schema_overrides=columns, infer_schema_length=None)


def comparisons(entries: Sequence[Entry], windows: Windows, told: dict[str, str]) -> pl.DataFrame:
    """Rows of experiments.comparisons: each policy, its seeds together, against each of RIVALS that is there."""

    groups: dict[tuple[str, str, str | None], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.policy, entry.estimates, entry.trained_on), []).append(entry)
    rows = []
    for (policy, estimates, trained_on), members in groups.items():
        costs = np.stack([entry.costs for entry in members])
        for name, believed in RIVALS:
            rival = groups.get((name, believed, None))
            if rival is None:
                continue
            apart = compare(costs, rival[0].costs, windows, 1)
            rows.append(
                told
                | {"policy": policy, "estimates": estimates, "trained_on": trained_on, "seeds": len(members)}
                | {"windows": len(windows), "cost": float(costs.mean()), "rival": f"{name}, {believed}"}
                | {"difference": apart.mean, "difference_low": apart.low, "difference_high": apart.high}
            )
    columns = {"trained_on": pl.Utf8, "difference_low": pl.Float64, "difference_high": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=columns, infer_schema_length=None)


def write_results(
    warehouse: Warehouse,
    source: str,
    experiment: str,
    costs: pl.DataFrame,
    found: pl.DataFrame,
    cards: list[dict[str, Any]],
) -> None:
    """Replaces the rows of one experiment of a source for these goals and backfillings; all others stay."""
    new = dict(zip(TABLES, (costs, found, pl.DataFrame(cards, infer_schema_length=None)), strict=True))
    again = costs.select("experiment", "goal", "backfill").unique()
    files: list[str] = []
    with warehouse.write() as connection:  # which makes the tables where an older tracehouse had none
        for name in TABLES:
            kept = connection.sql(
                f"SELECT * EXCLUDE (source) FROM experiments.{name} WHERE source = $source", params={"source": source}
            ).pl()
            kept = kept.join(again, on=again.columns, how="anti")
            rows = [part for part in (kept, new[name]) if part.height]
            if not rows:
                continue
            whole = pl.concat([part.select(rows[0].columns) for part in rows], how="vertical_relaxed")
            replace_partition(connection, f"experiments.{name}", source, whole)
            if name == "policies":
                files = whole.filter(pl.col("experiment") == experiment)["file"].to_list()
    remove_unused_models(source, experiment, files)


def curve_rows(
    arena: Arena, lessons: Lessons, options: PPOOptions, networks: list[str], filtering: bool, seeds: list[int]
) -> pl.DataFrame:
    """Rows of experiments.curves. Raises ValueError when nothing is asked for."""

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
                for report in train(arena, lessons, asked, seed, learner=learner).curve:
                    kept = asdict(report)
                    names = ("epoch", "phase", "decisions", "sampled_cost", "validation_cost")
                    rows.append(
                        {"experiment": experiment, "variant": variant, "seed": seed}
                        | {name: kept[name] for name in names}
                    )
                bar.update()
    return pl.DataFrame(rows, infer_schema_length=None)


def last_epochs(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean over seeds of the last epoch of every variant."""
    last = rows.filter(pl.col("epoch") == pl.col("epoch").max())
    return last.group_by("experiment", "variant", maintain_order=True).agg(
        pl.col("validation_cost", "sampled_cost").mean()
    )
