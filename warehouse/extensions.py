"""Loads DuckDB's extensions for a lake without a network: from Python wheels, or from where DuckDB has installed them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import duckdb

from warehouse.errors import WarehouseError

WHEELS = {
    "ducklake": "duckdb_extension_ducklake",
    "postgres_scanner": "duckdb_extension_postgres_scanner",
    "httpfs": "duckdb_extension_httpfs",
}
"""By name of the extension: the package that brings its file."""
INSTALLED_AS = {"postgres_scanner": "postgres"}
"""How INSTALL calls it, where that is another name."""


def connect_with(*names: str) -> duckdb.DuckDBPyConnection:
    """A new database in memory, with these extensions loaded. Raises WarehouseError, with the way out, where one is missing."""
    paths = {name: wheel_file(name) for name in names}
    # DuckDB checks its signature over the whole file at each loading, which takes half a second. A wheel is as trusted as DuckDB's own
    from_wheels = all(paths.values())
    connection = duckdb.connect(
        config={"allow_unsigned_extensions": from_wheels, "autoinstall_known_extensions": False}
    )
    try:
        connection.execute("SET enable_progress_bar = false")  # it would be printed among what a command prints
        for name, path in paths.items():
            connection.execute(f"LOAD '{path}'" if path else f"LOAD {INSTALLED_AS.get(name, name)}")
    except duckdb.Error as error:
        connection.close()
        raise WarehouseError(_missing(names, error)) from None
    if from_wheels:
        connection.execute("SET allow_unsigned_extensions = false")
    return connection


def wheel_file(name: str) -> Path | None:
    """The file of an extension that a wheel has brought for this version of DuckDB."""
    spec = find_spec(WHEELS[name])
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    return path if path.exists() else None


def _missing(names: tuple[str, ...], error: duckdb.Error) -> str:
    first_line = str(error).splitlines()[0]
    needed = [INSTALLED_AS.get(name, name) for name in names]
    install = "; ".join(f"INSTALL {name}" for name in needed)
    wheels = " ".join(f"{WHEELS[name].replace('_', '-')}==1.5.5" for name in names)
    return (
        f"a lake needs DuckDB's extensions {' and '.join(needed)}, and DuckDB {duckdb.__version__} has not all of them ({first_line}). "
        f"With a network: python -c \"import duckdb; duckdb.sql('{install}')\". Without: pip install duckdb==1.5.5 {wheels}"
    )
