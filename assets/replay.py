"""Stage 5: replay evaluation on later, unseen jobs."""

from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

import sql
from assets.describe import plot, table, table_metadata
from assets.partitions import OWNERS, SOURCES
from assets.progress import progress
from assets.scheduling_policies import scheduling_policy
from assets.storage import data_folder
from assets.trace import Trace, load_trained_trace
from warehouse import Warehouse, first_row, replace_partition

if TYPE_CHECKING:
    from simulator.network import KernelWeights

ESTIMATES = ("requested", "predicted")
BACKFILL = "easy"
LEAST_WINDOWS = 8
"""A short trace is cut into shorter windows rather than fewer: an interval over two or three windows says nothing."""


class EvaluationConfig(dg.Config):
    window_jobs: int = Field(default=512, ge=8, description="Consecutive jobs in an evaluation window")
    most_windows: int = Field(default=50, ge=1, description="Most windows; they never overlap")


@dg.asset(
    key=["replay", "evaluation"],
    deps=[scheduling_policy],
    partitions_def=SOURCES,
    group_name="replay",
    owners=OWNERS,
    kinds={"numba", "duckdb"},
    metadata=table_metadata("replay.window_scores"),
)
def replay_evaluation(
    context: dg.AssetExecutionContext, config: EvaluationConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Every policy on the same windows of the part that no training has seen, and on that whole part in one piece;
    EASY backfilling, once with requested and once with predicted run times. The learned policy counts once per seed."""
    from assets import plots

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    contestants = _contestants(warehouse, source)
    unseen = trace.rows.height - test_position
    length = min(config.window_jobs, max(unseen // LEAST_WINDOWS, 1))
    if length < config.window_jobs:
        context.log.warning(f"only {unseen} unseen jobs: windows of {length} jobs instead of {config.window_jobs}")
    first = evaluation_windows(trace.rows.height, test_position, length, config.most_windows)
    windows = _window_scores(trace, contestants, first, length)
    periods, schedules = _period_replays(trace, contestants, test_position, warehouse)
    with warehouse.write() as connection:
        replace_partition(connection, "replay.window_scores", source, windows)
        replace_partition(connection, "replay.period_scores", source, periods)
        replace_partition(connection, "replay.schedules", source, schedules)
    with warehouse.read() as connection:
        usage = connection.sql(sql.load("replay.usage_over_time"), params={"source": source}).pl()
    shown = ["policy", "estimates", "average_bounded_slowdown", "average_wait_s", "p95_wait_s", "utilisation"]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": windows.height,
            "windows": len(first),
            "jobs_left_out": trace.jobs_left_out,
            "whole_period": table(periods.select(shown).sort("average_bounded_slowdown")),
            "usage": plot(plots.usage_over_time(usage, trace.cluster_procs)),
        }
    )


def evaluation_windows(jobs: int, test_position: int, window_jobs: int, most: int) -> np.ndarray:
    """First positions of at most `most` windows that do not overlap and spread over the jobs from `test_position` on,
    int64; `window_jobs` is at most the number of those jobs."""
    fitting = (jobs - test_position) // window_jobs
    return np.linspace(test_position, jobs - window_jobs, min(most, fitting)).astype(np.int64)


def load_weights(warehouse: Warehouse, source: str) -> "list[tuple[int, bool, KernelWeights]]":
    """(seed, chosen, weights) of every policy trained for the source. Raises ValueError when there is none."""
    from models.scheduling_policy import load_policy

    with warehouse.read() as connection:
        rows = connection.execute(
            "SELECT seed, chosen, file FROM policies.scheduling_policies WHERE source = ? ORDER BY seed", [source]
        ).fetchall()
    if not rows:
        raise ValueError(
            f"no policy has been trained for source {source!r}: train one with `tracehouse run --source {source}`"
        )
    return [(seed, chosen, load_policy(data_folder() / file)[0]) for seed, chosen, file in rows]


def _contestants(warehouse: Warehouse, source: str) -> "list[tuple[str, int | None, bool, KernelWeights | None]]":
    """(policy, seed, chosen, weights); a heuristic has no seed and is always chosen."""
    from simulator.priorities import HEURISTICS

    heuristics = [(name, None, True, None) for name in HEURISTICS]
    return heuristics + [("learned", *found) for found in load_weights(warehouse, source)]


def _window_scores(trace: Trace, contestants: list[Any], first: np.ndarray, length: int) -> pl.DataFrame:
    from simulator.metrics import SEMANTICS, metrics
    from simulator.replay import replay

    rows = []
    for estimates in ESTIMATES:
        jobs = trace.jobs(estimates)
        for number, position in enumerate(progress(first.tolist(), f"windows, {estimates} times")):
            window = jobs.window(position, length)
            for policy, seed, _, weights in contestants:
                schedule = replay(window, trace.cluster_procs, policy, BACKFILL, weights)
                rows.append(
                    {"window_number": number, "first_position": position, "policy": policy, "seed": seed}
                    | {"backfill": BACKFILL, "estimates": estimates, "jobs": length}
                    | metrics(window, schedule, trace.cluster_procs)
                    | {"semantics": SEMANTICS}
                )
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("seed").cast(pl.Int64))


def _period_replays(
    trace: Trace, contestants: list[Any], test_position: int, warehouse: Warehouse
) -> tuple[pl.DataFrame, pl.DataFrame]:
    from simulator.metrics import SEMANTICS, metrics
    from simulator.replay import replay

    with warehouse.read() as connection:
        row = first_row(connection, "SELECT clock_zero FROM core.sources WHERE source = ?", [trace.source])
    assert row is not None
    scores, schedules = [], []
    period_rows = trace.rows[test_position:]
    chosen = [contestant for contestant in contestants if contestant[2]]
    for estimates in ESTIMATES:
        period = trace.jobs(estimates).window(test_position, period_rows.height)
        for policy, seed, _, weights in progress(chosen, f"whole period, {estimates} times"):
            schedule = replay(period, trace.cluster_procs, policy, BACKFILL, weights)
            names = {"policy": policy, "backfill": BACKFILL, "estimates": estimates}
            scores.append(
                names | {"seed": seed, "jobs": len(period)} | metrics(period, schedule, trace.cluster_procs)
                | {"semantics": SEMANTICS}
            )  # fmt: skip
            start = pl.lit(row[0]) + pl.duration(seconds=pl.lit(pl.Series(schedule.start)))
            schedules.append(
                period_rows.select(
                    "job_index",
                    "procs",
                    start_time=start,
                    end_time=start + pl.duration(seconds=pl.col("runtime_s")),
                    wait_s=pl.Series(schedule.start - period.submit),
                    backfilled=pl.Series(schedule.backfilled),
                    **{key: pl.lit(value) for key, value in names.items()},
                )
            )
    return pl.DataFrame(scores, infer_schema_length=None).with_columns(pl.col("seed").cast(pl.Int64)), pl.concat(
        schedules
    )
