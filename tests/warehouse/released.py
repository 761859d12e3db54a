"""Warehouses of every released version of the tables, in text form: `released/<version>/` has schema.sql, and a CSV file of each
table that is not empty. `logs/` beside them has the logs that were ingested.

A new version is written with `python -m tests.warehouse.released HOME/warehouse/data/tracehouse.duckdb`, from a home in which the
tiny source has run, and the logs of `logs/` were ingested, as tests/warehouse/test_migrations.py tells.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from tests.lake.doors import unguarded
from warehouse import Warehouse

RELEASED = Path(__file__).with_name("released")
WHOLE = ("raw", "core", "policies")
"""Schemas of which all rows are kept; others keep ROWS of each table."""
ROWS = 25
CSV = "(FORMAT csv, HEADER, NULLSTR '\\N')"


def versions() -> list[int]:
    """The released versions, ascending."""
    return sorted(int(folder.name) for folder in RELEASED.iterdir() if folder.name.isdigit())


def write_text(database: Path, folder: Path) -> None:
    """Writes a warehouse as text."""
    folder.mkdir(parents=True)
    with duckdb.connect(str(database), read_only=True) as connection:
        tables = connection.execute("SELECT schema_name, table_name, sql FROM duckdb_tables() ORDER BY ALL").fetchall()
        (folder / "schema.sql").write_text("".join(f"{statement}\n" for _, _, statement in tables))
        for schema, table, _ in tables:
            name = f"{schema}.{table}"
            if connection.execute(f"SELECT count(*) FROM {name}").fetchall() == [(0,)]:
                continue
            limit = "" if schema in WHOLE else f" LIMIT {ROWS}"
            rows = f"SELECT * FROM {name} ORDER BY ALL{limit}"
            connection.execute(f"COPY ({rows}) TO '{folder / name}.csv' {CSV}")


def make_warehouse(version: int, database: Path) -> None:
    """Makes the warehouse of a released version from its text."""
    folder = RELEASED / f"{version}"
    with unguarded(Warehouse(database)) as connection:
        statements = (folder / "schema.sql").read_text()
        for schema in sorted({line.split()[2].partition(".")[0] for line in statements.splitlines()}):
            connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(statements)
        for file in sorted(folder.glob("*.csv")):
            connection.execute(f"COPY {file.stem} FROM '{file}' {CSV}")


if __name__ == "__main__":
    with duckdb.connect(sys.argv[1], read_only=True) as stored:
        columns = {name for (name, *_) in stored.execute("DESCRIBE core.schema_version").fetchall()}
        row = stored.execute("SELECT version FROM core.schema_version").fetchone() if "version" in columns else None
    write_text(Path(sys.argv[1]), RELEASED / f"{row[0] if row else 1}")
