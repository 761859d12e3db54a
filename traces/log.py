"""What every reader returns, and how log files are opened and found."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

LARGEST_S = 10**11
"""A larger number of seconds is a fault of the log: it is more than three thousand years."""

REJECT_SCHEMA = {"line": pl.Int64, "reason": pl.Utf8, "text": pl.Utf8}


class LogError(Exception):
    """A log that cannot be used at all; the message names the file, what was expected and the remedy."""


@dataclass(frozen=True)
class ParsedLog:
    """One log file, line by line: `lines == accepted + ignored + rejected`.

    records: one row per accepted line, with its `line` number (from 1); columns depend on the format.
    rejects: line, reason, text of every line that should have held a job and does not, kept as it stands
        (bytes that are not UTF-8 appear as \\xNN).
    ignored: lines that hold no finished job, by reason (comments, blank lines, other record types).
    header: (key, value) pairs in file order, a key may repeat.
    requeues: attempts of jobs that ended in a requeue, with the columns of `records`; empty where the format tells none.
    """

    path: Path
    format: str
    size_bytes: int
    sha256: str
    lines: int
    records: pl.DataFrame
    rejects: pl.DataFrame
    ignored: dict[str, int]
    header: list[tuple[str, str]] = field(default_factory=list)
    requeues: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def accepted(self) -> int:
        return self.records.height

    @property
    def rejected(self) -> int:
        return self.rejects.height

    def line_counts(self) -> list[tuple[str, str, int]]:
        """(outcome, reason, lines) for every line of the file, outcome accepted, ignored or rejected."""
        rejected = Counter(self.rejects["reason"].to_list())
        return (
            [("accepted", "job", self.accepted)]
            + [("ignored", reason, lines) for reason, lines in sorted(self.ignored.items())]
            + [("rejected", reason, lines) for reason, lines in sorted(rejected.items())]
        )

    def reject_rows(self, lines: Iterable[int], reason: str, text_of: dict[int, str]) -> ParsedLog:
        """The same log with the records of the given line numbers moved to the rejects."""
        wanted = sorted(lines)
        rejects = pl.DataFrame(
            {"line": wanted, "reason": [reason] * len(wanted), "text": [text_of[line] for line in wanted]},
            schema=REJECT_SCHEMA,
        )
        return ParsedLog(
            self.path, self.format, self.size_bytes, self.sha256, self.lines,
            self.records.filter(~pl.col("line").is_in(wanted)),
            pl.concat([self.rejects, rejects]).sort("line"), self.ignored, self.header, self.requeues,
        )  # fmt: skip


def read_bytes(path: Path) -> tuple[bytes, bytes]:
    """(content as stored, content decompressed); `.gz`, `.zst` and `.xz` by their name. Raises LogError."""
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        raise LogError(f"{path}: no such log file; check the path in the catalogue or on the command line") from None
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    try:
        if path.suffix == ".gz":
            return stored, gzip.decompress(stored)
        if path.suffix == ".zst":
            return stored, _unpack_zst(stored)
        if path.suffix == ".xz":
            return stored, lzma.decompress(stored)
    except Exception as error:  # gzip and zstandard raise several unrelated types for a damaged file
        raise LogError(f"{path}: damaged {path.suffix} file ({error}); copy it again or unpack it by hand") from None
    return stored, stored


def _unpack_zst(stored: bytes) -> bytes:
    """All frames of a .zst file; unlike zstandard's stream reader it does not take a cut file for a shorter one."""
    import zstandard

    content, rest = [], stored
    while rest:
        frame = zstandard.ZstdDecompressor().decompressobj()
        content.append(frame.decompress(rest))
        if not frame.eof:
            raise EOFError("the file ended before the end of its last frame")
        rest = frame.unused_data
    return b"".join(content)


def log_files(path: Path) -> list[Path]:
    """The files of a source: the path itself, or the plain files of a directory in the order of their names."""
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        if not files:
            raise LogError(f"{path}: the directory holds no log file")
        return files
    if not path.exists():
        raise LogError(f"{path}: no such log file; check the path in the catalogue or on the command line")
    return [path]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def line_texts(content: bytes, lines: Iterable[int]) -> dict[int, str]:
    """Text of the given line numbers (from 1), without the line end."""
    wanted = set(lines)
    return {
        number: raw.rstrip(b"\r").decode("utf-8", errors="backslashreplace")
        for number, raw in enumerate(content.split(b"\n"), start=1)
        if number in wanted
    } if wanted else {}  # fmt: skip
