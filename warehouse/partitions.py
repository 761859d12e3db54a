"""Writing one source's rows: a write replaces its partition, so that running twice changes nothing."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl

from warehouse.door import Warehouse


def first_row(connection: duckdb.DuckDBPyConnection, query: str, parameters: object = None) -> tuple[Any, ...] | None:
    """The first row of a query, or None. (DuckDB 2 wants every result read to its end before the next statement.)"""
    rows = connection.execute(query, parameters).fetchall()
    return rows[0] if rows else None


def replace_partition(connection: duckdb.DuckDBPyConnection, table: str, source: str, rows: pl.DataFrame) -> int:
    """Deletes the rows of `source` from `table` and inserts `rows` by name; call it in a transaction.

    rows: every column of the table but `source`, in any order. Returns the number of rows written.
    """
    return replace_rows(connection, table, {"source": source}, rows)


def replace_rows(connection: duckdb.DuckDBPyConnection, table: str, key: dict[str, str], rows: pl.DataFrame) -> int:
    """Like `replace_partition`, for the rows whose columns have the values in `key`. `rows` may hold those columns or not."""
    where = " AND ".join(f"{column} = ?" for column in key)
    connection.execute(f"DELETE FROM {table} WHERE {where}", list(key.values()))
    if rows.height:
        frame = rows.with_columns(pl.lit(value).alias(column) for column, value in key.items())
        connection.register("partition_rows", frame.to_arrow())
        connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM partition_rows")
        connection.unregister("partition_rows")
    return rows.height


def replace_partitions(warehouse: Warehouse, source: str, tables: dict[str, pl.DataFrame]) -> None:
    """Replaces the rows of `source` in several tables, by name, in one transaction of its own. Raises as `Warehouse.transact`."""

    def replace(connection: duckdb.DuckDBPyConnection) -> None:
        for table, rows in tables.items():
            replace_partition(connection, table, source, rows)

    warehouse.transact(source, replace)


def replace_partition_by_query(
    connection: duckdb.DuckDBPyConnection, table: str, source: str, query: str, parameters: dict[str, object]
) -> int:
    """Like `replace_partition`, with the rows of a query over the warehouse. `parameters` are its `$name`s."""
    connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])
    row = first_row(connection, f"INSERT INTO {table} BY NAME {query}", parameters)
    return int(row[0]) if row else 0
