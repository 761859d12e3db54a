"""The asset marts/leaderboard: policies ranked, with intervals."""

import dagster as dg
from pydantic import Field

from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import OWNERS, SOURCES
from assets.evaluation import plots
from assets.evaluation.ranking import rank_policies, readable
from assets.evaluation.replay_evaluation import replay_evaluation
from warehouse import Warehouse, replace_partition


class LeaderboardConfig(dg.Config):
    resamples: int = Field(default=2000, ge=100, description="Bootstrap resamples of the evaluation windows")
    seed: int = Field(default=1, ge=0, description="Seed of the bootstrap")


@dg.asset(
    key=["marts", "leaderboard"],
    deps=[replay_evaluation],
    partitions_def=SOURCES,
    group_name="evaluation",
    owners=OWNERS,
    kinds={"duckdb"},
    metadata=table_metadata("marts.leaderboard"),
)
def leaderboard(
    context: dg.AssetExecutionContext, config: LeaderboardConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Policies ranked on the evaluation windows, each with a confidence interval and with its paired difference from what
    most centres run (FCFS) and from the heuristic that is hardest to beat (SAF), both with EASY and requested times."""

    source = context.partition_key
    with warehouse.read() as connection:
        scores = connection.sql(
            "SELECT * FROM replay.window_scores WHERE source = $source ORDER BY ALL", params={"source": source}
        ).pl()
    if scores.is_empty():
        raise ValueError(f"source {source!r} has no replay evaluation: materialize replay/evaluation first")
    rows = rank_policies(scores, config.resamples, config.seed)
    with warehouse.write() as connection:
        replace_partition(connection, "marts.leaderboard", source, rows)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "leaderboard": table(readable(rows)),
            "intervals": plot(plots.ranked_intervals(rows)),
        }
    )
