"""How a training went on held-out windows, by RLScheduler's protocol, beside heuristics on the same windows: stored, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.policies.training import TrainingSetup
from models.judging.chance import CAPS_S, RandomOrder
from models.scheduling.arena import Arena, Windows
from models.scheduling.comparison import Difference, paired_difference
from models.scheduling.learning.training_run import JudgedPolicy
from warehouse import Warehouse, replace_partition

FloatArray = NDArray[np.float64]

EXPERIMENT = "learning"
"""What experiments.window_costs and experiments.curves call it."""
FIXED = ("SJF", "SAF", "F1", "F2", "F3", "F4", "WFP3", "UNICEP", "smallest")
"""The heuristics beside FCFS. The best of them on the held-out windows is the one to reach."""
RANDOM, LOTS = "random orders", 7
"""The mean of so many random orders of each cap (models.judging.chance), the null beside them."""


@dataclass(frozen=True)
class SeenLearning:
    """A training on held-out windows.

    goal, backfill, estimates, method: of the training. fixed: what FCFS, each heuristic and RANDOM cost, float64 (windows,). learned: the
    same of the policy that each seed keeps. curves: by seed, mean cost of the policy that would be kept after each epoch, from epoch 0 on.
    """

    goal: str
    backfill: str
    estimates: str
    method: str
    windows: Windows
    fixed: Mapping[str, FloatArray]
    learned: Mapping[int, FloatArray]
    curves: Mapping[int, list[float]]

    @cached_property
    def best_fixed(self) -> str:
        """The heuristic that costs least on these windows."""
        names = (name for name in self.fixed if name not in ("FCFS", RANDOM))
        return min(names, key=lambda name: float(self.fixed[name].mean()))

    @property
    def all_seeds(self) -> FloatArray:
        """What the kept policies cost, float64 (seeds, windows)."""
        return np.stack(list(self.learned.values()))

    def beside(self, costs: FloatArray, rival: str) -> Difference:
        """Costs, (windows,) or (seeds, windows), minus those of a heuristic on the same windows."""
        return paired_difference(costs, self.fixed[rival], self.windows, 1)

    @property
    def better_than_fcfs(self) -> list[int]:
        """The seeds whose interval of the difference from FCFS lies below 0."""
        apart = {seed: self.beside(costs, "FCFS").high for seed, costs in self.learned.items()}
        return [seed for seed, high in apart.items() if high is not None and high < 0]

    @property
    def reaching_best(self) -> list[int]:
        """The seeds whose interval of the difference from the best heuristic reaches 0."""
        apart = {seed: self.beside(costs, self.best_fixed).low for seed, costs in self.learned.items()}
        return [seed for seed, low in apart.items() if low is not None and low <= 0]


def random_costs(arena: Arena, windows: Windows) -> FloatArray:
    """What each window costs in random orders, the mean of LOTS of each cap, float64 (windows,)."""
    orders = (RandomOrder(cap_s, seed) for cap_s in CAPS_S for seed in range(LOTS))
    return np.mean([arena.costs(order.policy, windows) for order in orders], axis=0)


def seen_learning(setup: TrainingSetup, policies: list[JudgedPolicy]) -> SeenLearning:
    """What a training gave on the windows that judge, and what heuristics cost there."""
    task, windows = setup.task, setup.judging
    return SeenLearning(
        task.goal,
        task.backfill,
        task.estimates,
        policies[0].recipe.method,
        windows,
        {name: setup.arena.costs(name, windows) for name in ("FCFS", *FIXED)}
        | {RANDOM: random_costs(setup.arena, windows)},
        {policy.seed: policy.costs for policy in policies},
        {policy.seed: policy.trained.held_out for policy in policies},
    )


def store_seen(warehouse: Warehouse, source: str, seen: SeenLearning, policies: list[JudgedPolicy]) -> None:
    """Replaces what is stored of the source's training on held-out windows."""
    costs, curves = _cost_rows(source, seen), _curve_rows(seen, policies)

    def replace(connection: duckdb.DuckDBPyConnection) -> None:
        for table, rows in (("experiments.window_costs", costs), ("experiments.curves", curves)):
            others = connection.sql(
                f"SELECT * EXCLUDE (source) FROM {table} WHERE source = $source AND experiment <> $experiment",
                params={"source": source, "experiment": EXPERIMENT},
            ).pl()
            whole = pl.concat([others, rows.select(others.columns)], how="vertical_relaxed") if rows.height else others
            replace_partition(connection, table, source, whole)

    warehouse.transact(source, replace)


def read_seen(warehouse: Warehouse, source: str) -> SeenLearning | None:
    """What is stored of the source's training, None where nothing is."""
    parameters = {"source": source, "experiment": EXPERIMENT}
    with warehouse.read() as connection:
        costs = connection.sql(
            "FROM experiments.window_costs WHERE source = $source AND experiment = $experiment ORDER BY window_number",
            params=parameters,
        ).pl()
        curves = connection.sql(
            "FROM experiments.curves WHERE source = $source AND experiment = $experiment ORDER BY seed, epoch",
            params=parameters,
        ).pl()
    if costs.is_empty():
        return None
    fixed = {str(name): part for (name,), part in costs.filter(pl.col("seed").is_null()).group_by("policy")}
    learned = costs.filter(pl.col("seed").is_not_null())
    by_seed = {seed: learned.filter(seed=seed)["cost"].to_numpy() for seed in learned["seed"].unique().sort()}
    first = learned.row(0, named=True)
    any_fixed = fixed["FCFS"]
    return SeenLearning(
        first["goal"],
        first["backfill"],
        first["estimates"],
        first["policy"],
        Windows(any_fixed["first_position"].to_numpy(), first["window_jobs"]),
        {name: fixed[name]["cost"].to_numpy() for name in ("FCFS", *FIXED, RANDOM) if name in fixed},
        by_seed,
        {seed: curves.filter(seed=seed)["validation_cost"].to_list() for seed in by_seed},
    )


def _cost_rows(source: str, seen: SeenLearning) -> pl.DataFrame:
    """Rows of experiments.window_costs."""
    labels = {"experiment": EXPERIMENT, "rules": "standard", "backfill": seen.backfill, "goal": seen.goal}
    labels |= {"estimates": seen.estimates}
    policies: list[tuple[str, str | None, int | None, FloatArray]] = []
    policies += [(name, None, None, costs) for name, costs in seen.fixed.items()]
    policies += [(seen.method, source, seed, costs) for seed, costs in seen.learned.items()]
    rows = [
        labels
        | {"policy": name, "trained_on": trained_on, "seed": seed, "window_number": k, "first_position": int(first)}
        | {"window_jobs": seen.windows.jobs, "cost": float(costs[k])}
        for name, trained_on, seed, costs in policies
        for k, first in enumerate(seen.windows.first)
    ]
    return pl.DataFrame(rows, schema_overrides={"trained_on": pl.Utf8, "seed": pl.Int64}, infer_schema_length=None)


def _curve_rows(seen: SeenLearning, policies: list[JudgedPolicy]) -> pl.DataFrame:
    """Rows of experiments.curves. Before the first epoch nothing was sampled, and the cost of random weights is in both columns."""
    rows = []
    for policy in policies:
        for epoch, cost in enumerate(seen.curves[policy.seed]):
            report = policy.trained.curve[epoch - 1] if epoch else None
            rows.append(
                {"experiment": EXPERIMENT, "variant": seen.method, "seed": policy.seed, "epoch": epoch}
                | {"phase": report.phase if report else "none", "decisions": report.decisions if report else 0}
                | {"sampled_cost": report.sampled_cost if report else cost, "validation_cost": cost}
            )
    return pl.DataFrame(rows, infer_schema_length=None)
