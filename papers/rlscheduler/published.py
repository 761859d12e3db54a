"""The asset experiments/published: the tables of RLScheduler's paper."""

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import table
from assets.common.trace import load_trace
from assets.core.jobs import jobs
from assets.policies.config import EvolutionConfig, PPOConfig, text_field
from assets.policies.training import PolicyTask, TrainingSetup
from models.scheduling.options import Recipe
from models.scheduling.search.priority_key import search_key
from papers.experiment_agents import LearningConfig
from papers.experiment_tables import ExperimentEntry, comparisons, costs_of, trained_entries, write_results
from papers.rlscheduler.ten_windows import PUBLISHED_HEURISTICS, PUBLISHED_JOBS, published_split
from warehouse import Warehouse


class PublishedConfig(LearningConfig):
    methods: list[str] = Field(default=["ppo", "evolution"], description="Ways of training")
    ppo: PPOConfig = PPOConfig(layout="informed", trajectories=128)
    evolution: EvolutionConfig = EvolutionConfig(windows=24)
    start: str = text_field(Recipe, "start", default="key")
    cautious: bool = Field(
        default=False, description="Keep what it starts from unless the policy is significantly better"
    )
    seen: bool = Field(
        default=False,
        description="Whether policies may learn from all 10,000 jobs, as in the paper, or not from those that judge",
    )
    goals: list[str] = Field(
        default=["bsld", "utilisation_as_coded", "slowdown", "wait", "bsld:max_user"],
        description="Tables V, VI, X, XI, VIII",
    )
    backfills: list[str] = Field(default=["none", "easy"], description="Without and with that code's backfilling")
    training_window_jobs: int = Field(default=256, ge=32, description="Jobs in a window of training")


@asset("experiments.published", deps=[jobs], table="experiments.comparisons", kinds={"pytorch", "numba"})
def published(
    context: dg.AssetExecutionContext, config: PublishedConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """RLScheduler's tables V, VI, VIII, X and XI: its replay rules and its ten windows of the first 10,000 jobs. These jobs are kept
    from training and choosing unless `seen`."""

    source = context.partition_key
    trace = load_trace(warehouse, source)
    if trace.rows.height < PUBLISHED_JOBS:
        raise ValueError(
            f"source {source!r} has {trace.rows.height} jobs, and the published windows need {PUBLISHED_JOBS}"
        )
    split = published_split(trace.rows.height, config.training_window_jobs, config.seen)
    ten, experiment = split.judge, "published_seen" if config.seen else "published"
    all_costs, all_differences, all_policies = [], [], []
    for goal in config.goals:
        for backfill in config.backfills:
            task = PolicyTask(goal, backfill, "requested", "rlscheduler", config.training_window_jobs)
            setup = TrainingSetup.on_split(trace, task, split)
            arena = setup.arena
            entries = [
                ExperimentEntry(name, "requested", None, None, arena.costs(name, ten)) for name in PUBLISHED_HEURISTICS
            ]
            few = split.learn.thinned(config.key.windows)
            for seed in config.seeds:
                key = search_key(arena, few, config.key, seed).best
                entries.append(ExperimentEntry("key", "requested", source, seed, arena.costs(key.policy, ten)))
            recipes = [config.recipe(method, "plain") for method in config.methods]
            learned, policies = trained_entries(context, setup, experiment, recipes, config.seeds)
            labels = {"experiment": experiment, "rules": "rlscheduler", "backfill": backfill, "goal": goal}
            all_costs.append(costs_of(entries + learned, ten, labels))
            all_differences.append(comparisons(entries + learned, ten, labels))
            all_policies += policies
    differences = pl.concat(all_differences)
    write_results(warehouse, source, experiment, pl.concat(all_costs), differences, all_policies)
    return dg.MaterializeResult(metadata={"dagster/row_count": len(all_costs), "comparisons": table(differences)})
