"""The one door through which commands write what a user asked for: a file that the user named.

It refuses what a result must never replace: logs, catalogues, the key of pseudonyms, the warehouse and all else that tracehouse keeps.
Files of tracehouse's own, such as models and reports, go through `assets.common.storage`.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assets.common.storage import artefacts_folder, data_folder, write_whole, written_beside
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.places import PROJECT, home, inbox, local_catalogue_path, pseudonym_key_path
from traces.catalogue.sources import CatalogueError
from warehouse import disk_fault, lake_of_environment

OF_DAGSTER = ("dagster.yaml", "storage", "history", "schedules")
"""What Dagster keeps in `home()`."""


def refuse_own(path: Path, but: Path | None = None) -> None:
    """Raises ValueError for a path at which no result may be written: it is, or lies in, one of tracehouse's own places or a log. Links
    are followed, and other names of the same file are noticed. but: a file that may be written all the same."""
    target = path.resolve()
    if path.exists() and not path.is_file() and not path.is_dir():  # a device, or a pipe
        return
    if but is not None and target == but.resolve():
        return
    try:
        places = list(_own_places())
    except CatalogueError as error:
        raise ValueError(f"{error}. Nothing is written while it is unclear which files are logs") from None
    for place, what in places:
        if target.is_relative_to(place.resolve()):
            raise ValueError(f"{path}: this is where {what}, which must stay as it is. Give another place")
    if target.is_file() and (status := target.stat()).st_nlink > 1:
        for place, what in places:
            if any((other.st_dev, other.st_ino) == (status.st_dev, status.st_ino) for other in _files_of(place)):
                raise ValueError(
                    f"{path}: this is another name of a file of the place where {what}, which must stay as it is. Give another place"
                )


def write_output(path: Path, content: bytes) -> None:
    """Writes a result, which appears complete or not at all. Raises ValueError as `refuse_own` does, and OSError."""
    refuse_own(path)
    write_whole(path, content)


@contextmanager
def output_beside(path: Path) -> Iterator[Path]:
    """A path for a result that is too large for memory, see `written_beside`. Raises ValueError as `refuse_own` does, and OSError."""
    refuse_own(path)
    with written_beside(path) as new:
        yield new


def _own_places() -> Iterator[tuple[Path, str]]:
    """(file or folder, what is there) of all that a result must not replace."""
    catalogue = load_catalogue(may_be_missing=True)
    yield PROJECT / "sources.toml", "the catalogue of bundled sources is"
    for path in (local_catalogue_path(), home() / "sources.local.toml"):
        yield path, "your catalogue is"
    yield pseudonym_key_path(), "the key of pseudonyms is"
    for source in catalogue.sources.values():
        if source.path is not None:
            yield source.path, f"the log of source {source.name!r} is"
        if source.topology is not None and Path(source.topology).is_absolute():
            yield Path(source.topology), f"the switches of source {source.name!r} are"
    for vasp in catalogue.vasp.values():
        if vasp.path is not None:
            yield vasp.path, f"the run folders of {vasp.name!r} are"
    yield inbox(), "tracehouse looks for logs"
    yield data_folder(), "tracehouse keeps its own files"
    yield artefacts_folder(), "tracehouse keeps its own files"
    lake = lake_of_environment(data_folder())
    if lake is not None and lake.is_folder:
        yield Path(lake.data), "the tables of the warehouse are"
    for name in OF_DAGSTER:
        yield home() / name, "Dagster keeps its records"


def _files_of(place: Path) -> Iterator[os.stat_result]:
    """The files at a place, as the system knows them."""
    if place.is_file():
        yield place.stat()
    for folder, _, names in os.walk(place):
        for name in names:
            file = Path(folder) / name
            if file.is_file():
                yield file.stat()


def check_file(path: Path) -> None:
    """Raises ValueError where a file cannot be written: it is not for results, its folder is missing or closed, or it is a folder
    itself."""
    refuse_own(path)
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"{path}: is a folder, give the name of a file in it")
    if path.exists() and not path.is_file():  # a device, or a pipe
        return
    if not folder.is_dir():
        raise ValueError(f"{path.parent}: no such folder, make it or give another file")
    if path.exists() and not os.access(path, os.W_OK):
        raise ValueError(f"{path}: cannot be written, give another file")
    _try_to_write(folder, path)


def check_folder(path: Path) -> None:
    """Raises ValueError where no result can be written into a folder, which may be missing yet."""
    refuse_own(path)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path}: is a file, give a folder")
    _try_to_write(next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists()), path)


def _try_to_write(folder: Path, path: Path) -> None:
    """Only a file that was made tells: root, and file systems that are read-only, have modes that say nothing."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise ValueError(
                f"{path}: this account may not write there. Give another place, or let it write there"
            ) from None
        error.filename = str(path)  # the user has never heard of the file that was tried
        fault = disk_fault(error, data_folder())
        raise ValueError(fault or f"{path}: cannot be written ({error.strerror}), give another place") from None


def refuse_binary_on_terminal(what: str, path: Path | None) -> None:
    """Raises ValueError where binary content would go to a terminal. path: where it goes, None or `-` for standard output."""
    to_standard_output = path is None or str(path) == "-"
    if sys.stdout.isatty() if to_standard_output else _is_terminal(path):
        raise ValueError(f"{what} is binary: give the name of a file, or send it into a file or a pipe")


def _is_terminal(path: Path | None) -> bool:
    if path is None or not path.is_char_device():
        return False
    with path.open("rb") as device:
        return device.isatty()
