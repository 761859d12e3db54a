"""The Dagster code location: assets, checks, jobs, schedule, sensor.

It loads without torch, xgboost, sklearn, scipy.optimize or matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from pydantic import Field

import assets
from assets.common.code.declared import DECLARED
from assets.common.storage import open_warehouse
from papers.definitions import ASSETS_OF_PAPERS
from pipelines.automation import inbox_sensor, readers_sensor, vasp_sensor
from pipelines.executors import wanted_executor
from pipelines.jobs import JOBS
from pipelines.nights import ROOTS, code_of, freshness, nightly_schedule, nightly_vasp_schedule, upkeep_schedules
from pipelines.step_log import step_logger
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse, confined


class WarehouseResource(dg.ConfigurableResource[Warehouse]):
    """The warehouse, closed to other files and the network in every process that executes steps. The environment of the process says
    where it is: TRACEHOUSE_HOME, TRACEHOUSE_WAREHOUSE and TRACEHOUSE_TIMEOUT_S."""

    path: str = Field(description="The database file, or where the lake has its catalogue")
    is_lake: bool = Field(description="Whether it is a lake, which many machines write to")
    timeout_s: float = Field(
        description="Seconds that a step waits for other processes before it says that the warehouse is busy"
    )

    @classmethod
    def of_environment(cls) -> WarehouseResource:
        """That of this process."""
        warehouse = open_warehouse()
        return cls(path=warehouse.name, is_lake=warehouse.lake is not None, timeout_s=warehouse.timeout_s)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Warehouse]:
        """The warehouse of a run. See `warehouse.confined`."""
        with confined():
            yield open_warehouse()


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
        assets=[*all_assets, *DECLARED],
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
