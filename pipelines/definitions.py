"""The Dagster code location: assets, checks, jobs, schedule, sensor. Loads without torch, xgboost, sklearn or matplotlib."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from assets import (
    experiments,
    features,
    ingest,
    leaderboard,
    model_registry,
    operations,
    prediction_error,
    prediction_search,
    remaining_time,
    replay,
    replay_runs,
    report,
    rlschert,
    runtime_evaluation,
    runtime_prediction,
    scheduling_policies,
    trace_health,
    vasp,
    wait_times,
)
from assets.checks import CHECKS
from assets.storage import open_warehouse
from pipelines.automation import inbox_sensor, nightly_schedule, nightly_vasp_schedule, vasp_sensor
from pipelines.jobs import JOBS
from pipelines.step_log import step_logger
from traces.catalogue import load_catalogue

ASSET_MODULES = [
    ingest,
    operations,
    trace_health,
    features,
    runtime_evaluation,
    model_registry,
    runtime_prediction,
    prediction_error,
    wait_times,
    scheduling_policies,
    experiments,
    replay,
    replay_runs,
    prediction_search,
    leaderboard,
    report,
    vasp,
    remaining_time,
    rlschert,
]


def build_definitions() -> dg.Definitions:
    """Everything Dagster needs, for the catalogue as it is now. Raises CatalogueError."""
    catalogue = load_catalogue()
    freshness = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=50), warn_window=timedelta(hours=26))
    assets = dg.map_asset_specs(
        lambda spec: dg.apply_freshness_policy(spec, freshness),
        dg.load_assets_from_modules(ASSET_MODULES),  # type: ignore[arg-type]
    )
    return dg.Definitions(
        assets=assets,
        asset_checks=CHECKS,
        jobs=JOBS,
        schedules=[nightly_schedule(), nightly_vasp_schedule()],
        sensors=[inbox_sensor, vasp_sensor],
        resources={"warehouse": open_warehouse()},
        loggers={"console": dg.colored_console_logger, "steps": step_logger},
        executor=dg.in_process_executor,
        metadata={"sources": ", ".join(catalogue.sources)},
    )


defs = build_definitions()
