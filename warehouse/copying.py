"""Copies a warehouse into another, row for row: from a file to a lake, back, or to its like.

Tables, views and comments are made as everywhere (`warehouse.schema`). All rows go in one transaction, so that a copy that was killed has
left nothing, and can be run again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import duckdb
import polars as pl
import pyarrow as pa

import sql
from warehouse.door import Warehouse
from warehouse.errors import WarehouseError
from warehouse.partitions import first_row

VERSION = "core.schema_version"
BATCH_ROWS = 100_000

Change = Callable[[str, pl.DataFrame], pl.DataFrame]
"""What becomes of some rows of a table, given by name. The columns stay."""


def copied_tables() -> list[str]:
    """Names of the tables that are copied: all but the one that says of which version the tables are."""
    return [name for name in sql.names("tables") if name != VERSION]


def copy_rows(
    source: Warehouse,
    target: Warehouse,
    replace: bool = False,
    without: Collection[str] = (),
    change: Change | None = None,
    advance: Callable[[str, int], None] = lambda name, rows: None,
) -> dict[str, int]:
    """Copies all rows as they were at one moment; returns how many, by table. Raises WarehouseError where the target has rows already.

    replace: whether its rows are replaced, in the same transaction. without: tables that stay empty. change: what becomes of rows on the
    way, None to copy them as they are. advance: called after each table.
    """
    counts = {}
    with source.read() as former, target.write() as made:
        if not replace:
            _refuse_used(target, made)
        former.execute("BEGIN")  # a lake goes on meanwhile
        for name in copied_tables():
            made.execute(f"DELETE FROM {name}")
            counts[name] = 0 if name in without else _copy_table(former, made, name, change)
            advance(name, counts[name])
    return counts


def _refuse_used(target: Warehouse, connection: duckdb.DuckDBPyConnection) -> None:
    for name in copied_tables():
        if first_row(connection, f"SELECT 1 FROM {name} LIMIT 1") is not None:
            raise WarehouseError(
                f"{target.name}: is not empty ({name} has rows). Give an empty one, or --replace to replace all its rows. Nothing was "
                "changed"
            )


def _copy_table(
    former: duckdb.DuckDBPyConnection, made: duckdb.DuckDBPyConnection, name: str, change: Change | None
) -> int:
    """Copies a table through Arrow, a batch at a time, and counts both sides."""
    expected = first_row(former, f"SELECT count(*) FROM {name}")
    if expected == (0,):
        return 0
    reader = former.sql(f"FROM {name}").to_arrow_reader(BATCH_ROWS)
    rows = (
        reader if change is None else pa.RecordBatchReader.from_batches(reader.schema, _changed(reader, name, change))
    )
    made.register("copied_rows", rows)
    made.execute(f"INSERT INTO {name} BY NAME SELECT * FROM copied_rows")
    made.unregister("copied_rows")
    row = first_row(made, f"SELECT count(*) FROM {name}")
    if change is None and row != expected:
        raise WarehouseError(f"{name}: {row} rows were written of {expected}. Nothing was changed")
    return int(row[0]) if row else 0


def _changed(reader: pa.RecordBatchReader, name: str, change: Change) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        frame = pl.from_arrow(batch)
        assert isinstance(frame, pl.DataFrame)
        yield from change(name, frame).to_arrow().cast(reader.schema).to_batches()
