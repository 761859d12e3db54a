"""The asset replay/evaluation: every policy on held-out jobs."""

import dagster as dg

import sql
from assets.common.asset import LEAST_JOBS, asset
from assets.common.checks import row_check
from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import SOURCES
from assets.common.trace import load_trained_trace
from assets.evaluation import plots
from assets.evaluation.contestants import contestants_of, period_replays
from assets.ingest.core_jobs import jobs
from assets.policies.priority_key import priority_key
from assets.policies.scheduling_policy import scheduling_policy
from assets.predictions.runtime_predictions import runtime_predictions
from warehouse import Warehouse, replace_partitions


@asset(
    key=["replay", "evaluation"],
    deps=[scheduling_policy, priority_key, runtime_predictions, jobs],
    partitions_def=SOURCES,
    group_name="evaluation",
    kinds={"numba", "duckdb"},
    metadata=table_metadata("replay.period_scores"),
    least_jobs=LEAST_JOBS,
)
def replay_evaluation(
    context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Every policy in a replay of the whole log, scored on the held-out jobs, with a verdict on who should adopt it.

    Backfilling is EASY, once with requested and once with predicted run times. The learned policy is the champion."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    contestants = contestants_of(warehouse, source, test_position)
    periods, schedules = period_replays(trace, contestants, test_position)
    replace_partitions(
        warehouse,
        source,
        {
            "replay.period_scores": periods,
            "replay.schedules": schedules,
        },
    )
    with warehouse.read() as connection:
        usage = connection.sql(sql.load("replay.usage_over_time"), params={"source": source}).pl()
    shown = ["policy", "estimates", "average_bounded_slowdown", "average_wait_s", "wide_wait_s", "verdict", "payers"]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": periods.height,
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
