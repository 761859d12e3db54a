"""The asset policies/trajectory_filter: which windows are worth learning from."""

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.common.trace import load_trained_trace
from assets.core.jobs import jobs
from assets.policies import plots
from assets.policies.config import TaskConfig, task_of
from assets.policies.lessons import check_training
from assets.policies.training import arena_of_task, split_of
from assets.predictions.runtime_predictions import runtime_predictions
from models.scheduling.trajectory_filter import filter_trajectories, sample_positions
from warehouse import Warehouse, replace_partitions


class TrajectoryFilterConfig(TaskConfig):
    window_jobs: int = Field(default=256, ge=8, description="Consecutive jobs in a window; fewer on a short trace")
    sampled_windows: int = Field(default=2000, ge=1, description="Windows that SJF is replayed on")
    seed: int = Field(default=1, ge=0, description="Seed of the choice of windows")


@asset(
    "policies.trajectory_filter",
    deps=[runtime_predictions, jobs],
    table="policies.trajectory_windows",
    kinds={"numba", "duckdb"},
    least_jobs=LEAST_JOBS,
)
def trajectory_filter(
    context: dg.AssetExecutionContext, config: TrajectoryFilterConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Which windows are worth learning from: SJF is replayed on windows of the training part, and training can start on
    those between the median and twice the mean of its cost."""

    source = context.partition_key
    trace, _ = load_trained_trace(warehouse, source)
    check_training(warehouse, trace)
    split = split_of(trace, config.window_jobs, 0)
    learning = split.learn.scored.stop
    # a short trace gets shorter windows, so that validation and judging still have a few to themselves
    length = min(split.learn.jobs, max((split.trained_jobs - learning) // 8, 8))
    if 2 * length < config.window_jobs:
        context.log.warning(f"only {learning} jobs to learn from: windows of {length} jobs, not {config.window_jobs}")
    sampled = sample_positions(0, learning, length, config.sampled_windows, np.random.default_rng(config.seed))
    kept = filter_trajectories(arena_of_task(trace, task_of(config)), sampled)
    windows = pl.DataFrame(
        {
            "first_position": sampled.first,
            "jobs": np.full(len(sampled), length),
            "sjf_cost": kept.score,
            "kept": kept.kept,
        }
    )
    ranges = pl.DataFrame(
        {
            "goal": [config.goal],
            "windows": [windows.height],
            "kept": [int(kept.kept.sum())],
            "median_cost": [kept.median],
            "mean_cost": [kept.mean],
            "skewness": [kept.skewness],
            "high_cost": [kept.high],
        }
    )
    replace_partitions(
        warehouse,
        source,
        {
            "policies.trajectory_windows": windows,
            "policies.trajectory_ranges": ranges,
        },
    )
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": windows.height,
            "range": table(ranges),
            "distribution": plot(plots.trajectory_distribution(kept.score, kept.low, kept.high, config.goal)),
        }
    )
