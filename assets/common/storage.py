"""Where things are on disk: the database, and files too big for it (their path and hash are in the database)."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sql
from assets.common.journal import DATABASE, JOURNAL, finish_restore, sync
from traces.catalogue.places import home, pseudonym_key_path
from traces.common.pseudonyms import PseudonymError, fingerprint_of, read_key
from warehouse import NoWarehouse, Unfinished, Warehouse, lake_of_environment

HOME_LOCK = ".home.lock"
"""In the data folder: held by all commands that work on a source, and alone by one that replaces everything."""
KEPT_UNUSED_S = 7 * 86_400
"""A model file that no row names is kept this long. The run that wrote it commits its row after all of its training."""


def data_folder() -> Path:
    """The folder of all that tracehouse has written. Most of it can be computed from the logs again, but not histories, saved replays,
    models in use and rows of logs that are gone."""
    return home() / "warehouse" / "data"


def open_warehouse() -> Warehouse:
    """The warehouse of `home()`, a file, or the lake that TRACEHOUSE_WAREHOUSE names. The first write makes it. A restore that was killed
    is finished first."""
    folder = data_folder()
    lake = lake_of_environment(folder)
    if lake is not None:
        return Warehouse(lake)
    return Warehouse(folder / DATABASE, unfinished=Unfinished(folder / JOURNAL, lambda: finish_restore(folder)))


def artefacts_folder() -> Path:
    """The folder of files that rows name, such as models: that of the warehouse's file, or one that all machines of a lake share."""
    lake = lake_of_environment(data_folder())
    return data_folder() if lake is None else lake.artefacts


def used_keys(warehouse: Warehouse, replaced: str = "") -> set[str]:
    """Fingerprints of the keys that pseudonyms of a warehouse were made with, "" for one of which nothing is known. replaced: a source
    whose rows do not count."""
    with suppress(NoWarehouse), warehouse.read() as connection:
        return {key for (key,) in connection.execute(sql.load("raw.pseudonym_keys"), {"replaced": replaced}).fetchall()}
    return set()


def key_fault(warehouse: Warehouse, replaced: str = "") -> str | None:
    """What is wrong with the key of pseudonyms of this home, and what to do: it is gone, or another one than that of the warehouse. None
    where all is well. replaced: as in `used_keys`."""
    path, used = pseudonym_key_path(), used_keys(warehouse, replaced)
    if not used or (path.exists() and (used == {""} or fingerprint_of(read_key(path)) in used)):
        return None
    what = "is not the key that names in the warehouse were replaced with" if path.exists() else "the key is gone"
    return (
        f"{path}: {what}. Under another key each person would be counted twice. Put the right key there: a copy of it, or that of an "
        "archive of `tracehouse backup`. If it is lost for good, `tracehouse ingest LOG --name NAME --new-key` takes a new one: logs that "
        "are there are read again, and jobs of logs that are gone keep their old pseudonyms"
    )


def pseudonym_key(warehouse: Warehouse, replaced: str = "", may_be_new: bool = False) -> bytes:
    """The key of pseudonyms, which is made where there is none.

    replaced: as in `used_keys`. may_be_new: whether it may be another one than that of the warehouse. Raises PseudonymError, with the way
    out, where it is another and may not.
    """
    fault = None if may_be_new else key_fault(warehouse, replaced)
    if fault is not None:
        raise PseudonymError(fault)
    return read_key(pseudonym_key_path())


def report_path(source: str) -> Path:
    """Where the HTML report of a source is written."""
    return data_folder() / "reports" / f"{source}.html"


def tuning_folder(source: str) -> Path:
    """Where the replays of a search for settings are stored."""
    return data_folder() / "tuning" / source


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that appears complete or not at all, whatever other processes do, and whether or not the disk is full.

    A device or a pipe is written to as it is. Raises OSError, which names the file.
    """
    with written_beside(path) as new, new.open("wb") as file:
        file.write(content)


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Another path in the folder of a file, for its new content. The file is replaced at the end of the block, and keeps its mode. After
    an error it is as it was. A link stays a link. A device or a pipe is its own new path. Raises OSError, which names the file."""
    is_device = path.exists() and not path.is_file()
    path = path if is_device else path.resolve()
    # threads and other hosts may have the number of this process
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        if is_device:
            yield path
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with new.open("xb"):
            pass
        if path.exists():
            new.chmod(stat.S_IMODE(path.stat().st_mode))
        yield new
        sync(new)  # a row that names the file must not be there without it
        new.replace(path)
        sync(path.parent)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def store_model(source: str, name: str, content: bytes) -> tuple[str, str]:
    """Keeps a model file; returns (path below `artefacts_folder()`, SHA-256), as the database stores them.

    The name has the hash in it, so that a file never changes under the row that names it.
    """
    digest = hashlib.sha256(content).hexdigest()
    folder = artefacts_folder()
    path = folder / "models" / source / f"{name}-{digest[:12]}.json"
    write_whole(path, content)
    return path.relative_to(folder).as_posix(), digest


def read_model(file: str, sha256: str) -> bytes:
    """The content of a model file that the database names. Raises ValueError when it is missing or not what it was, and for a file
    that is not one of ours: the database may be somebody else's."""
    models = artefacts_folder() / "models"
    path = artefacts_folder() / file
    if not path.resolve().is_relative_to(models.resolve()):
        raise ValueError(
            f"{file}: the warehouse names a model outside of {models}: train it again with `tracehouse run`"
        )
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path}: the model file is gone: train it again with `tracehouse run`") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(
            f"{path}: the model file is not the one that was trained: train it again with `tracehouse run`"
        )
    return content


def remove_unused_models(source: str, name: str, used: Iterable[str]) -> None:
    """Removes files of a model that no row names any more and that are older than KEPT_UNUSED_S.

    Their age is counted up to the newest file of the source, because the clock of a file server may differ from ours.
    """
    kept = set(used)
    changed: dict[Path, float] = {}
    folder = artefacts_folder()
    for path in (folder / "models" / source).glob("*.json"):
        with suppress(FileNotFoundError):  # another run has just removed it
            changed[path] = path.stat().st_mtime
    now = min(max(changed.values(), default=0.0), time.time())
    for path, changed_s in changed.items():
        unused = path.name.startswith(f"{name}-") and path.relative_to(folder).as_posix() not in kept
        if unused and now - changed_s > KEPT_UNUSED_S:
            path.unlink(missing_ok=True)


def file_time(folder: Path) -> float:
    """The present by the clock of a folder's file system, Unix seconds. A file is as old as its stamp is before that.

    A file server stamps files by its own clock, and the clock of this machine may be hours ahead. So a file without a name is made on the
    same file system, and its stamp is read. That is in the data folder if it is there, and else in `folder`. Where neither can be
    written, only the clock of this machine is left.
    """
    for writable in (data_folder(), folder):
        try:
            if writable.stat().st_dev == folder.stat().st_dev:
                with tempfile.TemporaryFile(dir=writable, prefix=".tracehouse-") as file:
                    return os.fstat(file.fileno()).st_mtime
        except OSError:
            continue
    return time.time()
