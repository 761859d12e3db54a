"""The asset replay/evaluation: every policy on later, unseen jobs."""

import dagster as dg
from pydantic import Field

import sql
from assets.common.checks import row_check
from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import OWNERS, SOURCES
from assets.common.trace import load_trained_trace
from assets.evaluation import plots
from assets.evaluation.contestants import (
    LEAST_EVALUATION_WINDOWS,
    LEAST_WINDOW_JOBS,
    contestants_of,
    evaluation_windows,
    period_replays,
    window_scores,
)
from assets.ingest.core_jobs import jobs
from assets.policies.priority_key import priority_key
from assets.policies.scheduling_policy import scheduling_policy
from assets.predictions.runtime_predictions import runtime_predictions
from warehouse import Warehouse, replace_partition


class EvaluationConfig(dg.Config):
    window_jobs: int = Field(default=512, ge=8, description="Consecutive jobs in an evaluation window")
    most_windows: int = Field(default=50, ge=1, description="Most windows; they never overlap")


@dg.asset(
    key=["replay", "evaluation"],
    deps=[scheduling_policy, priority_key, runtime_predictions, jobs],
    partitions_def=SOURCES,
    group_name="evaluation",
    owners=OWNERS,
    kinds={"numba", "duckdb"},
    metadata=table_metadata("replay.window_scores"),
)
def replay_evaluation(
    context: dg.AssetExecutionContext, config: EvaluationConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Every policy on the same windows of the part that no training has seen, and over that part in a replay of the whole log, with
    a verdict on who should adopt it.

    Backfilling is EASY, once with requested and once with predicted run times. In windows the learned policy counts once per seed."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    contestants = contestants_of(warehouse, source, test_position)
    unseen = trace.rows.height - test_position
    length = min(config.window_jobs, max(unseen // LEAST_EVALUATION_WINDOWS, min(LEAST_WINDOW_JOBS, unseen)))
    if length < config.window_jobs:
        context.log.warning(f"only {unseen} unseen jobs: windows of {length} jobs instead of {config.window_jobs}")
    first = evaluation_windows(trace.rows.height, test_position, length, config.most_windows)
    windows = window_scores(trace, contestants, first, length)
    periods, schedules = period_replays(trace, contestants, test_position)
    with warehouse.write() as connection:
        replace_partition(connection, "replay.window_scores", source, windows)
        replace_partition(connection, "replay.period_scores", source, periods)
        replace_partition(connection, "replay.schedules", source, schedules)
    with warehouse.read() as connection:
        usage = connection.sql(sql.load("replay.usage_over_time"), params={"source": source}).pl()
    shown = ["policy", "estimates", "average_bounded_slowdown", "average_wait_s", "wide_wait_s", "verdict", "payers"]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": windows.height,
            "windows": len(first),
            "jobs_left_out": trace.jobs_left_out,
            "whole_period": table(periods.select(shown).sort("average_bounded_slowdown")),
            "usage": plot(plots.usage_over_time(usage, trace.cluster_procs, trace.has_calendar)),
        }
    )


CHECKS = [
    row_check(
        replay_evaluation, "checks.never_oversubscribes", "no replayed schedule uses more processors than there are"
    ),
    row_check(replay_evaluation, "checks.no_start_before_submission", "no replayed job starts before it was submitted"),
]
