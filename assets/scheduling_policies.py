"""Stage 4: trajectory filter -> trained scheduling policy."""

import json

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.describe import plot, table, table_metadata
from assets.ingest import jobs
from assets.partitions import OWNERS, SOURCES
from assets.progress import progress_bar
from assets.runtime_prediction import runtime_predictions
from assets.storage import remove_unused_models, store_model
from assets.trace import load_trained_trace
from models.ppo import PPOOptions
from warehouse import Warehouse, replace_partition

VALIDATION_SHARE = 0.2
"""Last share of the training part that is kept for choosing among epochs and seeds, not for learning."""


def learning_part(test_position: int) -> int:
    """Jobs before this position are learned from; those from here to the test position choose epoch and seed."""
    return int(test_position * (1 - VALIDATION_SHARE))


class TrajectoryFilterConfig(dg.Config):
    window_jobs: int = Field(default=256, ge=8, description="Consecutive jobs in a window; fewer on a short trace")
    sampled_windows: int = Field(default=2000, ge=1, description="Windows that SJF is replayed on")
    seed: int = Field(default=1, ge=0, description="Seed of the choice of windows")


class SchedulingPolicyConfig(dg.Config, PPOOptions):
    seeds: list[int] = Field(
        default=[1, 2, 3], min_length=1, description="Training seeds; one policy is trained per seed"
    )
    validation_windows: int = Field(default=24, ge=1, description="Windows that choose among epochs and seeds")


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
    """Which windows are worth learning from: SJF is replayed on windows of the training part, and training starts on
    those between the median and twice the mean of its bounded slowdown."""
    from assets import plots
    from models.trajectory_filter import filter_trajectories

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    learning = learning_part(test_position)
    # a short trace gets shorter windows, so that validation still has a few to itself
    length = min(config.window_jobs, learning // 2, (test_position - learning) // 4)
    if length < config.window_jobs:
        context.log.warning(f"only {learning} jobs to learn from: windows of {length} jobs, not {config.window_jobs}")
    found = filter_trajectories(
        trace.jobs().window(0, learning), trace.cluster_procs, length, config.sampled_windows, config.seed
    )
    windows = pl.DataFrame(
        {
            "first_position": found.first_position,
            "jobs": np.full(len(found.score), length),
            "sjf_bounded_slowdown": found.score,
            "kept": found.kept,
        }
    )
    ranges = pl.DataFrame(
        {
            "windows": [windows.height],
            "kept": [int(found.kept.sum())],
            "median_bounded_slowdown": [found.median],
            "mean_bounded_slowdown": [found.mean],
            "skewness": [found.skewness],
            "high_bounded_slowdown": [found.high],
        }
    )
    with warehouse.write() as connection:
        replace_partition(connection, "policies.trajectory_windows", source, windows)
        replace_partition(connection, "policies.trajectory_ranges", source, ranges)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": windows.height,
            "range": table(ranges),
            "distribution": plot(plots.trajectory_distribution(found.score, found.low, found.high)),
        }
    )


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
    """A kernel network per seed, trained with PPO on windows of the training part to lower the average bounded slowdown
    under EASY backfilling with requested times. Validation windows, also from the training part, choose epoch and seed."""
    from dataclasses import asdict

    from assets import plots
    from models.ppo import train
    from models.scheduling_policy import policy_to_bytes

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    with warehouse.read() as connection:
        windows = connection.sql(
            "SELECT first_position, jobs, kept FROM policies.trajectory_windows WHERE source = $source ORDER BY 1",
            params={"source": source},
        ).pl()
    if windows.is_empty():
        raise ValueError(f"source {source!r} has no trajectory filter: materialize policies/trajectory_filter first")
    replayable, length = trace.jobs(), int(windows["jobs"][0])
    learning, last = learning_part(test_position), test_position - length
    if windows["first_position"].to_numpy().max() + length > learning or last < learning:
        raise ValueError(
            f"source {source!r}: the trajectory filter was made for another split of the trace, its windows reach into "
            "jobs kept for choosing or testing: materialize policies/trajectory_filter again"
        )
    validation_first = np.unique(np.linspace(learning, last, config.validation_windows).astype(np.int64))
    validation = [replayable.window(int(position), length) for position in validation_first]
    everything = windows["first_position"].to_numpy()
    kept = windows.filter("kept")["first_position"].to_numpy()
    if len(kept) == 0:
        context.log.warning("no window lies inside the filter's range: training takes all windows from the start")
    options = PPOOptions(**config.model_dump(include=set(PPOOptions.model_fields)))

    cards, curves = [], []
    with progress_bar(f"training {len(config.seeds)} policies for {source}", config.epochs * len(config.seeds)) as bar:
        for seed in config.seeds:
            trained = train(
                replayable,
                trace.cluster_procs,
                everything,
                kept,
                validation,
                length,
                options,
                seed,
                lambda _: bar.update(),
            )
            card = {
                "seed": seed,
                "goal": "average_bounded_slowdown",
                "backfill": "easy",
                "trained_jobs": test_position,
                "epochs": config.epochs,
                "best_epoch": trained.best_epoch,
                "validation_bounded_slowdown": trained.validation_bounded_slowdown,
                "parameters": json.dumps(trained.parameters),
            }
            whole_card = {"source": source, "cluster_procs": trace.cluster_procs} | card
            file, digest = store_model(source, f"policy-{seed}", policy_to_bytes(trained.weights, whole_card))
            cards.append(card | {"file": file, "sha256": digest})
            curves += [{"seed": seed} | asdict(report) for report in trained.curve]
            context.log.info(f"seed {seed}: best epoch {trained.best_epoch}, {trained.validation_bounded_slowdown:.2f}")
    best = min(card["validation_bounded_slowdown"] for card in cards)  # type: ignore[type-var]
    card_rows = pl.DataFrame(cards).with_columns(chosen=pl.col("validation_bounded_slowdown") == best)
    card_rows = card_rows.with_columns(chosen=pl.col("chosen") & (pl.col("chosen").cum_sum() == 1))
    curve_rows = pl.DataFrame(curves)
    with warehouse.write() as connection:
        replace_partition(connection, "policies.scheduling_policies", source, card_rows)
        replace_partition(connection, "policies.training_curve", source, curve_rows)
    remove_unused_models(source, "policy", card_rows["file"])
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": card_rows.height,
            "policies": table(
                card_rows.select(
                    "chosen", "seed", "validation_bounded_slowdown", "best_epoch", "epochs", "trained_jobs"
                )
            ),
            "training": plot(plots.training_curve(curve_rows)),
        }
    )
