"""Upkeep of a lake: small files are merged, old snapshots and their files removed, and files that killed processes have left.

Every commit of a lake leaves the state before it readable, and every killed writer may leave files that belong to no commit. Without
upkeep both stay for ever.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.door import Warehouse
from warehouse.errors import WarehouseError
from warehouse.lake_door import ATTACHED, LakeDoor

KEPT_DAYS = 2.0
"""So long a reader may go on with a state of before. What is younger stays."""


@dataclass(frozen=True)
class Tidied:
    """What was done. merged: small files that became fewer. snapshots: states of before that are gone. removed: files of theirs.
    orphans: files that killed processes have left."""

    merged: int
    snapshots: int
    removed: int
    orphans: int

    def __str__(self) -> str:
        return (
            f"{self.merged:,} files merged, {self.snapshots:,} snapshots expired, {self.removed:,} old files and {self.orphans:,} orphans "
            "removed"
        )


def tidy_tables(warehouse: Warehouse, kept_days: float = KEPT_DAYS) -> Tidied:
    """Tidies a lake while nobody writes; readers go on. kept_days: how old a state must be to go, by the clock of PostgreSQL.

    Raises WarehouseError for a file, which needs none, and as `Warehouse.write` does.
    """
    door = warehouse.door
    if not isinstance(door, LakeDoor):
        raise WarehouseError(f"{warehouse.name}: a file needs no tidying: DuckDB uses the room of deleted rows again")
    with warehouse.read():  # it is there, and its tables are those of today
        pass
    deadline = time.monotonic() + warehouse.timeout_s
    with door.faults(), door.alone(deadline), door.connection(deadline) as connection:
        # of PostgreSQL, which also stamps the snapshots: the clock of this machine may differ
        ((until,),) = connection.execute(
            f"FROM postgres_query('__ducklake_metadata_{ATTACHED}', ?)", [f"SELECT now() - interval '{kept_days} days'"]
        ).fetchall()
        _call(connection, "flush_inlined_data")
        _call(connection, "rewrite_data_files")
        merged = sum(row[2] for row in _call(connection, "merge_adjacent_files"))
        snapshots = len(_call(connection, "expire_snapshots", f"older_than => TIMESTAMPTZ '{until}'"))
        cut = "cleanup_all => true" if not kept_days else f"older_than => TIMESTAMPTZ '{until}'"
        removed = len(_call(connection, "cleanup_old_files", cut))
        # nobody writes now, so that a file which no commit names never will be named; its time is of a file server
        orphans = len(_call(connection, "delete_orphaned_files", "cleanup_all => true"))
    return Tidied(merged, snapshots, removed, orphans)


def _call(connection: duckdb.DuckDBPyConnection, name: str, options: str = "") -> list[tuple[Any, ...]]:
    return connection.execute(f"CALL ducklake_{name}('{ATTACHED}'{', ' if options else ''}{options})").fetchall()
