"""`tracehouse backup`: what cannot be made from the logs again, in one archive, while runs go on.

Under the warehouse's lock the database file is copied, and the model files are linked, so that rows and files belong together.
Hashing and compressing come after it, when writers go on.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import duckdb

from assets.common.archive import (
    CATALOGUE,
    CHUNK,
    CLUSTERS,
    PSEUDONYM_KEY,
    Advance,
    ArchivedFile,
    Manifest,
    describe_file,
    is_archive_name,
    write_archive,
)
from assets.common.journal import DATABASE, MODELS, clear_leftovers
from assets.common.progress import progress_bar
from assets.common.storage import artefacts_folder, data_folder, open_warehouse
from assets.common.writing.outputs import refuse_own
from traces.catalogue.places import clusters_folder, local_catalogue_path, pseudonym_key_path
from warehouse import Warehouse, file_lock
from warehouse.copying import copy_rows
from warehouse.schema import CURRENT_VERSION

BACKUP_LOCK = ".backup.lock"
IN_USE = (
    "predictions.champions",
    "predictions.remaining_time_models",
    "policies.scheduling_policies",
    "experiments.policies",
)
"""Tables and views whose model files must be there. Older run-time models that never were champion lose theirs."""

_CLOSED: dict[str, str | bool | int | float | list[str]] = {"enable_external_access": "false"}
"""Its views read no other files, whoever has made them."""


@dataclass(frozen=True)
class Backup:
    """What was written. lost: model files that the warehouse uses, and that are missing or not what they were."""

    manifest: Manifest
    size_bytes: int
    lost: list[str]


def back_up(target: Path, replace: bool = False) -> Backup:
    """Writes the archive. Writers wait while the database file is copied, readers go on. A lake's rows are in it as such a file.

    replace: whether a file of this name may be replaced. Raises ValueError for a target that cannot be, WarehouseError where there
    is no warehouse, or none that this tracehouse knows.
    """
    data, warehouse = data_folder(), open_warehouse()
    _check_target(target, replace)
    warehouse.settle()
    warehouse.must_exist()
    with file_lock(data / BACKUP_LOCK, of=data):
        clear_leftovers(data)
        staging = data / ".backup"
        shutil.rmtree(staging, ignore_errors=True)  # of a backup that was killed
        try:
            staging.mkdir(mode=0o700)
            if warehouse.lake is None:
                require_space(data, warehouse.path.stat().st_size)
                with warehouse.paused() as stored:
                    _collect(warehouse.path, staging)
                fold_journal(staging / DATABASE)
                tables = stored.version
            else:  # its rows of one moment become a file, while writers go on
                copy_rows(warehouse, Warehouse(staging / DATABASE))
                _link_models(artefacts_folder(), staging)
                _copy_small_files(staging)
                tables = CURRENT_VERSION
            (staging / f"{DATABASE}.lock").unlink(missing_ok=True)
            manifest = _manifest(staging, tables)
            lost = _lost_models(staging / DATABASE, manifest)
            _check_target(target, replace)
            with progress_bar("compressing, MiB", manifest.size_bytes >> 20) as bar:
                write_archive(target, manifest, staging, lambda count: bar.update(count / (1 << 20)))
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return Backup(manifest, target.stat().st_size, lost)


def require_space(folder: Path, size_bytes: int) -> None:
    """Raises ValueError where the file system of a folder has not this many bytes left."""
    free = shutil.disk_usage(folder).free
    if free < size_bytes:
        raise ValueError(
            f"{folder}: {size_bytes / 1e6:,.0f} MB are needed there, and {free / 1e6:,.0f} MB are free. Nothing was changed"
        )


def _check_target(target: Path, replace: bool) -> None:
    if target.exists() and not replace:
        raise ValueError(f"{target}: exists. Give another name, or --replace to replace it")
    if not target.parent.is_dir():
        raise ValueError(f"{target}: there is no folder {target.parent}. Make it first")
    refuse_own(target)


def _collect(database: Path, staging: Path) -> None:
    """Copies what is to be archived. Call it while nobody writes."""
    journal = database.with_name(f"{database.name}.wal")  # there after a writer was killed
    pairs = [(path, staging / path.name) for path in (database, journal) if path.exists()]
    total = sum(path.stat().st_size for path, _ in pairs)
    with progress_bar("copying, MiB", total >> 20) as bar:
        copy_files(pairs, lambda count: bar.update(count / (1 << 20)))
    _link_models(database.parent, staging)
    _copy_small_files(staging)


def _link_models(artefacts: Path, staging: Path) -> None:
    models = artefacts / MODELS
    for path in sorted(models.rglob("*")):
        name = f"{MODELS}/{path.relative_to(models).as_posix()}"
        temporary = path.suffix in (".part", ".checkpoint")
        if path.is_file() and not path.is_symlink() and not temporary and is_archive_name(name):
            _link(path, staging / name)


def _copy_small_files(staging: Path) -> None:
    for path, name in ((pseudonym_key_path(), PSEUDONYM_KEY), (local_catalogue_path(), CATALOGUE)):
        if path.exists():
            shutil.copyfile(path, staging / name)
    for path in sorted(clusters_folder().glob("*.toml")):
        if is_archive_name(f"{CLUSTERS}/{path.name}"):
            (staging / CLUSTERS).mkdir(exist_ok=True)
            shutil.copyfile(path, staging / CLUSTERS / path.name)


def copy_files(pairs: list[tuple[Path, Path]], advance: Advance) -> None:
    """Copies files. None is closed before all are copied: closing one would end this process's lock on it."""
    sources = [path.open("rb") for path, _ in pairs]
    try:
        for source, (_, copy) in zip(sources, pairs, strict=True):
            with copy.open("wb") as file:
                while chunk := source.read(CHUNK):
                    file.write(chunk)
                    advance(len(chunk))
    finally:
        for source in sources:
            source.close()


def _link(path: Path, name: Path) -> None:
    """A second name for a model file, which never changes; a copy where the file system has no such names."""
    name.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, name)
    except FileNotFoundError:  # it has just been removed, since no row names it
        pass
    except OSError:
        shutil.copyfile(path, name)


def fold_journal(database: Path) -> None:
    """Brings what DuckDB's journal still holds into the copied file, so that the copy is one file."""
    if database.with_name(f"{database.name}.wal").exists():
        with duckdb.connect(str(database), config=_CLOSED) as connection:
            connection.execute("CHECKPOINT")


def _manifest(staging: Path, tables: int) -> Manifest:
    paths = [path for path in sorted(staging.rglob("*")) if path.is_file()]
    files: list[ArchivedFile] = []
    with progress_bar("hashing, MiB", sum(path.stat().st_size for path in paths) >> 20) as bar:
        for path in paths:
            name = path.relative_to(staging).as_posix()
            files.append(describe_file(path, name, lambda count: bar.update(count / (1 << 20))))
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return Manifest(version("tracehouse"), tables, made, tuple(files))


def _lost_models(database: Path, manifest: Manifest) -> list[str]:
    """Model files that the warehouse uses, and that the archive has not, or not as they were."""
    hashes = {file.name: file.sha256 for file in manifest.files}
    lost = set()
    with duckdb.connect(str(database), read_only=True, config=_CLOSED) as connection:
        for table in IN_USE:
            try:
                rows = connection.execute(f"SELECT DISTINCT file, sha256 FROM {table}").fetchall()
            except (duckdb.CatalogException, duckdb.BinderException):  # of an older release
                continue
            lost |= {file for file, sha256 in rows if hashes.get(file) != sha256}
    return sorted(lost)
