"""The upkeep of a lake, every night. A warehouse that is a file needs none."""

import dagster as dg

from assets.common.storage import data_folder, open_warehouse
from traces.catalogue.catalogue import load_catalogue
from warehouse import lake_of_environment
from warehouse.upkeep import tidy_tables

AT_NIGHT = "15 4 * * *"
"""Cron of the upkeep, in the time zone of the catalogue."""


@dg.op
def tidy_lake(context: dg.OpExecutionContext) -> None:
    """Merges small files of the lake, and removes old snapshots and what killed runs have left."""
    context.log.info(str(tidy_tables(open_warehouse())))


@dg.job
def lake_upkeep() -> None:
    """Tidies the lake while nobody writes."""
    tidy_lake()


def upkeep_schedules() -> list[dg.ScheduleDefinition]:
    """The schedule of `lake_upkeep`, which is on where the warehouse is a lake. None where it is a file."""
    if lake_of_environment(data_folder()) is None:
        return []
    return [
        dg.ScheduleDefinition(
            name="lake_upkeep",
            job=lake_upkeep,
            cron_schedule=AT_NIGHT,
            execution_timezone=load_catalogue().time_zone,
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Merges small files of the lake and removes old snapshots, every night",
        )
    ]
