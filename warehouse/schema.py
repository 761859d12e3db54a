"""Creates the warehouse's tables and views from `sql/`, and writes their comments into the database.

A table is a part of `sql/tables/<schema>.sql`, a view one of `sql/views/<schema>.sql`. The comment lines above its statement become the
comment of the table or view, the comment behind a column becomes that column's, so that `DESCRIBE` and the catalogue teach.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

import duckdb

import sql
from warehouse.errors import WarehouseError
from warehouse.migrations import CURRENT_VERSION, Stored, migrate, stored_columns, table_columns

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
        connection.execute(f"COMMENT ON {kind} {name} IS {_literal(comment)}")
        for column, comment in of_columns.items():
            connection.execute(f'COMMENT ON COLUMN {name}."{column}" IS {_literal(comment)}')
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


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
