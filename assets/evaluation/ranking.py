"""Ranks policies by what they do to a whole log."""

from __future__ import annotations

import polars as pl

from models.judging.verdict import BEST_FIRST, NO_DIFFERENCE


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
