"""Rows that wait in files beside the warehouse until they are inserted: readers are kept out for the insertion alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

import sql
from warehouse import Warehouse, first_row

SPILL_ROWS = 120_000
"""So many rows are gathered in memory before they go into a file."""
QUERY_MEMORY = "2GiB"
"""Of DuckDB while a query over all jobs of a source runs; what needs more goes through files beside the warehouse."""

FIGURES_MEMORY = "4GiB"
"""Of DuckDB while a query holds a value of each job, as medians and numbers of distinct names do: 2 GiB are too little for 50 million
jobs."""


@contextmanager
def source_lock(warehouse: Warehouse, source: str, is_vasp: bool = False) -> Iterator[None]:
    """Held by who changes the raw tables or the jobs of a source, longer than the warehouse is open. Raises WarehouseBusy.

    is_vasp: for a folder of VASP runs, which may have the name of a log.
    """
    with warehouse.lock(f"{source}.{'vasp' if is_vasp else 'ingest'}"):
        yield


def quoted(path: Path) -> str:
    """A path in a statement."""
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def staging_folder(warehouse: Warehouse, source: str) -> Iterator[Path]:
    """An empty folder for the rows of a source. It is removed at the end. Call it under the lock of the source, since it also
    removes what a process left that was killed."""
    folder = warehouse.staging.resolve() / source
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def replace_rows_of_query(warehouse: Warehouse, table: str, source: str, query: str) -> int:
    """Replaces the rows of a source in a table by those of a query, whose `$source` it is. Otherwise as `replace_rows_in_parts`."""

    def rows(connection: duckdb.DuckDBPyConnection) -> list[pl.DataFrame]:
        connection.execute(f"SET memory_limit = '{FIGURES_MEMORY}'")
        return [connection.sql(query, params={"source": source}).pl()]

    return replace_rows_in_parts(warehouse, table, source, rows)


def replace_rows_in_parts(
    warehouse: Warehouse,
    table: str,
    source: str,
    parts_of: Callable[[duckdb.DuckDBPyConnection], Iterable[pl.DataFrame]],
    end: Callable[[duckdb.DuckDBPyConnection], int] | None = None,
) -> int:
    """Replaces the rows of a source in a table. Returns how many it has then.

    They are computed into files while others may read, and the jobs of the source do not change meanwhile. end: is called in the
    transaction that exchanges them, and gives the `job_index` from which on rows are exchanged. Raises WarehouseBusy.
    """
    with source_lock(warehouse, source), staging_folder(warehouse, source) as folder:
        files: list[str] = []
        with warehouse.read() as connection:
            connection.execute(f"SET memory_limit = '{QUERY_MEMORY}'")
            connection.execute("SET threads = 1")  # a second one wants memory of its own, and saves little time
            for part in parts_of(connection):
                files.append(str(folder / f"rows-{len(files)}.parquet"))
                part.write_parquet(files[-1], compression="lz4", statistics=False)

        def replace(connection: duckdb.DuckDBPyConnection) -> int:
            connection.execute(f"SET memory_limit = '{QUERY_MEMORY}'")
            if end is None:
                connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])
            else:
                connection.execute(
                    f"DELETE FROM {table} WHERE source = ? AND job_index >= ?", [source, end(connection)]
                )
            if files:
                connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM read_parquet(?)", [files])
            row = first_row(connection, f"SELECT count(*) FROM {table} WHERE source = ?", [source])
            return int(row[0]) if row else 0

        return warehouse.transact(source, replace)


class StagedRows:
    """Rows for tables of the warehouse: in memory as long as they are few, else in Parquet files of a folder."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder, self.source = folder, source
        self._frames: dict[str, list[tuple[str, pl.DataFrame]]] = {}
        self._num_rows = 0
        self._spilled: dict[str, list[Path]] = {}
        self._num_files = 0

    def add(self, table: str, file: str, frame: pl.DataFrame) -> None:
        """Rows of a log file; the columns of the table but for `source` and `file`."""
        self._frames.setdefault(table, []).append((file, frame))
        self._num_rows += frame.height
        if self._num_rows >= SPILL_ROWS:
            self._spill()

    def insert(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Inserts all rows, which are kept until `forget`: the transaction may be run again."""
        for table, paths in self._spilled.items():
            # two threads that need not keep the order of the rows take half the time
            connection.execute("SET threads = 2")
            connection.execute("SET preserve_insertion_order = false")
            connection.execute(
                f"INSERT INTO {table} BY NAME SELECT ? AS source, * FROM read_parquet(?)",
                [self.source, [str(path) for path in paths]],
            )
            connection.execute("SET preserve_insertion_order = true")
            connection.execute("SET threads = 1")
        for table, rows in self._gathered():
            connection.register("new_rows", rows.to_arrow(compat_level=pl.CompatLevel.newest()))
            connection.execute(f"INSERT INTO {table} BY NAME SELECT ? AS source, * FROM new_rows", [self.source])
            connection.unregister("new_rows")

    def forget(self) -> None:
        """Forgets all rows, once they are in the warehouse."""
        for paths in self._spilled.values():
            for path in paths:
                path.unlink()
        self._frames, self._num_rows, self._spilled = {}, 0, {}

    def _gathered(self) -> Iterator[tuple[str, pl.DataFrame]]:
        for table, parts in self._frames.items():
            which = np.repeat(np.arange(len(parts)), [frame.height for _, frame in parts])
            files = pl.Series([file for file, _ in parts], dtype=pl.Utf8).gather(which)
            yield table, pl.concat(frame for _, frame in parts).with_columns(file=files)

    def _spill(self) -> None:
        for table, rows in self._gathered():
            path = self.folder / f"{self._num_files}.parquet"
            rows.write_parquet(path, compression="lz4", statistics=False)
            self._spilled.setdefault(table, []).append(path)
            self._num_files += 1
        self._frames, self._num_rows = {}, 0


class Overlay:
    """A database in memory whose tables and views hide those of the same name in the warehouse."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, warehouse: str) -> None:
        """warehouse: name of the warehouse's own database in statements."""
        self.connection, self.warehouse = connection, warehouse

    def make_table(self, table: str) -> None:
        """An empty table."""
        self.connection.execute(f"DROP VIEW IF EXISTS overlay.{table}")
        self.connection.execute(sql.load(table))

    def make_view(self, table: str, query: str) -> None:
        """A view, which takes the place of a table."""
        self.connection.execute(f"CREATE OR REPLACE VIEW overlay.{table} AS {query}")


@contextmanager
def overlay(connection: duckdb.DuckDBPyConnection) -> Iterator[Overlay]:
    """Lets statements write tables and read what they wrote, though the warehouse is open for reading only.

    All tables of `raw` and `core` are there, as views, until others take their names.
    """
    schemas = "raw", "core"
    (row,) = connection.execute("SELECT current_database()").fetchall()
    warehouse = f'"{row[0]}"'
    connection.execute("ATTACH ':memory:' AS overlay (READ_WRITE)")
    try:
        connection.execute("USE overlay")
        views = Overlay(connection, warehouse)
        for schema in schemas:
            connection.execute(f"CREATE SCHEMA {schema}")
        for table in sql.names("tables"):
            if table.partition(".")[0] in schemas:
                views.make_view(table, f"SELECT * FROM {warehouse}.{table}")
        yield views
    finally:
        connection.execute(f"USE {warehouse}")
        connection.execute("DETACH overlay")
