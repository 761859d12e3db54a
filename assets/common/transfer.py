"""`tracehouse warehouse copy`: a warehouse into another one, with the model files that its rows name. Or into one for readers who may see
pseudonyms only."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import polars as pl

import sql
from assets.common.archive import is_archive_name
from assets.common.journal import DATABASE, MODELS
from assets.common.progress import progress_bar
from assets.common.storage import data_folder, pseudonym_key, write_whole
from assets.common.writing.outputs import refuse_own
from traces.common.pseudonyms import DEFAULT_KINDS, fingerprint_of, replace_names
from warehouse import NoWarehouse, Warehouse, WarehouseError
from warehouse.copying import copied_tables, copy_rows
from warehouse.lake_place import PREFIX, lake_of_text
from warehouse.schema import table_columns

STORAGE = "v1.0.0"
"""Of DuckDB's file format, for plug-ins and wheels that have older versions of DuckDB than tracehouse has."""
_OF_PEOPLE = frozenset(("folder", "root", "node_list", "exec_host", "exec_vnode", "node_name", "owner_name"))
"""Columns in which names of people may be, as parts of paths and of limits. Their tables stay empty for readers of pseudonyms."""


@dataclass(frozen=True)
class Copied:
    """rows: by table. files: model files that were copied, without those that were there already."""

    rows: dict[str, int]
    files: int


def warehouse_at(text: str, data: str) -> Warehouse:
    """The warehouse of a database file, of a home's folder, or of a lake. data: where the tables of a lake are.

    Raises WarehouseError for what is none of these.
    """
    if text.startswith(PREFIX):
        return Warehouse(lake_of_text(text, data, data_folder()))
    if "://" in text or text.startswith("ducklake:"):
        raise WarehouseError(
            f"{text.partition(':')[0]}:...: is no place of a warehouse. Give a file, or {PREFIX}dbname=NAME host=HOST"
        )
    path = Path(text)
    return Warehouse(path / "warehouse" / "data" / DATABASE if path.is_dir() else path)


def copy_warehouse(
    source: Warehouse, target: Warehouse, replace: bool = False, pseudonyms: bool = False, older_duckdb: bool = False
) -> Copied:
    """Copies rows and model files. A copy that was killed can be run again.

    replace: whether rows of the target are replaced. pseudonyms: names of people become the pseudonyms of this home's key, and lines of
    logs, paths, and model files are left out. older_duckdb: a new file is one that DuckDB 1.0 and later can open. Raises WarehouseError
    where the target is the source or has rows.
    """
    if source.place == target.place:
        raise WarehouseError(f"{source.name}: a warehouse cannot be copied into itself")
    if not source.exists():
        raise NoWarehouse(f"{source.name}: there is no warehouse to copy. Check the name")
    if target.lake is None:
        refuse_own(target.path, but=data_folder() / DATABASE)
        target.path.parent.mkdir(parents=True, exist_ok=True)
        if older_duckdb and not target.path.exists():
            with duckdb.connect() as connection:
                path = str(target.path).replace("'", "''")
                connection.execute(f"ATTACH '{path}' AS made (STORAGE_VERSION '{STORAGE}')")
    files = 0 if pseudonyms else copy_models(source.artefacts, target.artefacts)
    change = partial(_with_pseudonyms, key=pseudonym_key(source)) if pseudonyms else None
    with progress_bar("tables", len(copied_tables())) as bar:
        rows = copy_rows(source, target, replace, _with_names() if pseudonyms else (), change, lambda *_: bar.update())
    return Copied(rows, files)


def copy_models(source: Path, target: Path) -> int:
    """Copies the model files that the target lacks, and returns how many. A name carries the hash, so that one of a name is the same."""
    missing = []
    for path in sorted((source / MODELS).rglob("*")):
        name = f"{MODELS}/{path.relative_to(source / MODELS).as_posix()}"
        if path.is_file() and not path.is_symlink() and is_archive_name(name) and not (target / name).exists():
            missing.append((path, target / name))
    with progress_bar("model files", len(missing)) as bar:
        for path, copy in missing:
            write_whole(copy, path.read_bytes())
            shutil.copystat(path, copy)  # its age tells whether it is in use
            bar.update()
    return len(missing)


def _with_names() -> list[str]:
    """Tables of which readers of pseudonyms see nothing, since lines of logs or paths are in them."""
    return [
        name
        for name in copied_tables()
        if name.startswith("raw.") or _OF_PEOPLE & {column for column, _ in table_columns(sql.load(name))}
    ]


def _with_pseudonyms(name: str, rows: pl.DataFrame, key: bytes) -> pl.DataFrame:
    """Rows of a table in which names of people are pseudonyms. What is one already stays."""
    if name == "core.sources":
        rows = rows.with_columns(pl.col("pseudonym_key").fill_null(fingerprint_of(key)))
    return replace_names(rows, DEFAULT_KINDS, key, keep_pseudonyms=True)
