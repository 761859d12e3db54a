"""Ranks policies by their window scores, with bootstrap intervals."""

import numpy as np
import polars as pl

LEAST_INTERVAL_WINDOWS = 5


def rank_policies(scores: pl.DataFrame, resamples: int, seed: int) -> pl.DataFrame:
    """Rows of marts.leaderboard (without `source`) from rows of replay.window_scores of one source.

    Percentile bootstrap, 95 %. Windows are resampled, with the same draw for all policies, so that differences stay paired. The
    training seeds of a learned policy are resampled within it. With fewer than LEAST_INTERVAL_WINDOWS windows intervals are
    unknown (null).
    """
    windows = scores["window_number"].n_unique()
    groups = {
        key: part.sort("seed", "window_number") for key, part in scores.group_by(["policy", "backfill", "estimates"])
    }
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
        low, high = _interval(samples[key], windows)
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
            low, high = _interval(samples[key] - samples[other], windows)
            name = f"minus_{rival.lower()}"
            row |= {name: means[key] - means[other], f"{name}_low": low, f"{name}_high": high}
        rows.append(row | {"semantics": part["semantics"][0]})
    ranked = pl.DataFrame(rows).sort("average_bounded_slowdown", "policy", "estimates")
    return ranked.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))


def _interval(samples: np.ndarray, windows: int) -> tuple[float | None, float | None]:
    if windows < LEAST_INTERVAL_WINDOWS:
        return None, None
    low, high = np.percentile(samples, [2.5, 97.5])
    return float(low), float(high)


def readable(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the leaderboard as people read them: few columns, intervals in one cell."""

    def interval(name: str) -> pl.Expr:
        shown = [pl.col(f"{name}_{end}").map_elements(lambda x: f"{x:.2f}", pl.Utf8) for end in ("low", "high")]
        return (
            pl.when(pl.col(f"{name}_low").is_null())
            .then(pl.lit("too few windows"))
            .otherwise(pl.format("{} to {}", *shown))
        )

    return rows.select(
        "rank",
        "policy",
        "estimates",
        pl.col("average_bounded_slowdown").alias("bounded slowdown"),
        interval("bounded_slowdown").alias("95 % interval"),
        pl.col("average_wait_s").alias("wait, s"),
        pl.col("minus_saf").alias("minus SAF"),
        interval("minus_saf").alias("its interval"),
        pl.col("minus_fcfs").alias("minus FCFS"),
        interval("minus_fcfs").alias("its interval "),
    )
