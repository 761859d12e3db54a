"""A copy of the warehouse for dashboards, so that no reader blocks a writer.

DuckDB lets one process write, or many read. A dashboard that has the warehouse open would hold up every run. The copy is another file:
it is built beside its place, and renamed into it when it is whole. Whoever has the one before open goes on with that.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

import sql
from assets.common.backup import copy_files, fold_journal, require_space
from assets.common.journal import DATABASE, sync
from assets.common.storage import open_warehouse
from assets.common.transfer import STORAGE
from assets.common.writing.outputs import refuse_own, write_output
from assets.sharing.metrics_text import metrics_text
from traces.catalogue.catalogue import Readers, load_catalogue
from warehouse import Warehouse, confined, file_lock
from warehouse.copying import copy_rows
from warehouse.schema import create_schema

LEFT_EMPTY = tuple(
    name for name in sql.names("tables") if name.startswith("raw.") and name not in ("raw.log_files", "raw.line_counts")
)
"""Tables whose rows are lines of the logs, some with names of people and hosts in them. No view of a result reads them."""


def write_readers_copy(warehouse: Warehouse, target: Path) -> None:
    """Writes the copy, which appears whole or not at all. Writers wait while the database file is copied, and no longer.

    Raises ValueError for a target among tracehouse's own files, WarehouseError where there is no warehouse.
    """
    refuse_own(target)
    target = target.resolve()
    if _is_of(target, warehouse):
        raise ValueError(f"{target}: is the warehouse itself. Give another place")
    with warehouse.read():  # it exists, and its tables are up to date
        pass
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.with_name(f".{target.name}.part")
    with file_lock(target.with_name(f".{target.name}.lock"), of=target):
        shutil.rmtree(staging, ignore_errors=True)  # of a process that was killed
        try:
            staging.mkdir(mode=0o700)
            if warehouse.lake is None:
                require_space(staging, 2 * warehouse.path.stat().st_size)
                with warehouse.paused():
                    journal = warehouse.path.with_name(f"{warehouse.path.name}.wal")
                    files = [path for path in (warehouse.path, journal) if path.exists()]
                    copy_files([(path, staging / path.name) for path in files], lambda _: None)
                fold_journal(staging / DATABASE)
            else:
                copy_rows(warehouse, Warehouse(staging / DATABASE), without=LEFT_EMPTY)
            _build(staging)
            sync(staging / "copy")
            (staging / "copy").replace(target)
            sync(target.parent)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _is_of(target: Path, warehouse: Warehouse) -> bool:
    """Whether a path is the warehouse's own, which need not be that of this home."""
    if warehouse.lake is None:
        return target == warehouse.path.resolve()
    return warehouse.lake.is_folder and target.is_relative_to(Path(warehouse.lake.data).resolve())


def _build(staging: Path) -> None:
    """Makes the file `copy` of the database file beside it, with all tables, views and comments, and without the rows of LEFT_EMPTY: what
    is deleted from a file can still be read in it."""
    with duckdb.connect() as connection:
        connection.execute("SET allowed_directories = [?]", [f"{staging}/"])
        connection.execute(
            "SET enable_external_access = false"
        )  # views of the warehouse, whoever has made them, read no other file
        connection.execute(f"ATTACH {_literal(staging / DATABASE)} AS former (READ_ONLY)")
        connection.execute(f"ATTACH {_literal(staging / 'copy')} AS made (STORAGE_VERSION '{STORAGE}')")
        connection.execute("USE made")
        connection.execute("BEGIN")
        create_schema(connection)
        for name in sql.names("tables"):
            if name not in (*LEFT_EMPTY, "core.schema_version"):
                connection.execute(f"INSERT INTO made.{name} BY NAME FROM former.{name}")
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH former")
        connection.execute("CHECKPOINT made")
        connection.execute("DETACH made")


def _literal(path: Path) -> str:
    text = str(path).replace("'", "''")
    return f"'{text}'"


def refresh_readers(readers: Readers | None = None) -> list[Path]:
    """Writes the read-only copy and the text file for Prometheus, and returns what was written. readers: what is wanted, None for what
    the catalogue says. Raises as `write_readers_copy` and `write_output` do."""
    wanted = load_catalogue().readers if readers is None else readers
    written = []
    with confined():
        if wanted.copy is not None:
            write_readers_copy(open_warehouse(), wanted.copy)
            written.append(wanted.copy)
        if wanted.metrics is not None:
            write_output(wanted.metrics, metrics_text(open_warehouse(), []).encode())
            written.append(wanted.metrics)
    return written
