"""The asset marts/leaderboard: policies ranked by what they do to a whole log."""

import dagster as dg
import polars as pl

from assets.common.asset import LEAST_JOBS, asset
from assets.common.checks import row_check
from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import SOURCES
from assets.evaluation import plots
from assets.evaluation.replay_evaluation import replay_evaluation
from models.judging.verdict import BEST_FIRST, NO_DIFFERENCE
from warehouse import Warehouse, replace_partitions


def rank_policies(scores: pl.DataFrame) -> pl.DataFrame:
    """Rows of marts.leaderboard (without `source`), best first, from rows of replay.period_scores of one source.

    Within a verdict the sum of the logarithms of both gains counts. Policies with the same verdict and the same ratios share a rank.
    Nothing is ranked where every verdict is that there is no difference.
    """
    word = pl.col("verdict").str.split(", ").list.first()
    place = word.replace_strict({name: k for k, name in enumerate(BEST_FIRST)}, return_dtype=pl.Int64)
    gain = pl.col("bounded_slowdown_ratio") * pl.col("wait_ratio")
    ranked = scores.with_columns(place=place, gain=gain).sort("place", "gain", "policy", "estimates", "backfill")
    rank = pl.struct("place", "gain").rank("min").cast(pl.Int64)
    differ = bool((ranked["place"] != BEST_FIRST.index(NO_DIFFERENCE)).any())
    return ranked.with_columns(rank=rank if differ else pl.lit(None, dtype=pl.Int64))


def readable(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the leaderboard as people read them: few columns, intervals in one cell."""

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
        pl.col("bounded_slowdown_ratio").alias("slowdown over FCFS"),
        pl.col("wait_ratio").alias("mean wait"),
        pl.col("p99_wait_ratio").alias("p99 wait"),
        pl.col("area_wait_ratio").alias("wait by work"),
        pl.col("wide_wait_ratio").alias("wide jobs"),
        (pl.col("max_wait_s") / 86400).alias("longest wait, days"),
        interval("typical_slowdown").alias("slowdown, typical block"),
        interval("typical_wait").alias("wait, typical block"),
        pl.col("payers").alias("who pays"),
    )


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
