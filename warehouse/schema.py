"""Creates the warehouse's tables and views from `sql/`, and writes their comments into the database.

A table is a part of `sql/tables/<schema>.sql`, a view one of `sql/views/<schema>.sql`. The comment lines above its statement become the
comment of the table or view, the comment behind a column becomes that column's, so that `DESCRIBE` and the catalogue teach.

Brings the tables of an older warehouse up to date. Every row is kept.

The tables have a version, which is a number. Version 1 is that of the first release. `sql/migrations/<number>_<what>.sql`
leads to a version from the one before. It renames columns, and fills those that must not be empty. Columns that only appear,
or become wider, need no statement: rows are carried over by the names of their columns. Canonical jobs whose statements have
changed are recomputed at the next ingest, since the ledger knows which statements made them (`assets/ingest/versions.py`).
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
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
    """Gives a table the columns of its definition, in that order, and keeps its rows. Columns that may be NULL by then become so."""
    wanted, stored = table_columns(statement), stored_columns(connection, name)
    strict = set(re.findall(r"^    (\w+) [A-Z]+ NOT NULL", statement, re.MULTILINE))
    is_stricter = any(
        row[2] == "NO" and row[0] not in strict for row in connection.execute(f"DESCRIBE {name}").fetchall()
    )
    if stored == wanted and not is_stricter:
        return
    lost = {column for column, _ in stored} - {column for column, _ in wanted}
    if lost:
        raise WarehouseError(f"{name}: no migration says what becomes of {', '.join(sorted(lost))}")
    # the new table takes the name last: a lake cannot give the name of a table that this transaction has altered to another one
    connection.execute(statement.replace(f" {name} (", f" {name}_after (", 1))
    connection.execute(f"INSERT INTO {name}_after BY NAME SELECT * FROM {name}")
    connection.execute(f"DROP TABLE {name}")
    connection.execute(f"ALTER TABLE {name}_after RENAME TO {name.partition('.')[2]}")


# --- schema


SCHEMAS = ("raw", "core", "features", "predictions", "policies", "replay", "marts", "experiments")


def create_schema(connection: duckdb.DuckDBPyConnection, stored: Stored | None = None) -> None:
    """Makes all tables and views, and writes their comments; brings those of an older warehouse up to date first.

    stored: what the file says of itself, None for an empty one. Call it in a transaction. Raises WarehouseError where rows
    cannot be kept.
    """
    if stored is not None and stored.version < CURRENT_VERSION:
        migrate(connection, stored.version)
    in_lake = is_lake(connection)
    for schema in SCHEMAS:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    for name in relations():
        statement = sql.load(name)
        connection.execute(statement)
        is_view = _is_view(statement)
        if not is_view and stored_columns(connection, name) != table_columns(statement):
            raise WarehouseError(f"{name} has a new definition, and no migration leads to it")
        kind = "VIEW" if is_view else "TABLE"
        comment, of_columns = relation_comment(statement), column_comments(statement)
        if is_view and in_lake:  # which has no comments on the columns of views
            comment, of_columns = "\n".join([comment, *(f"{key}: {text}" for key, text in of_columns.items())]), {}
        connection.execute(f"COMMENT ON {kind} {name} IS {literal(comment)}")
        for column, comment in of_columns.items():
            connection.execute(f'COMMENT ON COLUMN {name}."{column}" IS {literal(comment)}')
    connection.execute("DELETE FROM core.schema_version")
    connection.execute("INSERT INTO core.schema_version VALUES (?, ?)", list(wanted()))


def is_lake(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the current database is a lake, and not a file."""
    rows = connection.execute("SELECT type FROM duckdb_databases() WHERE database_name = current_database()").fetchall()
    return rows == [("ducklake",)]


@cache
def wanted() -> Stored:
    """What a warehouse that is up to date says of its tables."""
    return Stored(CURRENT_VERSION, _fingerprint())


def relations() -> list[str]:
    """Qualified names of all tables, then of all views, each after those that it reads."""
    ordered, views = list(sql.names("tables")), list(sql.names("views"))
    while views:
        free = [
            name
            for name in views
            if not any(re.search(rf"\b{re.escape(other)}\b", sql.load(name)) for other in views if other != name)
        ]
        ordered += free
        views = [name for name in views if name not in free]
    return ordered


def relation_comment(statement: str) -> str:
    """The comment lines at the head of a statement, joined."""
    head = []
    for line in statement.splitlines():
        if not line.startswith("--"):
            break
        head.append(line[2:].strip())
    return " ".join(head)


def column_comments(statement: str) -> dict[str, str]:
    """Column name -> comment behind it, in order: `name TYPE, -- comment` in a table, `... AS name, -- comment` in a view."""
    comments = {}
    for line in statement.splitlines():
        column = re.match(r"\s+(.*?),?\s+-- (.*)$", line)
        if column:
            code = column.group(1)
            alias = re.search(r"\bAS (\w+)$", code)
            name = alias.group(1) if alias else re.split(r"\s", code)[0].split(".")[-1]
            comments[name] = column.group(2).strip()
    return comments


def _is_view(statement: str) -> bool:
    return bool(re.search(r"^CREATE (OR REPLACE )?VIEW", statement, re.MULTILINE))


def _fingerprint() -> str:
    return hashlib.sha256("\n".join(sql.load(name) for name in relations()).encode()).hexdigest()[:16]


def literal(text: str) -> str:
    """A text in a statement."""
    return "'" + text.replace("'", "''") + "'"
