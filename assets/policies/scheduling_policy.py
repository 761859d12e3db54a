"""The asset policies/scheduling_policy: trained networks, of which one is champion."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import LEAST_JOBS, asset
from assets.common.checks import row_check
from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import SOURCES
from assets.common.progress import progress_bar
from assets.common.storage import artefacts_folder, remove_unused_models
from assets.common.trace import load_trained_trace
from assets.ingest.core_jobs import jobs
from assets.policies import plots
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
from assets.policies.lessons import judged_jobs, lessons_of
from assets.policies.registry import POLICY_COLUMNS, Candidate, promote
from assets.policies.training import TrainingSetup, arena_of_task, store_policy
from assets.policies.trajectory_filter import trajectory_filter
from models.scheduling.learning.training import EpochReport
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import Recipe
from warehouse import Warehouse

NIGHTLY_CARD = ("source", "cluster_procs", *POLICY_COLUMNS)
"""What the file of a nightly policy says of itself."""


class SchedulingPolicyConfig(TaskConfig):
    seeds: list[int] = Field(
        default=[1, 2, 3], min_length=1, description="Training seeds; one policy is trained per seed"
    )
    method: str = text_field(Recipe, "method")
    start: str = text_field(Recipe, "start")
    cautious: bool = Field(default=True, description="Keep what it starts from unless the best epoch dominates it")
    accept_trade: bool = Field(default=False, description="Also take a policy that trades, against start and champion")
    ppo: PPOConfig = PPOConfig()
    evolution: EvolutionConfig = EvolutionConfig()
    imitation: ImitationConfig = ImitationConfig()
    hindsight: HindsightConfig = HindsightConfig()
    key: KeyConfig = KeyConfig()

    def recipe(self) -> Recipe:
        """How the policies are learned."""
        names = ("method", "start", "cautious", "accept_trade", "ppo", "evolution", "imitation", "hindsight", "key")
        return Recipe(**self.model_dump(include=set(names)))


@asset(
    key=["policies", "scheduling_policy"],
    deps=[trajectory_filter, jobs],
    partitions_def=SOURCES,
    group_name="policies",
    kinds={"pytorch", "numba"},
    metadata=table_metadata("policies.scheduling_policies"),
    least_jobs=LEAST_JOBS,
)
def scheduling_policy(
    context: dg.AssetExecutionContext, config: SchedulingPolicyConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """A kernel network per seed, trained on windows of the training part. Later jobs of that part choose epoch and seed; on the
    newest jobs of that part the best seed challenges the champion, and takes over only if it dominates beyond chance."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    task, recipe = task_of(config), config.recipe()
    arena = arena_of_task(trace, task)
    lessons = lessons_of(warehouse, trace, test_position, config.goal)
    assert lessons.confirming is not None
    setup = TrainingSetup(trace, task, arena, lessons, lessons.confirming, test_position)
    if len(lessons.filtered) == 0:
        context.log.warning("no window lies inside the filter's range: training takes all windows from the start")
    candidates, curve = _train(context, setup, recipe, config.seeds)
    judged = judged_jobs(test_position)
    rows, events, happened = promote(warehouse, source, arena, candidates, judged, curve, config.accept_trade)
    context.log.info(happened)
    remove_unused_models(source, "policy", rows["file"])
    for seed in config.seeds:
        _checkpoint_of(source, seed).unlink(missing_ok=True)
    shown = ["champion", "training", "seed", "method", "validation_cost", "best_epoch", "epochs", "trained_jobs"]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "happened": happened,
            "policies": table(rows.select(shown)),
            "history": table(events.sort("event", descending=True)),
            "training": plot(plots.training_curve(curve, goal=config.goal)),
        }
    )


def _train(
    context: dg.AssetExecutionContext, setup: TrainingSetup, recipe: Recipe, seeds: list[int]
) -> tuple[list[Candidate], pl.DataFrame]:
    """Trains and stores a policy per seed. Returns them, and rows of policies.training_curve."""
    source = setup.trace.source
    candidates, curve = [], []
    with progress_bar(f"training {len(seeds)} policies for {source}", recipe.epochs * len(seeds)) as bar:

        def on_epoch(seed: int, report: EpochReport) -> None:
            """The page of the asset draws what is observed of it while it is being made."""
            bar.update()
            if report.validation_cost is not None:
                seen = {f"validation cost, seed {seed}": report.validation_cost, f"epoch, seed {seed}": report.epoch}
                context.log_event(dg.AssetObservation(context.asset_key, partition=source, metadata=seen))

        for policy in setup.train(recipe, seeds, on_epoch, partial(_checkpoint_of, source)):
            seed, trained = policy.seed, policy.trained
            candidates.append(candidate_of(setup, policy, f"policy-{seed}"))
            curve += [{"seed": seed} | asdict(report) for report in trained.curve]
            context.log.info(f"seed {seed}: best epoch {trained.best_epoch}, {trained.validation_cost:.2f}")
    rows = pl.DataFrame(curve, infer_schema_length=None)
    return candidates, rows.with_columns(pl.col("validation_cost").cast(pl.Float64))


def candidate_of(setup: TrainingSetup, policy: JudgedPolicy, name: str) -> Candidate:
    """A trained policy, stored as a file of this name, that can challenge the champion."""
    trained = policy.trained
    card = setup.card(policy, NIGHTLY_CARD, parameters=json.dumps(trained.parameters))
    row = {column: card[column] for column in POLICY_COLUMNS}
    return Candidate(row | store_policy(setup.trace.source, name, trained.weights, card), trained.weights)


def _checkpoint_of(source: str, seed: int) -> Path:
    return artefacts_folder() / "models" / source / f"policy-{seed}.checkpoint"


CHECKS = [
    row_check(
        scheduling_policy,
        "checks.one_policy_is_in_use",
        "of every kind of policy exactly one is in use, with a finite cost",
    ),
]
