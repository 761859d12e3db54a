"""The asset marts/leaderboard: policies ranked by what they do to a whole log."""

import dagster as dg
import polars as pl

from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.replay import policy_plots
from assets.replay.evaluation import replay_evaluation
from assets.replay.random_orders import cloud_rows, in_place, rank_policies, stored_cloud, with_share_as_good
from warehouse import Warehouse, replace_partitions

BOARD_ROWS = 60
"""Of the table in the UI."""


def board_of(scores: pl.DataFrame) -> pl.DataFrame:
    """Rows of marts.leaderboard (without `source`), best first, from all rows of replay.period_scores of one source. Random orders have
    three rows without a rank, in their place: their mean, and 5 and 95 %."""
    ranked = rank_policies(scores.filter(pl.col("verdict").is_not_null()))
    by_lot = cloud_rows(scores)
    if by_lot.is_empty():
        return ranked
    return in_place(pl.concat([ranked.drop("place", "gain"), by_lot], how="diagonal"))


def readable(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the leaderboard, with `random_orders_as_good`, as people read them: few columns, intervals in one cell."""

    def interval(name: str) -> pl.Expr:
        shown = [
            pl.col(f"{name}_{end}").map_elements(lambda x: f"{x:.2f}", pl.Utf8) for end in ("ratio", "low", "high")
        ]
        return pl.when(pl.col(f"{name}_low").is_null()).then(shown[0]).otherwise(pl.format("{} ({} to {})", *shown))

    return rows.select(
        "rank",
        "policy",
        "estimates",
        "verdict",
        pl.col("random_orders_as_good").alias("random orders as good"),
        pl.col("bounded_slowdown_ratio").alias("slowdown"),
        pl.col("wait_ratio").alias("mean wait"),
        pl.col("p99_wait_ratio").alias("p99 wait"),
        pl.col("area_wait_ratio").alias("wait by work"),
        pl.col("wide_wait_ratio").alias("wide jobs"),
        (pl.col("max_wait_s") / 86400).alias("longest wait, days"),
        interval("typical_slowdown").alias("slowdown, typical block"),
        interval("typical_wait").alias("wait, typical block"),
        pl.col("payers").alias("who pays"),
    )


@asset("marts.leaderboard", group_name="evaluation", deps=[replay_evaluation], kinds={"duckdb"}, least_jobs=LEAST_JOBS)
def leaderboard(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Policies ranked by their verdicts beside the scheduler of the cluster that is described, else beside what most centres run, FCFS with
    EASY and requested times: those that dominate first. Each has the ratios of the whole log, and those of its typical block with
    intervals. Random orders have rows, too, without a rank."""

    source = context.partition_key
    with warehouse.read() as connection:
        scores = connection.sql(
            "SELECT * FROM replay.period_scores WHERE source = $source ORDER BY ALL",
            params={"source": source},
        ).pl()
        names = [name for name, *_ in connection.execute("DESCRIBE marts.leaderboard").fetchall()]
    if scores["verdict"].count() == 0:
        raise ValueError(f"source {source!r} has no replay evaluation: materialize replay/evaluation first")
    rows = board_of(scores).select(name for name in names if name != "source")
    replace_partitions(warehouse, source, {"marts.leaderboard": rows})
    cloud = stored_cloud(scores)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "leaderboard": table(readable(with_share_as_good(rows, cloud)), BOARD_ROWS),
            "random_orders": "none: materialize replay/evaluation again" if cloud is None else str(cloud),
            "replayed": "over a row of processors"
            if rows["cluster"][0] is None
            else f"on the cluster {rows['cluster'][0]}",
            "intervals": plot(policy_plots.ranked_intervals(rows.filter(pl.col("typical_wait_ratio").is_not_null()))),
        }
    )


CHECKS = [
    row_check(
        leaderboard, "checks.ranks_follow_verdicts", "no policy stands before one with a better verdict, and FCFS is 1"
    ),
]
