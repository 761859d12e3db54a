"""What every reader returns, and which files a log has. `traces.common.blocks` reads the files."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO

import polars as pl

LARGEST_S = 10**11
"""A larger number of seconds is a fault of the log: it is more than three thousand years."""

_MOST_FOLDERS, _SHOWN_FOLDERS = 1000, 4
"""How many folders are looked into for a message, and how many it names."""
_NO_FILES = {
    stat.S_ISFIFO: "a pipe (FIFO)",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISDIR: "a folder",
}

WAITING_EVENTS = ("state", "unfinished job:")
"""The column of events that says why they are no finished jobs, and the words before it, where they are no records of PBS."""
REJECT_SCHEMA = {"line": pl.Int64, "reason": pl.Utf8, "text": pl.Utf8}


class LogError(Exception):
    """A log that cannot be used at all. The message names the file, what was expected and the remedy."""


@dataclass(frozen=True)
class ParsedLines:
    """Some lines of a log: `lines == accepted + kept + ignored + rejected`.

    records: one row per accepted line, a finished job, with its `line` number in the file (from 1). Columns depend on the format.
    events: lines that are kept but are not finished jobs. Those of PBS are requeues, starts, deletions and more by their column
        `record_type`, and those of Slurm are jobs that wait, with `state`.
    rejects: line, reason, text of every line that should have held a record and does not. The text is unchanged
        (bytes that are not UTF-8 appear as \\xNN).
    ignored: lines without anything to keep, by reason (comments, blank lines, steps, jobs that are not over).
    header: (key, value) pairs in file order, a key may repeat.
    """

    lines: int
    records: pl.DataFrame
    rejects: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=REJECT_SCHEMA))
    ignored: dict[str, int] = field(default_factory=dict)
    header: list[tuple[str, str]] = field(default_factory=list)
    events: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def accepted(self) -> int:
        """Lines that are finished jobs."""
        return self.records.height

    @property
    def kept(self) -> int:
        """Lines that are kept but are not finished jobs."""
        return self.events.height

    @property
    def rejected(self) -> int:
        """Lines that should have held a record and do not."""
        return self.rejects.height

    def line_counts(self) -> Counter[tuple[str, str]]:
        """Lines by (outcome, reason), outcome accepted, kept, ignored or rejected."""
        counts = Counter({("accepted", "job"): self.accepted})
        if self.kept:
            column, words = ("record_type", "record type") if "record_type" in self.events.columns else WAITING_EVENTS
            for kind, lines in self.events[column].value_counts().rows():
                counts["kept", f"{words} {kind}"] = lines
        for reason, lines in self.ignored.items():
            counts["ignored", reason] = lines
        counts.update(("rejected", reason) for reason in self.rejects["reason"].to_list())
        return counts

    def reject_rows(self, lines: Iterable[int], reason: str, text_of: dict[int, str]) -> ParsedLines:
        """The lines with the records of the given line numbers moved to the rejects."""
        wanted = sorted(lines)
        rejects = pl.DataFrame(
            {"line": wanted, "reason": [reason] * len(wanted), "text": [text_of[line] for line in wanted]},
            schema=REJECT_SCHEMA,
        )
        return replace(
            self,
            records=self.records.filter(~pl.col("line").is_in(wanted)),
            rejects=pl.concat([self.rejects, rejects]).sort("line"),
        )


@dataclass(frozen=True)
class ParsedLog(ParsedLines):
    """One log file as a whole: its lines and which file they are from. sha256 is of the unpacked content."""

    path: Path = Path()
    format: str = ""
    size_bytes: int = 0
    sha256: str = ""


def log_files(path: Path) -> list[Path]:
    """The files of a source: the path itself, or the plain files of a directory in the order of their names.

    Raises LogError where there is none, and for a link to a file of another user.
    """
    _refuse_foreign_link(path)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        if not files:
            raise LogError(_no_log_in(path))
        for file in files:
            _refuse_foreign_link(file)
        return files
    if not path.exists():
        raise LogError(f"{path}: no such log file; check the path in the catalogue or on the command line")
    refuse_other_than_file(path, path.stat().st_mode)
    return [path]


def _no_log_in(folder: Path) -> str:
    """The message for a folder without a file of its own: which folders below it have some."""
    below = [
        Path(where)
        for where, _, files in islice(os.walk(folder), _MOST_FOLDERS)
        if any(not name.startswith(".") for name in files)
    ]
    if not below:
        return f"{folder}: the folder is empty, and so are those in it; give the log, or the folder of its files"
    below.sort()
    more = f" and {len(below) - _SHOWN_FOLDERS} more" if len(below) > _SHOWN_FOLDERS else ""
    named = ", ".join(str(each.relative_to(folder)) for each in below[:_SHOWN_FOLDERS])
    return (
        f"{folder}: has no file, only folders, and files of a log are read from one folder. Those with files are {named}{more}: "
        f"give one of them, such as {below[0]}, or put the files of all into one folder"
    )


def open_log(path: Path) -> IO[bytes]:
    """A log file, opened for reading. The file may have been exchanged since `log_files` looked at it.

    Raises LogError for a link that `log_files` refuses, and for a file that is exchanged meanwhile, and OSError.
    """
    named = path.lstat()
    is_link = stat.S_ISLNK(named.st_mode)
    refuse_other_than_file(path, path.stat().st_mode)
    try:  # not to wait where a pipe has come in its place
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if is_link else os.O_NOFOLLOW))
    except OSError as error:
        raise _exchanged(path) if error.errno == errno.ELOOP and not is_link else error from None
    try:
        opened = os.fstat(descriptor)
        refuse_other_than_file(path, opened.st_mode)
        if is_link:
            _refuse_foreign_owner(path, named.st_uid, opened.st_uid)
            now = path.lstat()
            if (now.st_ino, now.st_ctime_ns) != (named.st_ino, named.st_ctime_ns):  # another link may have been opened
                raise _exchanged(path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def refuse_other_than_file(path: Path, mode: int) -> None:
    """Raises LogError for what can be opened and is no file."""
    if not stat.S_ISREG(mode):
        kind = kind_of_no_file(mode)
        raise LogError(f"{path}: is {kind} and not a file. A log is read more than once: write it to a file first")


def kind_of_no_file(mode: int) -> str:
    """What something is that is no file, such as "a pipe (FIFO)", from its `st_mode`."""
    return next((name for is_of, name in _NO_FILES.items() if is_of(mode)), "no file")


def _exchanged(path: Path) -> LogError:
    return LogError(
        f"{path}: was exchanged for something else while it was opened; look at what is there, and try again"
    )


def _refuse_foreign_link(path: Path) -> None:
    if path.is_symlink() and path.exists():
        _refuse_foreign_owner(path, path.lstat().st_uid, path.stat().st_uid)


def _refuse_foreign_owner(path: Path, link_owner: int, file_owner: int) -> None:
    """Refuses links that could show files which only tracehouse may read.

    A user who may write to a folder of logs could link to such a file, and find its lines among the rejects. Links of the user of this
    process, of root, or of the owner of the file are followed.
    """
    if link_owner not in (os.geteuid(), 0, file_owner):
        raise LogError(
            f"{path}: a link by user {link_owner} to {path.resolve()}, a file of user {file_owner}, which is not followed; "
            "remove it, or lay the link yourself"
        )


def file_name(path: Path) -> str:
    """The name of a file as text: bytes that are not UTF-8 appear as \\xNN."""
    return path.name.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="backslashreplace")


def line_texts(content: bytes, lines: Iterable[int], first_line: int = 1) -> dict[int, str]:
    """Text of the given line numbers, without the line end. The content begins with line `first_line`."""
    wanted = set(lines)
    if not wanted:
        return {}
    return {
        number: raw.rstrip(b"\r").decode("utf-8", errors="backslashreplace")
        for number, raw in enumerate(content.split(b"\n"), start=first_line)
        if number in wanted
    }
