"""Stage 6: the leaderboard mart."""

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.describe import plot, table, table_metadata
from assets.partitions import OWNERS, POOL, SOURCES
from assets.replay import replay_evaluation
from warehouse import Warehouse, replace_partition


class LeaderboardConfig(dg.Config):
    resamples: int = Field(default=2000, ge=100, description="Bootstrap resamples of the evaluation windows")
    seed: int = Field(default=1, ge=0, description="Seed of the bootstrap")


@dg.asset(
    key=["marts", "leaderboard"],
    deps=[replay_evaluation],
    partitions_def=SOURCES,
    group_name="marts",
    owners=OWNERS,
    kinds={"duckdb"},
    pool=POOL,
    metadata=table_metadata("marts.leaderboard"),
)
def leaderboard(
    context: dg.AssetExecutionContext, config: LeaderboardConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Policies ranked on the evaluation windows, each with a confidence interval and with its paired difference from what
    most centres run (FCFS) and from the heuristic that is hardest to beat (SAF), both with EASY and requested times."""
    from assets import plots

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
            "leaderboard": table(rows.drop("seeds", "semantics", "backfill")),
            "intervals": plot(plots.leaderboard(rows)),
        }
    )


def rank_policies(scores: pl.DataFrame, resamples: int, seed: int) -> pl.DataFrame:
    """Rows of marts.leaderboard (without `source`) from rows of replay.window_scores of one source.

    Percentile bootstrap, 95 %: windows are resampled, the same draw for all policies (so differences stay paired), and
    within it the training seeds of a learned policy.
    """
    groups = {
        key: part.sort("seed", "window_number") for key, part in scores.group_by(["policy", "backfill", "estimates"])
    }
    windows = scores["window_number"].n_unique()
    rng = np.random.default_rng(seed)
    drawn = rng.integers(windows, size=(resamples, windows))
    means, samples = {}, {}
    for key in sorted(groups):
        slowdown = groups[key]["average_bounded_slowdown"].to_numpy().reshape(-1, windows)  # (seeds, windows)
        picked = rng.integers(len(slowdown), size=(resamples, len(slowdown)))
        means[key] = slowdown.mean()
        # (resamples, seeds, windows) -> a mean per resample
        samples[key] = slowdown[picked[:, :, None], drawn[:, None, :]].mean(axis=(1, 2))
    rows = []
    for key in groups:
        row = dict(zip(("policy", "backfill", "estimates"), key, strict=True))
        part = groups[key]
        low, high = np.percentile(samples[key], [2.5, 97.5])
        row |= {
            "windows": windows,
            "seeds": part.height // windows,
            "average_bounded_slowdown": means[key],
            "bounded_slowdown_low": low,
            "bounded_slowdown_high": high,
        }
        row |= {name: part[name].mean() for name in ("average_wait_s", "p95_wait_s", "utilisation")}
        for rival in ("FCFS", "SAF"):
            other = (rival, "easy", "requested")
            low, high = np.percentile(samples[key] - samples[other], [2.5, 97.5])
            name = f"minus_{rival.lower()}"
            row |= {name: means[key] - means[other], f"{name}_low": low, f"{name}_high": high}
        rows.append(row | {"semantics": part["semantics"][0]})
    ranked = pl.DataFrame(rows).sort("average_bounded_slowdown", "policy", "estimates")
    return ranked.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
