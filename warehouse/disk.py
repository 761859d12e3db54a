"""Faults of a disk in words: full, read-only, not ours to write, or a file that may not grow."""

from __future__ import annotations

import errno
import os
import resource
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from warehouse.errors import WarehouseError

_KIND_OF_NUMBER = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "read-only",
    errno.EFBIG: "limit",
    errno.EACCES: "forbidden",
    errno.EPERM: "forbidden",
}
_KIND_OF_TEXT = {
    "No space left on device": "full",
    "Disk quota exceeded": "full",
    "database or disk is full": "full",
    "Read-only file system": "read-only",
    "attempt to write a readonly database": "forbidden",
    "Permission denied": "forbidden",
    "File too large": "limit",
    "disk I/O error": "unclear",
    "unable to open database file": "unclear",
}
"""What DuckDB, SQLite and polars say. SQLite has one text for several faults."""
_OF_DATABASES = ("duckdb", "_duckdb", "sqlite3", "sqlalchemy", "polars")
_LITTLE_BYTES = 1 << 20
_OWN_TEMPORARY = "tracehouse-"
"""How the names of temporary folders begin that hold a log which is only replayed."""


class DiskError(WarehouseError):
    """The disk does not take what is to be written; the message says where, why, and what to do."""


def disk_fault(error: BaseException, home: Path) -> str | None:
    """One line that says which disk does not take what was to be written, why, and what to do. None for any other error.

    home: the folder that tracehouse writes to. It is named where the error names no file.
    """
    for cause in _causes(error):
        kind = _kind_of(cause)
        if kind:
            place = _place(cause, home)
            if kind == "forbidden" and place.exists() and not os.access(place, os.R_OK):
                return None  # it was to be read
            kind = _probed(place) or kind if kind in ("unclear", "forbidden") else kind
            return _message(kind, place, home)
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _kind_of(error: BaseException) -> str | None:
    if isinstance(error, OSError) and error.errno:
        return _KIND_OF_NUMBER.get(error.errno)
    if isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _OF_DATABASES:
        text = str(error)
        return next((kind for words, kind in _KIND_OF_TEXT.items() if words in text), None)
    return None


def _place(error: BaseException, home: Path) -> Path:
    """What cannot be written: the file that the error names. Else what the command prints, if it goes to a full disk, or that of home
    and the folder of temporary files which has less room."""
    if isinstance(error, OSError):
        name = error.filename2 or error.filename
        if isinstance(name, str | bytes):
            return Path(os.fsdecode(name))
        place = min((home, Path(tempfile.gettempdir())), key=_free_bytes)
        is_full = _free_bytes(place) < _LITTLE_BYTES
        return (
            Path("standard output")
            if error.errno == errno.ENOSPC and not is_full and _prints_to_a_full_disk()
            else place
        )
    return home


def _prints_to_a_full_disk() -> bool:
    """Whether standard output is a file on a disk without room, or the device /dev/full."""
    try:
        status = os.fstat(1)
        if stat.S_ISCHR(status.st_mode):
            return status.st_rdev == os.makedev(1, 7)
        room = os.fstatvfs(1)
        return stat.S_ISREG(status.st_mode) and room.f_bavail * room.f_frsize < _LITTLE_BYTES
    except OSError:
        return False


def _probed(place: Path) -> str | None:
    """What is wrong with a place, by what the system says of it; None where it looks sound."""
    folder = _existing(place)
    status = os.statvfs(folder)
    if status.f_flag & os.ST_RDONLY:
        return "read-only"
    if _free_bytes(folder) < _LITTLE_BYTES:
        return "full"
    if not os.access(folder, os.W_OK):
        return "forbidden"
    return "limit" if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY else None


def _existing(place: Path) -> Path:
    return next(path for path in (place, *place.absolute().parents) if path.exists())


def _free_bytes(place: Path) -> int:
    status = os.statvfs(_existing(place))
    return status.f_bavail * status.f_frsize


def _message(kind: str, place: Path, home: Path) -> str:
    elsewhere = ", or write to another disk"
    if any(part.startswith(_OWN_TEMPORARY) for part in place.parts) or place == Path(tempfile.gettempdir()):
        elsewhere = ", or set TMPDIR to a folder on another disk"
    elif place.absolute().is_relative_to(home):
        elsewhere = ", or set TRACEHOUSE_HOME to a folder on another disk"
    again = "Then run the same command again: what was finished is kept"
    if kind == "full":
        return f"{place}: no space left on this disk. Make room there{elsewhere}. {again}"
    if kind == "read-only":
        return (
            f"{place}: cannot be written, since the disk is mounted read-only. Mount it for writing{elsewhere}. {again}"
        )
    if kind == "unclear":
        return f"{place}: the disk does not take what is to be written. Look whether it is full or damaged{elsewhere}. {again}"
    if kind == "limit":
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        words = f" of {limit >> 10:,} KiB" if limit != resource.RLIM_INFINITY else ""
        return f"{place}: a file would grow beyond this account's limit{words} (`ulimit -f`). Raise the limit. {again}"
    return f"{place}: this account may not write there. Let it{elsewhere}. {again}"
