"""Stage 5, beside the evaluation: what-if replays of a source, saved by name."""

import dagster as dg
import duckdb
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import SOURCES
from assets.common.progress import progress
from assets.common.trace import load_trace
from assets.ingest.core_jobs import jobs
from assets.what_if import plots
from assets.what_if.run import choose_policy, replay_run
from assets.what_if.settings import Outage, RunSettings, check_run_name, check_saved_settings, check_settings
from assets.what_if.tables import run_jobs, run_row, run_series
from warehouse import Warehouse, replace_rows

SHOWN_COLUMNS = (
    "run",
    "policy",
    "backfill",
    "estimates",
    "jobs",
    "average_wait_s",
    "p95_wait_s",
    "max_wait_s",
    "average_bounded_slowdown",
    "utilisation",
    "hindsight_least_average_wait_s",
)


class OutageConfig(dg.Config, Outage):
    pass


class RunConfig(dg.Config, RunSettings):
    name: str = Field(description="Name of the run in replay.runs. A run of the same name is replaced")
    outages: list[OutageConfig] = Field(default=[], description="Processors that are missing for a while")  # type: ignore[assignment]


class ReplayRunsConfig(dg.Config):
    runs: list[RunConfig] = Field(
        default=[  # Dagster takes defaults in the form of the launchpad
            {"name": "fcfs", "policy": "FCFS", "backfill": "none"},  # type: ignore[list-item]
            {"name": "fcfs-easy", "policy": "FCFS", "backfill": "easy"},  # type: ignore[list-item]
            {"name": "fcfs-conservative", "policy": "FCFS", "backfill": "conservative"},  # type: ignore[list-item]
            {"name": "saf-easy", "policy": "SAF", "backfill": "easy"},  # type: ignore[list-item]
        ],
        min_length=1,
        description="What-if replays. Other saved runs of the source stay as they are",
    )


@asset(
    key=["replay", "runs"],
    deps=[jobs],
    partitions_def=SOURCES,
    group_name="what_if",
    kinds={"numba", "duckdb"},
    metadata=table_metadata("replay.runs"),
)
def replay_runs(
    context: dg.AssetExecutionContext, config: ReplayRunsConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """What-if replays of the whole trace or a window of it, by name: each with its settings, all metrics, the schedule and the
    queue over time. `tracehouse replay SOURCE ... --save NAME` adds one, `tracehouse compare` compares two."""
    source = context.partition_key
    wanted = {check_run_name(run.name): check_saved_settings(check_settings(settings_of(run))) for run in config.runs}
    if len(wanted) < len(config.runs):
        raise ValueError("two runs have the same name: give each a name of its own")
    traces = {
        cancelled: load_trace(warehouse, source, cancelled) for cancelled in {s.cancelled for s in wanted.values()}
    }
    runs, rows, schedules, series = {}, [], [], {}
    for name, settings in progress(wanted.items(), "runs", len(wanted)):
        run = replay_run(traces[settings.cancelled], settings, choose_policy(settings, warehouse, source))
        runs[name] = run
        rows.append(run_row(name, run))
        schedules.append(run_jobs(name, run))
        series[name] = run_series(name, run)

    def replace(connection: duckdb.DuckDBPyConnection) -> None:
        for name, row, schedule in zip(runs, rows, schedules, strict=True):
            key = {"source": source, "run": name}
            replace_rows(connection, "replay.runs", key, row)
            replace_rows(connection, "replay.run_jobs", key, schedule)
            replace_rows(connection, "replay.run_series", key, series[name])

    warehouse.transact(source, replace)
    procs = {name: run.cluster.procs for name, run in runs.items()}
    has_calendar = next(iter(traces.values())).has_calendar
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(runs),
            "runs": table(pl.concat(rows).select(SHOWN_COLUMNS)),
            "usage": plot(plots.use_and_queue(series, procs, has_calendar)),
            "waits": plot(plots.waits(runs)),
        }
    )


def settings_of(run: RunConfig) -> RunSettings:
    """The settings of a run that the launchpad has set."""
    return RunSettings(**run.model_dump(exclude={"name"}))


CHECKS = [
    row_check(
        replay_runs,
        "checks.runs_never_oversubscribe",
        "no saved run uses more processors than there are, or starts a job before its submission",
    ),
]
