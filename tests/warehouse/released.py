"""Warehouses of every released version of the tables, one packed file each: `released/<version>.tar.xz` has schema.sql, and a CSV
file of each table that is not empty. `logs/` beside them has the logs that were ingested.

A new version is written with `python -m tests.warehouse.released HOME/warehouse/data/tracehouse.duckdb`, from a home in which the
tiny source has run, and the logs of `logs/` were ingested, as tests/warehouse/test_schema_migrations.py tells.
"""

from __future__ import annotations

import functools
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import duckdb

from tests.lake.doors import server_of_tests, unguarded
from warehouse import Warehouse

RELEASED = Path(__file__).with_name("released")
PACKED = ".tar.xz"
WHOLE = ("raw", "core", "policies")
"""Schemas of which all rows are kept; others keep ROWS of each table."""
ROWS = 25
CSV = "(FORMAT csv, HEADER, NULLSTR '\\N')"


def versions() -> list[int]:
    """The released versions, ascending."""
    return sorted(int(file.name.removesuffix(PACKED)) for file in RELEASED.glob(f"*{PACKED}"))


def packed(version: int) -> Path:
    """The file of a released version."""
    return RELEASED / f"{version:02}{PACKED}"


def write_packed(database: Path, file: Path) -> None:
    """Writes a warehouse into a packed file. The same rows give the same bytes."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(str(database), read_only=True) as connection:
        tables = connection.execute("SELECT schema_name, table_name, sql FROM duckdb_tables() ORDER BY ALL").fetchall()
        (Path(folder) / "schema.sql").write_text("".join(f"{statement}\n" for _, _, statement in tables))
        for schema, table, _ in tables:
            name = f"{schema}.{table}"
            if connection.execute(f"SELECT count(*) FROM {name}").fetchall() == [(0,)]:
                continue
            limit = "" if schema in WHOLE else f" LIMIT {ROWS}"
            rows = f"SELECT * FROM {name} ORDER BY ALL{limit}"
            connection.execute(f"COPY ({rows}) TO '{Path(folder) / name}.csv' {CSV}")
        pack(Path(folder), file)


def pack(folder: Path, file: Path) -> None:
    """Packs the files of a folder by name, with neither times nor owners."""
    with tarfile.open(file, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for member in sorted(folder.iterdir()):
            entry = tarfile.TarInfo(member.name)
            entry.size = member.stat().st_size
            with member.open("rb") as content:
                archive.addfile(entry, content)


def make_warehouse(version: int, database: Path) -> None:
    """Makes the warehouse of a released version. A process makes a file of each version once, and copies it after that."""
    if server_of_tests() is None:
        shutil.copyfile(_made_once(version), database)
    else:
        _unpack(version, database)


@functools.cache
def _made_once(version: int) -> Path:
    database = Path(_folder().name) / f"{version}.duckdb"
    _unpack(version, database)
    return database


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where this process keeps the warehouses that it has made, until it ends."""
    return tempfile.TemporaryDirectory(prefix="tracehouse-released-")


def _unpack(version: int, database: Path) -> None:
    with tempfile.TemporaryDirectory() as name, unguarded(Warehouse(database)) as connection:
        folder = Path(name)
        with tarfile.open(packed(version)) as archive:
            archive.extractall(folder, filter="data")
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
    write_packed(Path(sys.argv[1]), packed(row[0] if row else 1))
