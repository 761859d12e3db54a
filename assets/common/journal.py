"""The last step of a restore: moving what was unpacked into its place, so that it is done wholly or not at all.

Warehouse, model files, key and catalogue are replaced by several renames. A journal is written before the first of them, when
everything has been unpacked, verified and written to the disk. From then on the restore is only finished, never undone: whoever
opens the warehouse while the journal is there finishes it first. Each step can be done again after a kill.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from traces.catalogue.places import local_catalogue_path, pseudonym_key_path
from warehouse import WarehouseError

JOURNAL = "restore.journal"
DATABASE = "tracehouse.duckdb"
MODELS = "models"
REPORTS = "reports"


def unpacked_folder(data: Path) -> Path:
    """Where an archive is unpacked, in the folder of the warehouse."""
    return data / ".restore"


def beside(target: Path) -> Path:
    """Where the new content of a file lies until it is moved: on the same file system."""
    target = target.resolve()  # a link stays one
    return target.with_name(f".{target.name.lstrip('.')}.restore")


def commit_restore(data: Path, catalogue: Path | None) -> None:
    """Writes the journal: what lies unpacked is now what counts.

    data: folder of the warehouse. catalogue: the second catalogue, where the restore replaces it. All other names are fixed, so that
    a journal in a folder of somebody else cannot name files of ours.
    """
    new = data / f".{JOURNAL}.part"
    new.write_text(json.dumps({"catalogue": str(catalogue) if catalogue else None}) + "\n")
    sync(new)
    new.replace(data / JOURNAL)
    sync(data)


def finish_restore(data: Path) -> None:
    """Moves what is left of a restore into its place. Call it under the warehouse's lock, while the journal is there.

    Raises WarehouseError when it would have to write a catalogue that is not ours.
    """
    journal, unpacked = data / JOURNAL, unpacked_folder(data)
    for target in (*_catalogue_of(journal), pseudonym_key_path()):
        if beside(target).exists():
            beside(target).replace(target.resolve())
            sync(target.resolve().parent)
    if (unpacked / MODELS).exists():
        _remove_folder(data / MODELS)
        (unpacked / MODELS).rename(data / MODELS)
    if (unpacked / DATABASE).exists():
        _remove_folder(data / REPORTS)  # they are of the warehouse that goes
        (data / f"{DATABASE}.wal").unlink(missing_ok=True)  # of the old file: it must not be read with the new one
        sync(data)
        (unpacked / DATABASE).replace(data / DATABASE)
    sync(data)
    journal.unlink()
    sync(data)
    _remove_folder(unpacked)


def clear_leftovers(data: Path) -> None:
    """Removes what a restore has left that was killed before its journal was written. Call it while no restore is going on."""
    if (data / JOURNAL).exists():
        return
    _remove_folder(unpacked_folder(data))
    for target in (local_catalogue_path(), pseudonym_key_path()):
        beside(target).unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _catalogue_of(journal: Path) -> list[Path]:
    try:
        text = json.loads(journal.read_text())["catalogue"]
        catalogue = None if text is None else Path(text)
    except (ValueError, KeyError, TypeError):
        raise WarehouseError(
            f"{journal}: not a journal of `tracehouse restore`. Remove it, and restore again"
        ) from None
    if catalogue is None:
        return []
    if catalogue != local_catalogue_path():
        if not beside(catalogue).exists():
            return []
        raise WarehouseError(
            f"{journal.parent}: a restore was interrupted, which also writes the catalogue {catalogue}. Run a command once with "
            f"TRACEHOUSE_SOURCES={catalogue}"
        )
    return [catalogue]


def _remove_folder(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
