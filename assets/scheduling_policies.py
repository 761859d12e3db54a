"""Stage 4: trajectory filter, priority key -> trained scheduling policies, of which one is champion."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.describe import plot, table, table_metadata
from assets.ingest import jobs
from assets.partitions import OWNERS, SOURCES
from assets.policy_registry import Trained, crown
from assets.policy_training import Task, arena_of_task
from assets.progress import progress_bar
from assets.runtime_prediction import runtime_predictions
from assets.storage import data_folder, remove_unused_models, store_model
from assets.trace import Trace, load_trained_trace
from models.scheduling.options import (
    EvolutionOptions,
    HindsightOptions,
    ImitationOptions,
    KeySearchOptions,
    PPOOptions,
    Recipe,
)
from warehouse import Warehouse, replace_partition

if TYPE_CHECKING:
    from models.scheduling.training import EpochReport, Lessons

VALIDATION_SHARE = 0.2
"""Last share of the training part that is kept from learning: its first half chooses among epochs and seeds, its second half, the
newest, judges whether a challenger is better than the champion."""


def learning_part(test_position: int) -> int:
    """Jobs before this position are learned from."""
    return int(test_position * (1 - VALIDATION_SHARE))


class TaskConfig(dg.Config):
    """What policies are trained for; the three assets below must be told the same."""

    goal: str = Field(
        default="bsld", description="What to make small: bsld, wait, 0.7*bsld + 0.001*wait, bsld:max_user, ..."
    )
    backfill: str = Field(default="easy", description="Backfilling: none, easy or easy-sjbf")
    estimates: str = Field(
        default="predicted", description="Run times the scheduler believes: requested, predicted, ..."
    )


class TrajectoryFilterConfig(TaskConfig):
    window_jobs: int = Field(default=256, ge=8, description="Consecutive jobs in a window; fewer on a short trace")
    sampled_windows: int = Field(default=2000, ge=1, description="Windows that SJF is replayed on")
    seed: int = Field(default=1, ge=0, description="Seed of the choice of windows")


class KeyConfig(dg.Config, KeySearchOptions):
    pass


class PriorityKeyConfig(TaskConfig):
    search: KeyConfig = KeyConfig()
    seed: int = Field(default=1, ge=0, description="Seed of the search")


class PPOConfig(dg.Config, PPOOptions):
    pass


class EvolutionConfig(dg.Config, EvolutionOptions):
    pass


class ImitationConfig(dg.Config, ImitationOptions):
    pass


class HindsightConfig(dg.Config, HindsightOptions):
    pass


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


def task_of(config: TaskConfig) -> Task:
    return Task(config.goal, config.backfill, config.estimates)


@dg.asset(
    key=["policies", "trajectory_filter"],
    deps=[runtime_predictions, jobs],
    partitions_def=SOURCES,
    group_name="scheduling_policies",
    owners=OWNERS,
    kinds={"numba", "duckdb"},
    metadata=table_metadata("policies.trajectory_windows"),
)
def trajectory_filter(
    context: dg.AssetExecutionContext, config: TrajectoryFilterConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Which windows are worth learning from: SJF is replayed on windows of the training part, and training can start on
    those between the median and twice the mean of its cost."""
    from assets import plots
    from models.scheduling.trajectory_filter import filter_trajectories, sample_positions

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    learning = learning_part(test_position)
    # a short trace gets shorter windows, so that validation and judging still have a few to themselves
    length = min(config.window_jobs, learning // 2, max((test_position - learning) // 8, 8))
    if length < config.window_jobs:
        context.log.warning(f"only {learning} jobs to learn from: windows of {length} jobs, not {config.window_jobs}")
    sampled = sample_positions(0, learning, length, config.sampled_windows, np.random.default_rng(config.seed))
    found = filter_trajectories(arena_of_task(trace, task_of(config)), sampled)
    windows = pl.DataFrame(
        {
            "first_position": sampled.first,
            "jobs": np.full(len(sampled), length),
            "sjf_cost": found.score,
            "kept": found.kept,
        }
    )
    ranges = pl.DataFrame(
        {
            "goal": [config.goal],
            "windows": [windows.height],
            "kept": [int(found.kept.sum())],
            "median_cost": [found.median],
            "mean_cost": [found.mean],
            "skewness": [found.skewness],
            "high_cost": [found.high],
        }
    )
    with warehouse.write() as connection:
        replace_partition(connection, "policies.trajectory_windows", source, windows)
        replace_partition(connection, "policies.trajectory_ranges", source, ranges)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": windows.height,
            "range": table(ranges),
            "distribution": plot(plots.trajectory_distribution(found.score, found.low, found.high, config.goal)),
        }
    )


@dg.asset(
    key=["policies", "priority_key"],
    deps=[trajectory_filter, jobs],
    partitions_def=SOURCES,
    group_name="scheduling_policies",
    owners=OWNERS,
    kinds={"numba", "duckdb"},
    metadata=table_metadata("policies.priority_keys"),
)
def priority_key(
    context: dg.AssetExecutionContext, config: PriorityKeyConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """The best order of the form submit + c * estimate^a * procs^b on windows of the training part, found by random search
    and CMA-ES: a learned policy that loses to it is not worth deploying."""
    from models.scheduling.priority_key import search_key

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    lessons = _lessons(warehouse, trace, test_position, config.goal, 1)
    windows = lessons.windows.some(np.random.default_rng(config.seed), config.search.windows)
    with progress_bar(f"searching a key for {source}", config.search.random_keys + config.search.steps) as bar:
        found = search_key(arena_of_task(trace, task_of(config)), windows, config.search, config.seed, bar.update)
    best = found.best
    rows = pl.DataFrame(
        [
            {"goal": config.goal, "estimates": config.estimates, "formula": best.formula}
            | {"log_c": best.log_c, "a": best.a, "b": best.b, "cost": found.cost}
            | {"keys_tried": len(found.tried), "trained_jobs": test_position}
        ]
    )
    with warehouse.write() as connection:
        replace_partition(connection, "policies.priority_keys", source, rows)
    return dg.MaterializeResult(metadata={"dagster/row_count": 1, "key": table(rows)})


@dg.asset(
    key=["policies", "scheduling_policy"],
    deps=[trajectory_filter, jobs],
    partitions_def=SOURCES,
    group_name="scheduling_policies",
    owners=OWNERS,
    kinds={"pytorch", "numba"},
    metadata=table_metadata("policies.scheduling_policies"),
)
def scheduling_policy(
    context: dg.AssetExecutionContext, config: SchedulingPolicyConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """A kernel network per seed, trained on windows of the training part. Later windows of that part choose epoch and seed; on
    the newest of them the best seed challenges the champion, and takes over only if it is better beyond noise."""
    from assets import plots
    from models.scheduling.arena import Windows
    from models.scheduling.policy_file import policy_to_bytes
    from models.scheduling.recipes import learn

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    arena, recipe = arena_of_task(trace, task_of(config)), config.recipe()
    lessons = _lessons(warehouse, trace, test_position, config.goal, config.validation_windows)
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


def _lessons(warehouse: Warehouse, trace: Trace, test_position: int, goal: str, validation_windows: int) -> "Lessons":
    """The windows of the trajectory filter and those that choose. Raises ValueError where they do not fit the trace or goal."""
    from models.scheduling.arena import Windows
    from models.scheduling.training import Lessons

    source = trace.source
    with warehouse.read() as connection:
        windows = connection.sql(
            "SELECT first_position, jobs, kept FROM policies.trajectory_windows WHERE source = $source ORDER BY 1",
            params={"source": source},
        ).pl()
        filtered_for = connection.execute(
            "SELECT goal FROM policies.trajectory_ranges WHERE source = ?", [source]
        ).fetchone()
    if windows.is_empty() or filtered_for is None:
        raise ValueError(f"source {source!r} has no trajectory filter: materialize policies/trajectory_filter first")
    if filtered_for[0] != goal:
        raise ValueError(
            f"source {source!r}: the trajectory filter was made for the goal {filtered_for[0]!r}, not {goal!r}: materialize "
            "policies/trajectory_filter with the same goal"
        )
    length, learning = int(windows["jobs"][0]), learning_part(test_position)
    first = windows["first_position"].to_numpy()
    middle = (learning + test_position) // 2
    if first.max() + length > learning or middle - length < learning:
        raise ValueError(
            f"source {source!r}: the trajectory filter was made for another split of the trace, its windows reach into "
            "jobs kept for choosing or testing: materialize policies/trajectory_filter again"
        )
    return Lessons(
        Windows(first, length),
        Windows(first[windows["kept"].to_numpy()], length),
        Windows.spread(learning, middle, max(min(length, (middle - learning) // 5), 1), validation_windows),
    )
