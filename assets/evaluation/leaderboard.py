"""The asset marts/leaderboard: policies ranked by what they do to a whole log."""

import dagster as dg

from assets.common.asset import LEAST_JOBS, asset
from assets.common.checks import row_check
from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import SOURCES
from assets.evaluation import plots
from assets.evaluation.ranking import rank_policies, readable
from assets.evaluation.replay_evaluation import replay_evaluation
from warehouse import Warehouse, replace_partitions


@asset(
    key=["marts", "leaderboard"],
    deps=[replay_evaluation],
    partitions_def=SOURCES,
    group_name="evaluation",
    kinds={"duckdb"},
    metadata=table_metadata("marts.leaderboard"),
    least_jobs=LEAST_JOBS,
)
def leaderboard(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Policies ranked by their verdicts beside what most centres run, FCFS with EASY and requested times: those that dominate
    first. Each has the ratios of the whole log, and those of its typical block with intervals."""

    source = context.partition_key
    with warehouse.read() as connection:
        scores = connection.sql(
            "SELECT * FROM replay.period_scores WHERE source = $source AND verdict IS NOT NULL ORDER BY ALL",
            params={"source": source},
        ).pl()
        names = [name for name, *_ in connection.execute("DESCRIBE marts.leaderboard").fetchall()]
    if scores.is_empty():
        raise ValueError(f"source {source!r} has no replay evaluation: materialize replay/evaluation first")
    rows = rank_policies(scores).select(name for name in names if name != "source")
    replace_partitions(warehouse, source, {"marts.leaderboard": rows})
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "leaderboard": table(readable(rows)),
            "intervals": plot(plots.ranked_intervals(rows)),
        }
    )


CHECKS = [
    row_check(
        leaderboard, "checks.ranks_follow_verdicts", "no policy stands before one with a better verdict, and FCFS is 1"
    ),
]
