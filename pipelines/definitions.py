"""The Dagster code location: assets, checks, jobs, schedule, sensor.

It loads without torch, xgboost, sklearn, scipy.optimize or matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

import assets
from assets.common.storage import open_warehouse
from papers.definitions import ASSETS_OF_PAPERS
from pipelines.automation import (
    freshness,
    inbox_sensor,
    nightly_schedule,
    nightly_vasp_schedule,
    readers_sensor,
    vasp_sensor,
)
from pipelines.executors import wanted_executor
from pipelines.jobs import JOBS, NIGHTLY
from pipelines.step_log import step_logger
from pipelines.upkeep import upkeep_schedules
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse, confined


@dg.resource(description="The warehouse, closed to other files and the network in every process that executes steps")
def confined_warehouse(_context: dg.InitResourceContext) -> Iterator[Warehouse]:
    """The warehouse of a run. See `warehouse.confined`."""
    with confined():
        yield open_warehouse()


def build_definitions() -> dg.Definitions:
    """Everything Dagster needs, for the catalogue as it is now. Raises CatalogueError."""
    catalogue = load_catalogue()
    loaded = [*dg.load_assets_from_package_module(assets), *ASSETS_OF_PAPERS]
    nightly, policy = NIGHTLY.resolve(loaded), freshness(catalogue.nightly_cron, catalogue.time_zone)  # type: ignore[arg-type]
    all_assets = dg.map_asset_specs(
        lambda spec: dg.apply_freshness_policy(spec, policy) if spec.key in nightly else spec,
        loaded,  # type: ignore[arg-type]
    )
    return dg.Definitions(
        assets=all_assets,
        asset_checks=dg.load_asset_checks_from_package_module(assets),
        jobs=JOBS,
        schedules=[nightly_schedule(), nightly_vasp_schedule(), *upkeep_schedules()],
        sensors=[inbox_sensor, vasp_sensor, readers_sensor],
        resources={"warehouse": confined_warehouse},
        loggers={"console": dg.colored_console_logger, "steps": step_logger},
        executor=wanted_executor(),
        metadata={"sources": ", ".join(catalogue.sources)},
    )


defs = build_definitions()
