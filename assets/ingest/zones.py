"""The time zone in which a log is read that names none, and what is said of it."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import duckdb

from assets.ingest.reading import COMMAND_LINE
from traces.catalogue.catalogue import Catalogue, VaspSource
from traces.catalogue.sources import Source
from traces.common.zones import machine_time_zone
from warehouse import NoWarehouse, Warehouse, first_row

_STORED = "SELECT time_zone FROM core.sources WHERE source = ? AND coalesce(time_zone_from, 'assumed') = 'assumed'"
"""A zone that somebody gave is in the catalogue or the log, and is given again."""
_STORED_OF_RUNS = "SELECT mode(split_part(version, ' ', 2)) FROM raw.vasp_folders WHERE source = ?"
"""The ledger has it with the version of the readers."""
_READ = {
    "slurm": "times of the log are read as {zone}",
    "pbs": "times of the log are Unix seconds, and its hours and days are those of {zone}",
    "vasp": "times in OUTCAR are read as {zone}",
}


class DefaultZone(NamedTuple):
    """The zone of what names none. is_given: whether somebody chose it. Else it is the one that was assumed before, or the machine's."""

    name: str
    is_given: bool

    @property
    def origin(self) -> str:
        """Where a zone that nobody gave comes from, in words."""
        return "the zone of this machine" if self.name == machine_time_zone() else "as before"


def default_zone(
    warehouse: Warehouse, catalogue: Catalogue, entry: Source | VaspSource, is_replaced: bool = False
) -> DefaultZone:
    """The zone of a log, or of a folder of VASP runs, that names none. What is stored keeps the zone that it was read with, on whatever
    machine it is read again. is_replaced: whether the rows that are stored are of another log."""
    given = catalogue.given_zone(entry)
    if given is not None:
        return DefaultZone(given, is_given=True)
    stored = None if is_replaced else _stored_zone(warehouse, entry)
    return DefaultZone(stored or machine_time_zone(), is_given=False)


def zone_of_source(warehouse: Warehouse, catalogue: Catalogue, entry: Source) -> str:
    """The zone in which the times of a source are: as it was read, or would be."""
    with suppress(NoWarehouse), warehouse.read() as connection:
        row = first_row(connection, "SELECT time_zone FROM core.sources WHERE source = ?", [entry.name])
        if row is not None:
            return str(entry.time_zone or row[0])
    return default_zone(warehouse, catalogue, entry).name


def _stored_zone(warehouse: Warehouse, entry: Source | VaspSource) -> str | None:
    query = _STORED_OF_RUNS if isinstance(entry, VaspSource) else _STORED
    with suppress(NoWarehouse), warehouse.read() as connection:
        row = first_row(connection, query, [entry.name])
        return row[0] if row else None
    return None


def zone_remark(connection: duckdb.DuckDBPyConnection, entry: Source, default: DefaultZone) -> str | None:
    """What a user should know of the zone that a log was read with. None where the log or somebody gave it, and of an SWF log, whose
    times are seconds of its own."""
    row = first_row(
        connection,
        "SELECT format, time_zone FROM core.sources WHERE source = ? AND format <> 'swf' AND time_zone_from = 'assumed'",
        [entry.name],
    )
    if row is None:
        return None
    log_format, zone = row
    origin = default.origin if zone == default.name else "which their stamps tell"
    name = "NAME" if entry.declared_at == COMMAND_LINE else entry.name
    command = f"tracehouse ingest {entry.path} --name {name} --time-zone ZONE"
    return f"{_READ[log_format].format(zone=zone)}, {origin}; to change it: {command}"


def runs_zone_remark(entry: VaspSource, default: DefaultZone) -> str | None:
    """The same of a folder of VASP runs, whose OUTCAR has local times."""
    if default.is_given:
        return None
    command = f"tracehouse vasp ingest {entry.path} --name {entry.name} --time-zone ZONE"
    return f"{_READ['vasp'].format(zone=default.name)}, {default.origin}; to change it: {command}"
