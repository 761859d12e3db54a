"""Brings the tables of an older warehouse up to date. Every row is kept.

The tables have a version, which is a number. Version 1 is that of the first release. `sql/migrations/<number>_<what>.sql`
leads to a version from the one before. It renames columns, and fills those that must not be empty. Columns that only appear,
or become wider, need no statement: rows are carried over by the names of their columns. Canonical jobs whose statements have
changed are recomputed at the next ingest, since the ledger knows which statements made them (`assets/ingest/versions.py`).
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

import duckdb

import sql
from warehouse.errors import WarehouseError

FIRST_COLUMNS = "1b9f2dce519887f0"
"""Hash over the columns of all tables of version 1, which has no number in the file."""
CURRENT_VERSION = max(sql.migrations(), default=1)


class Stored(NamedTuple):
    """What a file says of its tables. fingerprint: of the statements that made tables and views; empty where it is to be made."""

    version: int
    fingerprint: str


def stored_version(connection: duckdb.DuckDBPyConnection) -> Stored | None:
    """What the file says of its tables; None where there is no warehouse. Call it outside of a transaction, which a table that is
    missing would abort. Raises WarehouseError for tables that this tracehouse does not know."""
    try:  # listing the tables instead would take ten times as long, at every opening
        rows = connection.execute("SELECT version, fingerprint FROM core.schema_version").fetchall()
    except duckdb.CatalogException:
        return None
    except duckdb.BinderException:  # no such column
        if columns_hash(connection) == FIRST_COLUMNS:
            return Stored(1, "")
        raise WarehouseError(
            "its tables are of a tracehouse before the first release, which cannot be upgraded. Nothing was changed. Give "
            "another folder as TRACEHOUSE_HOME and ingest the logs there"
        ) from None
    if not rows:
        return Stored(CURRENT_VERSION, "")
    stored = Stored(*rows[0])
    if stored.version > CURRENT_VERSION:
        raise WarehouseError(
            f"its tables have version {stored.version}, and this tracehouse knows versions 1 to {CURRENT_VERSION}. Nothing was "
            "changed. Update tracehouse"
        )
    return stored


def migrate(connection: duckdb.DuckDBPyConnection, version: int) -> None:
    """Applies the migrations behind this version, then carries rows over where a table's definition is another one. Call it in a
    transaction. Raises WarehouseError where a column would be lost."""
    for number, text in sql.migrations().items():
        if number > version:
            connection.execute(text)
    for name in sql.names("tables"):
        if table_exists(connection, name):
            _adopt_definition(connection, name, sql.load(name))


def table_columns(statement: str) -> list[tuple[str, str]]:
    """(name, type) of each column of a CREATE TABLE statement."""
    return re.findall(r"^    (\w+) ([A-Z]+)", statement, re.MULTILINE)


def stored_columns(connection: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str, str]]:
    """(name, type) of each column of a table of the warehouse."""
    return [(row[0], row[1]) for row in connection.execute(f"DESCRIBE {name}").fetchall()]


def table_exists(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether the warehouse has this table, given as schema.table."""
    schema, _, table = name.partition(".")
    query = "SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = ? AND table_name = ?"
    return connection.execute(query, [schema, table]).fetchall() != [(0,)]


def columns_hash(connection: duckdb.DuckDBPyConnection) -> str:
    """16 hexadecimal digits over names and types of the columns of all tables."""
    rows = connection.execute(
        "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = current_database() AND (schema_name, table_name) IN (SELECT (schema_name, table_name) FROM "
        "duckdb_tables() WHERE database_name = current_database()) ORDER BY ALL"
    ).fetchall()
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def _adopt_definition(connection: duckdb.DuckDBPyConnection, name: str, statement: str) -> None:
    """Gives a table the columns of its definition, in that order, and keeps its rows."""
    wanted, stored = table_columns(statement), stored_columns(connection, name)
    if stored == wanted:
        return
    lost = {column for column, _ in stored} - {column for column, _ in wanted}
    if lost:
        raise WarehouseError(f"{name}: no migration says what becomes of {', '.join(sorted(lost))}")
    # the new table takes the name last: a lake cannot give the name of a table that this transaction has altered to another one
    connection.execute(statement.replace(f" {name} (", f" {name}_after (", 1))
    connection.execute(f"INSERT INTO {name}_after BY NAME SELECT * FROM {name}")
    connection.execute(f"DROP TABLE {name}")
    connection.execute(f"ALTER TABLE {name}_after RENAME TO {name.partition('.')[2]}")
