"""Stage 5, beside the evaluation: what-if replays of a source, saved by name."""

from collections.abc import Iterable
from typing import Any

import dagster as dg
import duckdb
import polars as pl
from pydantic import Field

from assets.common.checks import row_check
from assets.common.describe import plot, table
from assets.common.parts import asset_of_parts
from assets.common.trace import load_trace
from assets.core.jobs import jobs
from assets.replaying import plots
from assets.replaying.configuring.outages import Outage
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import replay_run
from assets.replaying.running.settings import RunSettings, check_run_name, check_saved_settings
from assets.replaying.running.tables import run_jobs, run_row, run_series
from assets.replaying.scenarios.freed import replay_changed
from assets.replaying.site import site_of
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


USUAL_RUNS: list[dict[str, Any]] = [
    {"name": "fcfs", "policy": "FCFS", "backfill": "none"},
    {"name": "fcfs-easy", "policy": "FCFS", "backfill": "easy"},
    {"name": "fcfs-conservative", "policy": "FCFS", "backfill": "conservative"},
    {"name": "saf-easy", "policy": "SAF", "backfill": "easy"},
]
"""Of a source, unless the launchpad asks for others; in the form in which Dagster takes defaults."""


class ReplayRunsConfig(dg.Config):
    runs: list[RunConfig] = Field(
        default=USUAL_RUNS,  # type: ignore[arg-type]
        min_length=1,
        description="What-if replays. Other saved runs of the source stay as they are",
    )


def wanted_runs(config: ReplayRunsConfig, warehouse: Warehouse, source: str) -> dict[str, RunSettings]:
    """The settings of every run, by name; with the usual ones its cluster's own scheduler, where that replays. Raises ValueError for
    settings that cannot be, and for a name that is given twice."""
    wanted = {check_run_name(run.name): check_saved_settings(check_settings(settings_of(run))) for run in config.runs}
    if len(wanted) < len(config.runs):
        raise ValueError("two runs have the same name: give each a name of its own")
    is_usual = config.runs == [RunConfig(**run) for run in USUAL_RUNS]
    own = site_of(source, warehouse).own_cluster if is_usual else None
    if own is not None:
        wanted[own.scheduler.name] = RunSettings(policy=own.scheduler.name)
    return wanted


def number_of_runs(config: ReplayRunsConfig, warehouse: Warehouse, source: str) -> int:
    """How many runs are wanted. Raises ValueError as `wanted_runs` does, before any of them begins."""
    return len(wanted_runs(config, warehouse, source))


def store_run(
    context: dg.OpExecutionContext, config: ReplayRunsConfig, warehouse: Warehouse, number: int
) -> pl.DataFrame:
    """Replays one run and writes it to the warehouse, so that it is there before the others. Returns its row of replay.runs."""
    source = context.partition_key
    name, settings = list(wanted_runs(config, warehouse, source).items())[number]
    trace = load_trace(warehouse, source, settings.cancelled, settings.labels)
    policy = choose_policy(settings, warehouse, source)
    run = replay_changed(trace, settings, policy) if settings.is_on_cluster else replay_run(trace, settings, policy)
    key, row = {"source": source, "run": name}, run_row(name, run)
    schedule, series = run_jobs(name, run), run_series(name, run)

    def replace(connection: duckdb.DuckDBPyConnection) -> None:
        replace_rows(connection, "replay.runs", key, row)
        replace_rows(connection, "replay.run_jobs", key, schedule)
        replace_rows(connection, "replay.run_series", key, series)

    warehouse.transact(source, replace)
    return row


@asset_of_parts("replay.runs", deps=[jobs], count=number_of_runs, part=store_run, kinds={"numba", "duckdb"})
def replay_runs(
    context: dg.OpExecutionContext, config: ReplayRunsConfig, warehouse: Warehouse, parts: list[pl.DataFrame]
) -> dg.MaterializeResult:
    """What-if replays of the whole trace or a window of it, by name: each with its settings, all metrics, the schedule and the
    queue over time. `tracehouse replay SOURCE ... --save NAME` adds one, `tracehouse compare` compares two."""
    rows = pl.concat(parts)
    procs = dict(rows.select("run", "procs").iter_rows())
    trace = load_trace(warehouse, context.partition_key)
    stored = {name: _stored(warehouse, name, context.partition_key, procs) for name in ("run_jobs", "run_series")}
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "runs": table(rows.select(SHOWN_COLUMNS)),
            "usage": plot(plots.use_and_queue(stored["run_series"], procs, trace.has_calendar)),
            "waits": plot(plots.waits(stored["run_jobs"], procs, trace.time_zone if trace.has_calendar else None)),
        }
    )


def _stored(warehouse: Warehouse, table: str, source: str, runs: Iterable[str]) -> dict[str, pl.DataFrame]:
    """The rows of the runs in a table of the schema `replay`, by run."""
    statement = f"SELECT * EXCLUDE (source, run) FROM replay.{table} WHERE source = $source AND run = $run ORDER BY ALL"
    with warehouse.read() as connection:
        return {run: connection.sql(statement, params={"source": source, "run": run}).pl() for run in runs}


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
