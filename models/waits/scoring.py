"""How good predicted waits are: jobs of the past predicted at their submission, and scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl

from models.runtime.predictor import FloatArray
from models.waits.binomial_bounds import binomial_bounds
from models.waits.history import History, IntArray
from models.waits.interval_ends import IntervalEnds
from models.waits.neighbours import (
    FOLLOWED_JOBS,
    LEAST_NEIGHBOURS,
    POINTS,
    Pool,
    expected_wait,
    pool_of,
    similar_waits,
    stride_of,
    waits_of_neighbours,
)
from simulator.policies.registry import Policy

LEAST_SCORED = 20

ZERO = "zero"
"""The rival that predicts for every job that it starts at once. Its interval is from 0 s to 0 s."""
WAIT_PREDICTORS = {
    "replay": ("median", ("replay_p50_s", "replay_p10_s", "replay_p90_s")),
    "calibrated": ("median", ("wait_p50_s", "wait_p10_s", "wait_p90_s")),
    "calibrated_mean": ("mean", ("wait_mean_s", "wait_p10_s", "wait_p90_s")),
    "similar_recent": ("mean", ("similar_mean_s", "similar_p10_s", "similar_p90_s")),
    "similar_median": ("median", ("similar_p50_s", "similar_p10_s", "similar_p90_s")),
    "binomial": ("bound", ("binomial_p50_s", "binomial_p10_s", "binomial_p90_s")),
    ZERO: ("constant", ("zero_s", "zero_s", "zero_s")),
}
"""By name: what the prediction is, and the columns of it and of both ends of its 80 % interval. A median is judged by the mean absolute
error, which medians make least. A mean is judged by the root mean squared error. A bound is above the median with 95 %."""
UNSTORED = ("wait_mean_s", "replay_mean_s", "binomial_p10_s", "binomial_p50_s", "binomial_p90_s")
"""Columns of `predict_history` that predictions.wait_predictions does not have."""

Watch = Callable[[Iterable[IntArray], str], Iterable[IntArray]]
"""Shows how far an iteration is: (parts, what they are) -> the same parts."""


class WaitsUnknown(ValueError):
    """The log does not say enough about waits."""


def _unwatched(parts: Iterable[IntArray], name: str) -> Iterable[IntArray]:
    return parts


def predict_history(
    history: History,
    last_share: float,
    jobs: int,
    seed: int,
    policy: str | Policy = "FCFS",
    backfill: str = "easy",
    watch: Watch = _unwatched,
) -> pl.DataFrame:
    """Rows of predictions.wait_predictions but `predicted_at`, and UNSTORED columns, of jobs drawn from the last share of the log.

    Each is predicted at its submission from what was known then. Rows are by submission. watch: shows the progress of what takes
    long. Raises WaitsUnknown with too few jobs.
    """
    drawn, grid = _drawn_and_grid(history, last_share, jobs, seed)

    def replayed(numbers: IntArray, parts: int, name: str) -> Pool:
        chunks = watch(np.array_split(numbers, parts), name)
        return _joined([pool_of(history, chunk, seed, policy, backfill) for chunk in chunks])

    pool = replayed(grid, max(1, len(grid) // 100), "past jobs")
    asked = replayed(drawn, 10, "jobs")
    ends, bounds = IntervalEnds(pool), binomial_bounds(history)
    rows = []
    for k, number in enumerate(drawn.tolist()):
        now = int(history.submit[number])
        similar = similar_waits(history, int(history.procs[number]), int(history.request[number]), now)
        if len(similar) < LEAST_NEIGHBOURS:
            continue
        past = waits_of_neighbours(pool, asked.features[k], int(history.user[number]), now)
        quantiles = asked.replayed[k] if past.quantiles is None else ends.moved(past.quantiles, now)
        replayed_mean = float(asked.replayed_mean[k])
        means = {"wait_mean_s": expected_wait(past, similar, replayed_mean), "replay_mean_s": replayed_mean}
        row = _row(history, number, quantiles, asked.replayed[k], similar)
        rows.append(row | means | _bounds_row(bounds[number], similar))
    if len(rows) < LEAST_SCORED:
        raise WaitsUnknown("too few jobs had started before those to score: score a smaller last share of the log")
    return pl.DataFrame(rows)


def _drawn_and_grid(history: History, last_share: float, jobs: int, seed: int) -> tuple[IntArray, IntArray]:
    """(jobs to score, every past job that one of them could be compared with), numbers in order of submission."""
    first = int(len(history) * (1 - last_share))
    started = np.flatnonzero(history.start < history.latest_end[-1] + 1)
    after = started[started >= first]
    if len(after) < LEAST_SCORED:
        raise WaitsUnknown(
            f"{len(after)} jobs in the last {last_share:.0%} of the log are too few to score waits on, at least "
            f"{LEAST_SCORED} are needed"
        )
    drawn = np.sort(np.random.default_rng(seed).choice(after, min(jobs, len(after)), replace=False))
    grid = np.arange(0, drawn[-1], stride_of(first))
    reach = max(0, int(np.searchsorted(grid, first)) - FOLLOWED_JOBS)
    return drawn, grid[reach:]


def _row(
    history: History, number: int, quantiles: FloatArray, replayed: FloatArray, similar: IntArray
) -> dict[str, Any]:
    """One row of predictions.wait_predictions. quantiles, replayed: at POINTS, seconds. similar: waits, seconds."""
    return {
        "job_index": int(history.job_index[number]),
        "submit_s": int(history.submit[number]),
        "replay_p10_s": replayed[0],
        "replay_p50_s": replayed[2],
        "replay_p90_s": replayed[4],
        **{f"wait_p{round(100 * point)}_s": quantiles[p] for p, point in enumerate(POINTS)},
        **{f"similar_p{p}_s": float(np.percentile(similar, p)) for p in (10, 50, 90)},
        "similar_mean_s": float(similar.mean()),
        "wait_s": int(history.wait(np.array([number]))[0]),
    }


def _bounds_row(bounds: FloatArray, similar: IntArray) -> dict[str, float]:
    """The bounds of a job, or where its class has too few jobs the quantiles of similar jobs."""
    filled = np.where(np.isnan(bounds), np.percentile(similar, (10, 50, 90)), bounds)
    return {f"binomial_p{percent}_s": float(value) for percent, value in zip((10, 50, 90), filled, strict=True)}


def wait_scores(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of predictions.wait_scores, and root_mean_squared_error_s: WAIT_PREDICTORS on the same jobs. rows: of `predict_history`."""
    true = rows["wait_s"].to_numpy()
    rows = rows.with_columns(zero_s=pl.lit(0.0))
    scores: list[dict[str, Any]] = []
    for predictor, (statistic, names) in WAIT_PREDICTORS.items():
        point, low, high = (rows[name].to_numpy() for name in names)
        error = np.abs(point - true)
        scores.append(
            {
                "predictor": predictor,
                "statistic": statistic,
                "jobs": rows.height,
                "median_absolute_error_s": float(np.median(error)),
                "mean_absolute_error_s": float(error.mean()),
                "root_mean_squared_error_s": float(np.sqrt((error**2).mean())),
                "within_10_min_share": float((error <= 600).mean()),
                "coverage_80": float(((low <= true) & (true <= high)).mean()),
                "below_share": float((true < low).mean()),
                "above_share": float((true > high).mean()),
                "mean_interval_s": float((high - low).mean()),
            }
        )
    return pl.DataFrame(scores)


def _joined(parts: list[Pool]) -> Pool:
    return Pool(*(np.concatenate([getattr(part, name) for part in parts]) for name in Pool.__dataclass_fields__))
