"""The asset policies/scheduling_policy: trained networks, of which one is champion."""

import json
from dataclasses import asdict

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import OWNERS, SOURCES
from assets.common.progress import progress_bar
from assets.common.storage import data_folder, remove_unused_models, store_model
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
)
from assets.policies.lessons import learning_part, lessons_of
from assets.policies.registry import Trained, crown
from assets.policies.training import arena_of_task
from assets.policies.trajectory_filter import trajectory_filter
from models.scheduling.arena import Windows
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import EpochReport
from models.scheduling.options import (
    Recipe,
)
from models.scheduling.policy_file import policy_to_bytes
from warehouse import Warehouse, replace_partition


class SchedulingPolicyConfig(TaskConfig):
    seeds: list[int] = Field(
        default=[1, 2, 3], min_length=1, description="Training seeds; one policy is trained per seed"
    )
    method: str = Field(default="ppo", description="ppo, evolution or imitation")
    start: str = Field(default="saf", description="What training starts from: nothing, key, saf or best")
    cautious: bool = Field(default=True, description="Keep what it starts from unless better beyond noise")
    ppo: PPOConfig = PPOConfig()
    evolution: EvolutionConfig = EvolutionConfig()
    imitation: ImitationConfig = ImitationConfig()
    hindsight: HindsightConfig = HindsightConfig()
    key: KeyConfig = KeyConfig()
    validation_windows: int = Field(default=60, ge=1, description="Windows that choose among epochs and seeds")
    judging_windows: int = Field(default=40, ge=1, description="Newest windows that judge challenger against champion")

    def recipe(self) -> Recipe:
        names = ("method", "start", "cautious", "ppo", "evolution", "imitation", "hindsight", "key")
        return Recipe(**self.model_dump(include=set(names)))


@dg.asset(
    key=["policies", "scheduling_policy"],
    deps=[trajectory_filter, jobs],
    partitions_def=SOURCES,
    group_name="policies",
    owners=OWNERS,
    kinds={"pytorch", "numba"},
    metadata=table_metadata("policies.scheduling_policies"),
)
def scheduling_policy(
    context: dg.AssetExecutionContext, config: SchedulingPolicyConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """A kernel network per seed, trained on windows of the training part. Later windows of that part choose epoch and seed; on
    the newest of them the best seed challenges the champion, and takes over only if it is better beyond noise."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    arena, recipe = arena_of_task(trace, task_of(config)), config.recipe()
    lessons = lessons_of(warehouse, trace, test_position, config.goal, config.validation_windows)
    if len(lessons.filtered) == 0:
        context.log.warning("no window lies inside the filter's range: training takes all windows from the start")
    trained: list[Trained] = []
    curves = []
    with progress_bar(f"training {len(config.seeds)} policies for {source}", recipe.epochs * len(config.seeds)) as bar:
        for seed in config.seeds:
            unfinished = data_folder() / "models" / source / f"policy-{seed}.checkpoint"

            def on_epoch(report: "EpochReport", seed: int = seed) -> None:
                """The page of the asset draws what is observed of it while it is being made."""
                bar.update()
                if report.validation_cost is not None:
                    seen = {
                        f"validation cost, seed {seed}": report.validation_cost,
                        f"epoch, seed {seed}": report.epoch,
                    }
                    context.log_event(dg.AssetObservation(context.asset_key, partition=source, metadata=seen))

            found = learn(arena, lessons, recipe, seed, on_epoch, unfinished)
            card = {
                "seed": seed,
                "method": config.method,
                "goal": config.goal,
                "backfill": config.backfill,
                "estimates": config.estimates,
                "layout": config.ppo.layout,
                "trained_jobs": test_position,
                "epochs": recipe.epochs,
                "best_epoch": found.best_epoch,
                "validation_cost": found.validation_cost,
                "parameters": json.dumps(found.parameters),
            }
            whole_card = {"source": source, "cluster_procs": trace.cluster_procs} | card
            file, digest = store_model(source, f"policy-{seed}", policy_to_bytes(found.weights, whole_card))
            trained.append(Trained(card | {"file": file, "sha256": digest}, found.weights))
            curves += [{"seed": seed} | asdict(report) for report in found.curve]
            context.log.info(f"seed {seed}: best epoch {found.best_epoch}, {found.validation_cost:.2f}")
    middle = (learning_part(test_position) + test_position) // 2
    judged_length = max(min(lessons.windows.jobs, (test_position - middle) // 8), 1)  # eight that share no job
    judging = Windows.spread(middle, test_position, judged_length, config.judging_windows)
    rows, events, happened = crown(warehouse, source, arena, trained, judging)
    context.log.info(happened)
    curve_rows = pl.DataFrame(curves, infer_schema_length=None).with_columns(pl.col("validation_cost").cast(pl.Float64))
    with warehouse.write() as connection:
        replace_partition(connection, "policies.scheduling_policies", source, rows)
        replace_partition(connection, "policies.policy_events", source, events)
        replace_partition(connection, "policies.training_curve", source, curve_rows)
    remove_unused_models(source, "policy", rows["file"])
    for seed in config.seeds:
        (data_folder() / "models" / source / f"policy-{seed}.checkpoint").unlink(missing_ok=True)
    shown = ["champion", "training", "seed", "method", "validation_cost", "best_epoch", "epochs", "trained_jobs"]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "happened": happened,
            "policies": table(rows.select(shown)),
            "history": table(events.sort("event", descending=True)),
            "training": plot(plots.training_curve(curve_rows, goal=config.goal)),
        }
    )
