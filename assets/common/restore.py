"""`tracehouse restore`: puts an archive of `tracehouse backup` in the place of a home's warehouse, models, key, clusters and catalogue.

All is unpacked beside its place and verified first. Then a journal is written, and it counts (`assets/common/journal.py`). Killed
before that, the home is as it was; killed after it, the next command finishes the work.
"""

from __future__ import annotations

import os
from pathlib import Path

from assets.common.archive import CATALOGUE, CLUSTERS, PSEUDONYM_KEY, Manifest, unpack_archive
from assets.common.backup import BACKUP_LOCK, require_space
from assets.common.journal import (
    DATABASE,
    MODELS,
    beside,
    clear_leftovers,
    commit_restore,
    finish_restore,
    sync,
    unpacked_folder,
)
from assets.common.progress import progress_bar
from assets.common.storage import HOME_LOCK, data_folder, open_warehouse, write_whole
from assets.common.transfer import copy_models
from traces.catalogue.places import clusters_folder, home, local_catalogue_path, pseudonym_key_path
from warehouse import Warehouse, WarehouseError, file_lock
from warehouse.copying import copy_rows
from warehouse.schema import CURRENT_VERSION


def restore_backup(archive: Path, replace: bool = False) -> Manifest:
    """Restores an archive into `home()`; returns what was in it.

    replace: whether what is there may be replaced. A key, catalogue or cluster that the archive lacks stays as it is. Raises ValueError for
    an archive that cannot be restored and for a home that is not empty, WarehouseBusy while a run has the warehouse open. Then
    nothing has changed. A run that is between two uses of the warehouse is not noticed.
    """
    data = data_folder()
    with archive.open("rb"):  # before anything is made
        pass
    data.mkdir(parents=True, exist_ok=True)
    for lock in (BACKUP_LOCK, HOME_LOCK):
        (data / lock).touch()
    warehouse = open_warehouse()
    if warehouse.lake is not None:
        return _restore_lake(archive, warehouse, replace)
    with warehouse.replacing():
        if not replace:
            _refuse_used(data)
        clear_leftovers(data)
        try:
            manifest = _unpacked(archive, data)
            replaced, clusters = _small_files(data), _cluster_files(data)
            if not replace:
                _refuse_other([*replaced, *clusters])
            for new, target in replaced:
                _lay_beside(new, target)
            _write_clusters(clusters)
            catalogue = local_catalogue_path() if manifest.holds(CATALOGUE) else None
            commit_restore(data, catalogue)
        finally:
            clear_leftovers(data)  # unless it counts
        finish_restore(data)
    return manifest


def _restore_lake(archive: Path, warehouse: Warehouse, replace: bool) -> Manifest:
    """Restores an archive into a lake. Its rows are replaced in one transaction, after everything else. Killed, it can be run again."""
    data = data_folder()
    with file_lock(data / BACKUP_LOCK, of=data), file_lock(data / HOME_LOCK, of=data):
        clear_leftovers(data)
        try:
            manifest = _unpacked(archive, data)
            replaced, clusters = _small_files(data), _cluster_files(data)
            if not replace:
                _refuse_other([*replaced, *clusters])
            _write_clusters(clusters)
            copy_models(unpacked_folder(data), warehouse.artefacts)
            for new, target in replaced:
                _lay_beside(new, target)
                beside(target).replace(target.resolve())
            copy_rows(Warehouse(unpacked_folder(data) / DATABASE), warehouse, replace)
        finally:
            clear_leftovers(data)
    return manifest


def _refuse_used(data: Path) -> None:
    """Raises ValueError where there is a warehouse, or models."""
    models = data / MODELS
    for path in (data / DATABASE, *(path for path in models.rglob("*") if path.is_file())):
        if path.exists():
            raise ValueError(_not_empty(path))


def _refuse_other(replaced: list[tuple[Path, Path]]) -> None:
    """Raises ValueError where there is another key, catalogue or cluster than that of the archive."""
    for new, target in replaced:
        if target.exists() and target.read_bytes() != new.read_bytes():
            raise ValueError(_not_empty(target))


def _not_empty(path: Path) -> str:
    return (
        f"{home()} is not empty: {path} is there. Give --replace to put the archive in its place, or another folder as "
        "TRACEHOUSE_HOME. Nothing was changed"
    )


def _unpacked(archive: Path, data: Path) -> Manifest:
    """Unpacks the archive, and makes sure that this tracehouse can use it."""

    def check(manifest: Manifest) -> None:
        if manifest.tables > CURRENT_VERSION:
            raise ValueError(
                f"{archive}: tracehouse {manifest.tracehouse} has written it, whose tables have version {manifest.tables}. This one "
                f"knows versions 1 to {CURRENT_VERSION}. Nothing was changed. Update tracehouse"
            )
        require_space(data, manifest.size_bytes)
        bar.total = manifest.size_bytes >> 20

    with progress_bar("unpacking, MiB", 0) as bar:
        manifest = unpack_archive(archive, unpacked_folder(data), check, lambda count: bar.update(count / (1 << 20)))
    unpacked = unpacked_folder(data)
    (unpacked / MODELS).mkdir(exist_ok=True)
    sync(unpacked)
    try:
        with Warehouse(unpacked / DATABASE, timeout_s=0).paused():
            pass
    except WarehouseError as error:
        raise ValueError(f"{archive}: its warehouse cannot be used. {error}") from None
    return manifest


def _small_files(data: Path) -> list[tuple[Path, Path]]:
    """(unpacked, its place) of key and catalogue, as far as the archive has them."""
    places = ((PSEUDONYM_KEY, pseudonym_key_path()), (CATALOGUE, local_catalogue_path()))
    pairs = [(unpacked_folder(data) / name, place) for name, place in places]
    return [(new, place) for new, place in pairs if new.exists()]


def _cluster_files(data: Path) -> list[tuple[Path, Path]]:
    """(unpacked, its place) of the clusters in the archive."""
    unpacked = sorted((unpacked_folder(data) / CLUSTERS).glob("*.toml"))
    return [(new, clusters_folder() / new.name) for new in unpacked]


def _write_clusters(clusters: list[tuple[Path, Path]]) -> None:
    """Before the journal, which names no file by itself. After a kill in between, clusters are there that nothing uses."""
    for new, target in clusters:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, new.read_bytes())


def _lay_beside(new: Path, target: Path) -> None:
    """Copies a file beside its place, on whose file system it has to be. It stays readable by its owner only if it is a key."""
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if target == pseudonym_key_path() else 0o644
    with os.fdopen(os.open(beside(target), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(new.read_bytes())
        file.flush()
        os.fsync(file.fileno())
    sync(target.resolve().parent)
