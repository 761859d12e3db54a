"""What assets are given: the warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from pydantic import Field

from assets.common.storage import open_warehouse
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
