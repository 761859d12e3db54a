"""The Dagster code location: assets, checks, jobs, schedule, sensor.

It loads without torch, xgboost, sklearn, scipy.optimize or matplotlib.
"""

from __future__ import annotations

import dagster as dg

import assets
from papers.definitions import ASSETS_OF_PAPERS
from pipelines.automation import inbox_sensor, readers_sensor, vasp_sensor
from pipelines.executors import wanted_executor
from pipelines.jobs import JOBS
from pipelines.nights import ROOTS, code_of, freshness, nightly_schedule, nightly_vasp_schedule
from pipelines.resources import WarehouseResource
from pipelines.step_log import step_logger
from pipelines.upkeep import upkeep_schedules
from traces.catalogue.catalogue import load_catalogue


def build_definitions() -> dg.Definitions:
    """Everything Dagster needs, for the catalogue as it is now. Raises CatalogueError."""
    catalogue = load_catalogue()
    loaded = [*dg.load_assets_from_package_module(assets), *ASSETS_OF_PAPERS]
    code = code_of([each for each in loaded if isinstance(each, dg.AssetsDefinition)])
    policy = freshness(catalogue.nightly_cron, catalogue.time_zone)
    all_assets = dg.map_asset_specs(
        lambda spec: dg.apply_freshness_policy(spec, policy) if spec.key in ROOTS.values() else spec,
        loaded,  # type: ignore[arg-type]
    )
    return dg.Definitions(
        assets=all_assets,
        asset_checks=dg.load_asset_checks_from_package_module(assets),
        jobs=JOBS,
        schedules=[nightly_schedule(code), nightly_vasp_schedule(code), *upkeep_schedules()],
        sensors=[inbox_sensor, vasp_sensor, readers_sensor],
        resources={"warehouse": WarehouseResource.of_environment()},
        loggers={"console": dg.colored_console_logger, "steps": step_logger},
        executor=wanted_executor(),
        metadata={"sources": ", ".join(catalogue.sources)},
    )


defs = build_definitions()
