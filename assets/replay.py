"""Stage 5: replay evaluation on later, unseen jobs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

import sql
from assets.describe import plot, table, table_metadata
from assets.ingest import jobs
from assets.partitions import OWNERS, SOURCES
from assets.progress import progress
from assets.runtime_prediction import runtime_predictions
from assets.scheduling_policies import priority_key, scheduling_policy
from assets.storage import read_model
from assets.trace import Trace, load_trained_trace
from warehouse import Warehouse, first_row, replace_partition

if TYPE_CHECKING:
    from simulator.network import KernelWeights

ESTIMATES = ("requested", "predicted")
BACKFILL = "easy"
LEAST_WINDOWS = 8
"""A short trace is cut into shorter windows rather than fewer: an interval over two or three windows says nothing."""
LEAST_WINDOW_JOBS = 32
"""But not shorter than this: a handful of jobs hardly queue."""


class EvaluationConfig(dg.Config):
    window_jobs: int = Field(default=512, ge=8, description="Consecutive jobs in an evaluation window")
    most_windows: int = Field(default=50, ge=1, description="Most windows; they never overlap")


@dg.asset(
    key=["replay", "evaluation"],
    deps=[scheduling_policy, priority_key, runtime_predictions, jobs],
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
    contestants = _contestants(warehouse, source, test_position)
    unseen = trace.rows.height - test_position
    length = min(config.window_jobs, max(unseen // LEAST_WINDOWS, min(LEAST_WINDOW_JOBS, unseen)))
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


@dataclass(frozen=True)
class LearnedPolicy:
    """A row of policies.scheduling_policies with its weights; jobs from position `trained_jobs` on were not open to it.

    newest: whether it is of the newest training; champion: the one that is used."""

    seed: int
    newest: bool
    champion: bool
    trained_jobs: int
    weights: "KernelWeights"
    sha256: str


def learned_policies(warehouse: Warehouse, source: str) -> list[LearnedPolicy]:
    """The policies of the newest training, by seed, and the champion, if that is older.

    Raises ValueError when there is none or a file is not what it was."""
    from models.scheduling.policy_file import policy_from_bytes

    with warehouse.read() as connection:
        rows = connection.execute(
            "SELECT seed, newest, champion, trained_jobs, file, sha256 FROM policies.scheduling_policies WHERE source = ? "
            "ORDER BY newest DESC, seed",
            [source],
        ).fetchall()
    if not rows:
        raise ValueError(
            f"no policy has been trained for source {source!r}: train one with `tracehouse run --source {source}`"
        )
    return [
        LearnedPolicy(seed, newest, champion, trained, policy_from_bytes(read_model(file, sha256))[0], sha256)
        for seed, newest, champion, trained, file, sha256 in rows
    ]


@dataclass(frozen=True)
class Contestant:
    """A policy to be compared: a heuristic has no seed and no weights.

    text: as simulator.policies.parse_policy takes it. in_windows, in_period: in which of the two comparisons it takes part."""

    policy: str
    text: str
    seed: int | None = None
    weights: "KernelWeights | None" = None
    in_windows: bool = True
    in_period: bool = True


def _contestants(warehouse: Warehouse, source: str, test_position: int) -> list[Contestant]:
    from simulator.policies import RIVALS

    learned = learned_policies(warehouse, source)
    if any(policy.trained_jobs > test_position for policy in learned):
        raise ValueError(
            f"source {source!r}: the policies were trained on jobs that are now in the test part: materialize "
            "policies/trajectory_filter, policies/priority_key and policies/scheduling_policy again"
        )
    with warehouse.read() as connection:
        key = first_row(
            connection, "SELECT formula, trained_jobs FROM policies.priority_keys WHERE source = ?", [source]
        )
    if key is None or key[1] > test_position:
        raise ValueError(
            f"source {source!r} has no priority key of this split: materialize policies/priority_key again"
        )
    return [
        *(Contestant(name, name) for name in RIVALS),
        Contestant("key", key[0]),
        *(
            Contestant("learned", "learned", policy.seed, policy.weights, policy.newest, policy.champion)
            for policy in learned
        ),
    ]


def _window_scores(trace: Trace, contestants: list[Contestant], first: np.ndarray, length: int) -> pl.DataFrame:
    from simulator.metrics import SEMANTICS, metrics
    from simulator.replay import replay

    rows = []
    for estimates in ESTIMATES:
        jobs = trace.jobs(estimates)
        for number, position in enumerate(progress(first.tolist(), f"windows, {estimates} times")):
            window = jobs.window(position, length)
            for entry in (entry for entry in contestants if entry.in_windows):
                schedule = replay(window, trace.cluster_procs, entry.text, BACKFILL, entry.weights)
                rows.append(
                    {"window_number": number, "first_position": position, "policy": entry.policy, "seed": entry.seed}
                    | {"backfill": BACKFILL, "estimates": estimates, "jobs": length}
                    | metrics(window, schedule, trace.cluster_procs)
                    | {"semantics": SEMANTICS}
                )
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("seed").cast(pl.Int64))


def _period_replays(
    trace: Trace, contestants: list[Contestant], test_position: int, warehouse: Warehouse
) -> tuple[pl.DataFrame, pl.DataFrame]:
    from simulator.metrics import SEMANTICS, metrics
    from simulator.replay import replay

    with warehouse.read() as connection:
        row = first_row(connection, "SELECT clock_zero FROM core.sources WHERE source = ?", [trace.source])
    assert row is not None
    scores, schedules = [], []
    period_rows = trace.rows[test_position:]
    chosen = [entry for entry in contestants if entry.in_period]
    for estimates in ESTIMATES:
        period = trace.jobs(estimates).window(test_position, period_rows.height)
        for entry in progress(chosen, f"whole period, {estimates} times"):
            schedule = replay(period, trace.cluster_procs, entry.text, BACKFILL, entry.weights)
            names = {"policy": entry.policy, "backfill": BACKFILL, "estimates": estimates}
            scores.append(
                names | {"seed": entry.seed, "jobs": len(period)} | metrics(period, schedule, trace.cluster_procs)
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
