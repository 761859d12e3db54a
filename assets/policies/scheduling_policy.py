"""The asset policies/scheduling_policy: trained networks, of which one is champion."""

from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.common.progress import progress_bar
from assets.common.storage import artefacts_folder
from assets.core.jobs import jobs
from assets.policies import plots
from assets.policies.adoption import adopt, curve_of
from assets.policies.config import (
    EvolutionConfig,
    HindsightConfig,
    ImitationConfig,
    KeyConfig,
    PPOConfig,
    TaskConfig,
    task_of,
    text_field,
)
from assets.policies.held_out import seen_learning, store_seen
from assets.policies.lessons import window_setup
from assets.policies.training import TrainingSetup
from assets.policies.trajectory_filter import trajectory_filter
from models.scheduling.learning.training import EpochReport
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import PIPELINE_PPO, PPOOptions, Recipe
from warehouse import Warehouse


def _usual(name: str) -> Any:
    """A field of PPO with the value that the pipeline trains with."""
    return Field(default=getattr(PIPELINE_PPO, name), description=PPOOptions.model_fields[name].description)


class PipelinePPOConfig(PPOConfig):
    epochs: int = _usual("epochs")
    filtered_epochs: int = _usual("filtered_epochs")
    trajectories: int = _usual("trajectories")
    siblings: int = _usual("siblings")
    policy_rate: float = _usual("policy_rate")


class SchedulingPolicyConfig(TaskConfig):
    seeds: list[int] = Field(
        default=[1, 2, 3, 4, 5], min_length=1, description="Training seeds; one policy is trained per seed"
    )
    method: str = text_field(Recipe, "method")
    start: str = text_field(Recipe, "start", default="nothing")
    cautious: bool = Field(default=True, description="Keep what it starts from unless the best epoch dominates it")
    accept_trade: bool = Field(default=False, description="Also take a policy that trades, against start and champion")
    ppo: PipelinePPOConfig = PipelinePPOConfig()
    evolution: EvolutionConfig = EvolutionConfig()
    imitation: ImitationConfig = ImitationConfig()
    hindsight: HindsightConfig = HindsightConfig()
    key: KeyConfig = KeyConfig()

    def recipe(self) -> Recipe:
        """How the policies are learned."""
        names = ("method", "start", "cautious", "accept_trade", "ppo", "evolution", "imitation", "hindsight", "key")
        return Recipe(**self.model_dump(include=set(names)))


@asset(
    "policies.scheduling_policy",
    deps=[trajectory_filter, jobs],
    table="policies.scheduling_policies",
    kinds={"pytorch", "numba"},
    least_jobs=LEAST_JOBS,
)
def scheduling_policy(
    context: dg.AssetExecutionContext, config: SchedulingPolicyConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """A kernel network per seed, trained from random weights on windows of the training part that begin on an empty cluster. Windows of
    that part choose epoch and seed. On its newest jobs, in a replay of the log, the best seed challenges the champion, and takes over only
    if it dominates beyond chance. Windows of later jobs show how the training went, beside heuristics."""

    source = context.partition_key
    setup = window_setup(warehouse, source, task_of(config))
    if len(setup.lessons.filtered) == 0:
        context.log.warning("no window lies inside the filter's range: training takes all windows from the start")
    policies = _train(context, setup, config.recipe(), config.seeds)
    rows, events, happened = adopt(warehouse, setup, policies, config.accept_trade)
    store_seen(warehouse, source, seen_learning(setup, policies), policies)
    context.log.info(happened)
    for seed in config.seeds:
        _checkpoint_of(source, seed).unlink(missing_ok=True)
    shown = ["champion", "training", "seed", "method", "validation_cost", "best_epoch", "epochs", "trained_jobs"]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "happened": happened,
            "policies": table(rows.select(shown)),
            "history": table(events.sort("event", descending=True)),
            "training": plot(plots.training_curve(curve_of(policies), goal=config.goal)),
        }
    )


def _train(
    context: dg.AssetExecutionContext, setup: TrainingSetup, recipe: Recipe, seeds: list[int]
) -> list[JudgedPolicy]:
    """A policy per seed."""
    source, policies = setup.trace.source, []
    with progress_bar(f"training {len(seeds)} policies for {source}", recipe.epochs * len(seeds)) as bar:

        def on_epoch(seed: int, report: EpochReport) -> None:
            """The page of the asset draws what is observed of it while it is being made."""
            bar.update()
            if report.validation_cost is not None:
                seen = {f"validation cost, seed {seed}": report.validation_cost, f"epoch, seed {seed}": report.epoch}
                context.log_event(dg.AssetObservation(context.asset_key, partition=source, metadata=seen))

        for policy in setup.train(recipe, seeds, on_epoch, partial(_checkpoint_of, source), side_by_side=True):
            trained = policy.trained
            policies.append(policy)
            context.log.info(f"seed {policy.seed}: best epoch {trained.best_epoch}, {trained.validation_cost:.2f}")
    return policies


def _checkpoint_of(source: str, seed: int) -> Path:
    return artefacts_folder() / "models" / source / f"policy-{seed}.checkpoint"


CHECKS = [
    row_check(
        scheduling_policy,
        "checks.one_policy_is_in_use",
        "of every kind of policy exactly one is in use, with a finite cost",
    ),
]
