"""The asset experiments/held_out: policies on jobs later than everything that was learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.describe import table
from assets.common.parts import asset_of_parts
from assets.common.storage import read_model
from assets.common.trace import Trace, load_trace
from assets.core.jobs import jobs
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task, split_of
from assets.policies.verdicts import BOUNDED_KEY, JudgedRule
from assets.predictions.runtime_predictions import runtime_predictions
from models.scheduling.arena import Arena
from models.scheduling.learning.training_run import Split
from models.scheduling.policy_file import policy_from_bytes
from models.scheduling.search.priority_key import search_guarded_key, searched_jobs
from papers.experiment_agents import LearningConfig
from papers.experiment_tables import (
    ExperimentEntry,
    comparisons,
    costs_of,
    trained_entries,
    verdicts_on,
    write_results,
)
from warehouse import Warehouse

KEY, ESTIMATES = "key", ("requested", "predicted")
_HEURISTICS = (*((name, "requested") for name in ("FCFS", "SJF", "F1", "SAF")), ("SAF", "predicted"))


class HeldOutConfig(LearningConfig):
    goal: str = Field(default="bsld", description="What is made small")
    backfill: str = Field(default="easy", description="Backfilling rule")
    training_window_jobs: int = Field(default=512, ge=32, description="Jobs in a window of training")


@dataclass(frozen=True)
class _Ground:
    """What all policies of the experiment have in common. tasks, arenas: by the estimates that the scheduler uses."""

    split: Split
    tasks: dict[str, PolicyTask]
    arenas: dict[str, Arena]

    @classmethod
    def of(cls, trace: Trace, config: HeldOutConfig) -> _Ground:
        window_jobs = config.training_window_jobs
        tasks = {name: PolicyTask(config.goal, config.backfill, name, window_jobs=window_jobs) for name in ESTIMATES}
        arenas = {estimates: arena_of_task(trace, task) for estimates, task in tasks.items()}
        return cls(split_of(trace, window_jobs), tasks, arenas)

    @property
    def nearer_estimates(self) -> str:
        """Those that were nearer to the truth before anything is judged. Learned policies use them."""
        errors = {
            name: np.abs(arena.jobs.estimate - arena.jobs.runtime)[: self.split.trained_jobs].mean()
            for name, arena in self.arenas.items()
        }
        return min(errors, key=errors.__getitem__)


def _searched_and_learned(config: HeldOutConfig) -> list[tuple[str, str | None, int]]:
    """What has to be searched or learned: (the key or a way of learning, estimates of a key, seed), one for each part."""
    keys: list[tuple[str, str | None, int]] = [(KEY, name, seed) for name in ESTIMATES for seed in config.seeds]
    return keys + [(method, None, seed) for method in config.methods for seed in config.seeds]


def number_of_policies(config: HeldOutConfig, warehouse: Warehouse, source: str) -> int:
    """How many policies are searched or learned."""
    return len(_searched_and_learned(config))


def one_policy(
    context: dg.OpExecutionContext, config: HeldOutConfig, warehouse: Warehouse, number: int
) -> pl.DataFrame:
    """Searches a key, or learns a policy and keeps its file. Returns one row: policy, estimates, seed, the formula of a key, the row of
    experiments.policies of a learned policy, and costs on the judging windows."""
    trace = load_trace(warehouse, context.partition_key)
    method, estimates, seed = _searched_and_learned(config)[number]
    ground = _Ground.of(trace, config)
    formula, stored = None, None
    if estimates is not None:
        arena, scored = ground.arenas[estimates], searched_jobs(ground.split.trained_jobs)
        key = search_guarded_key(arena, scored, config.key, seed).best
        formula, costs = key.formula, arena.costs(key.policy, ground.split.judge)
    else:
        estimates = ground.nearer_estimates
        context.log.info(f"learned policies replay with {estimates} run times")
        setup = TrainingSetup.on_split(trace, ground.tasks[estimates], ground.split)
        (entry,), (stored,) = trained_entries(context, setup, "held_out", [config.recipe(method)], [seed])
        costs = entry.costs
    row = {"policy": method, "estimates": estimates, "seed": seed, "formula": formula, "stored": stored}
    return pl.DataFrame([row | {"costs": costs.tolist()}], schema_overrides={"formula": pl.Utf8})


@asset_of_parts(
    "experiments.held_out",
    deps=[jobs, runtime_predictions],
    count=number_of_policies,
    part=one_policy,
    table="experiments.comparisons",
    kinds={"pytorch", "numba"},
)
def held_out(
    context: dg.OpExecutionContext, config: HeldOutConfig, warehouse: Warehouse, parts: list[pl.DataFrame]
) -> dg.MaterializeResult:
    """Heuristics, the tuned key and three ways of learning, on the jobs of one continuous replay that are later than everything
    that was learned from or chosen by; textbook rules."""

    source = context.partition_key
    trace = load_trace(warehouse, source)
    ground = _Ground.of(trace, config)
    judge = ground.split.judge
    entries = [
        ExperimentEntry(name, estimates, None, None, ground.arenas[estimates].costs(name, judge), rule)
        for name, estimates in _HEURISTICS
        for rule in [JudgedRule(name, name, config.backfill, estimates)]
    ]
    made = [row for part in parts for row in part.iter_rows(named=True)]
    entries += [_entry(row, source, config.backfill) for row in made]
    policies = [row["stored"] for row in made if row["stored"] is not None]
    labels = {"experiment": "held_out", "rules": "standard", "backfill": config.backfill, "goal": config.goal}
    rows, differences = costs_of(entries, judge, labels), comparisons(entries, judge, labels)
    shortest = [JudgedRule("EASY-SJBF", "FCFS", "easy-sjbf", estimates) for estimates in ESTIMATES]
    labels = {"experiment": "held_out", "goal": config.goal}
    verdicts = verdicts_on(trace, entries, [*shortest, BOUNDED_KEY], judge.scored, labels)
    write_results(warehouse, source, "held_out", rows, differences, policies, verdicts)
    shown = verdicts.select("policy", "estimates", "seed", "average_bounded_slowdown", "average_wait_s", "verdict")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "verdicts": table(shown),
            "comparisons": table(differences),
        }
    )


def _entry(row: dict[str, Any], source: str, backfill: str) -> ExperimentEntry:
    """A key or a learned policy of a part, on the judging windows."""
    policy, estimates, stored = row["policy"], row["estimates"], row["stored"]
    if stored is None:
        rule = JudgedRule(KEY, row["formula"], backfill, estimates)
    else:
        weights, _ = policy_from_bytes(read_model(stored["file"], stored["sha256"]))
        rule = JudgedRule(policy, "learned", backfill, estimates, weights=weights)
    return ExperimentEntry(policy, estimates, source, row["seed"], np.array(row["costs"]), rule)
