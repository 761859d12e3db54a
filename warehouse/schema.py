"""Creates the warehouse's tables and views from `sql/`, and writes their comments into the database.

A table is one file `sql/tables/<schema>/<table>.sql`, a view one of `sql/views/`. The comment lines above its statement
become the comment of the table or view, the comment behind a column becomes that column's, so that `DESCRIBE` and the
catalogue teach.
"""

from __future__ import annotations

import hashlib
import re
import sys

import duckdb

import sql

SCHEMAS = ("raw", "core", "features", "predictions", "policies", "replay", "marts", "experiments")


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Creates what is missing and rewrites nothing else; is_current says whether there is anything to do."""
    wanted = _fingerprint()
    for schema in SCHEMAS:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    for name in relations():
        statement = sql.load(name)
        connection.execute(statement)
        is_view = _is_view(statement)
        if not is_view and _columns(connection, name) != table_columns(statement):
            # an older tracehouse made this table; what it holds can be made anew, so it gives way
            print(f"warehouse: {name} has a new definition and starts empty; materialize it again", file=sys.stderr)
            connection.execute(f"DROP TABLE {name}")
            connection.execute(statement)
        kind = "VIEW" if is_view else "TABLE"
        connection.execute(f"COMMENT ON {kind} {name} IS {_literal(relation_comment(statement))}")
        for column, comment in column_comments(statement).items():
            connection.execute(f'COMMENT ON COLUMN {name}."{column}" IS {_literal(comment)}')
    connection.execute("DELETE FROM core.schema_version")
    connection.execute("INSERT INTO core.schema_version VALUES (?)", [wanted])


def has_schema(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the file holds a warehouse. Call it outside of a transaction, which a table that is missing would abort."""
    return _stored_fingerprint(connection) is not None


def is_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether all tables and views are those of `sql/`. Call it outside of a transaction."""
    return _stored_fingerprint(connection) == _fingerprint()


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
    """The comment lines at the head of the file, joined."""
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


def table_columns(statement: str) -> list[tuple[str, str]]:
    """(name, type) of each column of a CREATE TABLE statement."""
    return re.findall(r"^    (\w+) ([A-Z]+)", statement, re.MULTILINE)


def _is_view(statement: str) -> bool:
    return bool(re.search(r"^CREATE (OR REPLACE )?VIEW", statement, re.MULTILINE))


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in connection.execute(f"DESCRIBE {name}").fetchall()]


def _fingerprint() -> str:
    return hashlib.sha256("\n".join(sql.load(name) for name in relations()).encode()).hexdigest()[:16]


def _stored_fingerprint(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The fingerprint of the statements that made the file; empty where it is to be made, None for no warehouse."""
    try:  # listing the tables instead would take ten times as long, at every opening
        rows = connection.execute("SELECT fingerprint FROM core.schema_version").fetchall()
    except duckdb.CatalogException:
        return None
    return rows[0][0] if rows else ""


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
