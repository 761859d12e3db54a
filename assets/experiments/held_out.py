"""The asset experiments/held_out: policies on jobs later than everything that was learned from."""

import dagster as dg
import numpy as np
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import table, table_metadata
from assets.common.partitions import SOURCES
from assets.common.trace import load_trace
from assets.experiments.config import LearningConfig
from assets.experiments.tables import (
    ExperimentEntry,
    comparisons,
    costs_of,
    trained_entries,
    verdicts_on,
    write_results,
)
from assets.ingest.core_jobs import jobs
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task, split_of
from assets.policies.verdicts import BOUNDED_KEY, JudgedRule
from assets.predictions.runtime_predictions import runtime_predictions
from models.scheduling.priority_key import search_guarded_key, searched_jobs
from warehouse import Warehouse


class HeldOutConfig(LearningConfig):
    goal: str = Field(default="bsld", description="What is made small")
    backfill: str = Field(default="easy", description="Backfilling rule")
    training_window_jobs: int = Field(default=512, ge=32, description="Jobs in a window of training")


@asset(
    key=["experiments", "held_out"],
    deps=[jobs, runtime_predictions],
    partitions_def=SOURCES,
    group_name="experiments",
    kinds={"pytorch", "numba"},
    metadata=table_metadata("experiments.comparisons"),
)
def held_out(
    context: dg.AssetExecutionContext, config: HeldOutConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Heuristics, the tuned key and three ways of learning, on the jobs of one continuous replay that are later than everything
    that was learned from or chosen by; textbook rules."""

    source = context.partition_key
    trace = load_trace(warehouse, source)
    split = split_of(trace, config.training_window_jobs)
    tasks = {
        estimates: PolicyTask(config.goal, config.backfill, estimates, window_jobs=config.training_window_jobs)
        for estimates in ("requested", "predicted")
    }
    arenas = {estimates: arena_of_task(trace, task) for estimates, task in tasks.items()}
    heuristics = [(name, "requested") for name in ("FCFS", "SJF", "F1", "SAF")] + [("SAF", "predicted")]
    entries = [
        ExperimentEntry(name, estimates, None, None, arenas[estimates].costs(name, split.judge), rule)
        for name, estimates in heuristics
        for rule in [JudgedRule(name, name, config.backfill, estimates)]
    ]
    for estimates, arena in arenas.items():
        for seed in config.seeds:
            key = search_guarded_key(arena, searched_jobs(split.trained_jobs), config.key, seed).best
            rule, costs = (
                JudgedRule("key", key.formula, config.backfill, estimates),
                arena.costs(key.policy, split.judge),
            )
            entries.append(ExperimentEntry("key", estimates, source, seed, costs, rule))
    # learned policies use what was nearer to the truth before anything is judged
    errors = {
        name: np.abs(arena.jobs.estimate - arena.jobs.runtime)[: split.trained_jobs].mean()
        for name, arena in arenas.items()
    }
    chosen = min(errors, key=errors.__getitem__)
    context.log.info(f"learned policies replay with {chosen} run times")
    setup = TrainingSetup.on_split(trace, tasks[chosen], split)
    recipes = [config.recipe(method) for method in config.methods]
    learned, policies = trained_entries(context, setup, "held_out", recipes, config.seeds)
    entries += learned
    labels = {"experiment": "held_out", "rules": "standard", "backfill": config.backfill, "goal": config.goal}
    rows, differences = costs_of(entries, split.judge, labels), comparisons(entries, split.judge, labels)
    shortest = [JudgedRule("EASY-SJBF", "FCFS", "easy-sjbf", estimates) for estimates in arenas]
    labels = {"experiment": "held_out", "goal": config.goal}
    verdicts = verdicts_on(trace, entries, [*shortest, BOUNDED_KEY], split.judge.scored, labels)
    write_results(warehouse, source, "held_out", rows, differences, policies, verdicts)
    shown = verdicts.select("policy", "estimates", "seed", "average_bounded_slowdown", "average_wait_s", "verdict")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "verdicts": table(shown),
            "comparisons": table(differences),
        }
    )
