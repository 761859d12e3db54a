"""Which files of a source have been read, and which are to be read: `raw.log_files` is the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from assets.ingest.reading import Reader
from assets.ingest.versions import CodeVersion, recorded_version
from traces.common.blocks import LogStream, Seen
from traces.common.log import LogError, file_name


@dataclass(frozen=True)
class LedgerRow:
    """One row of the ledger: a log file as it was when it was read, and what read it."""

    size_bytes: int
    modified_ns: int
    sha256: str
    settings: str
    version: CodeVersion
    ends_line: bool
    lines: int


@dataclass(frozen=True)
class ReadingPlan:
    """What has to be done so that the raw tables say what the files say.

    anew: the catalogue has changed. All rows of the source are thrown away first.
    read: files to be read, and what was read of each before.
    unchanged: how many files need not be read.
    touched: files with a new time and the same content.
    gone: how many files in the ledger do not exist any more, at least not under that name.
    old_jobs: files whose canonical jobs were made by other statements than those of today.
    """

    anew: bool = False
    read: list[tuple[Path, Seen | None]] = field(default_factory=list)
    unchanged: int = 0
    touched: list[Path] = field(default_factory=list)
    gone: int = 0
    old_jobs: list[str] = field(default_factory=list)


def read_ledger(connection: duckdb.DuckDBPyConnection, source: str) -> dict[str, LedgerRow]:
    """The rows of one source, by file name."""
    rows = connection.execute(
        "SELECT file, size_bytes, modified_ns, sha256, settings, version, ends_line, lines, format "
        "FROM raw.log_files WHERE source = ?",
        [source],
    ).fetchall()
    return {
        file: LedgerRow(size_bytes, modified_ns, sha256, settings, recorded_version(version, log_format), *rest)
        for file, size_bytes, modified_ns, sha256, settings, version, *rest, log_format in rows
    }


def plan_reading(reader: Reader, ledger: dict[str, LedgerRow]) -> ReadingPlan:
    """Looks at every file, and opens those that have another size or time than in the ledger. Raises LogError."""
    if any(row.settings != reader.settings for row in ledger.values()):
        return ReadingPlan(anew=True, read=[(path, None) for path in reader.files])
    read: list[tuple[Path, Seen | None]] = []
    touched = []
    for path in reader.files:
        row = ledger.get(file_name(path))
        if row is None or row.version.reader != reader.version.reader:
            read.append((path, None))
            continue
        try:
            status = path.stat()
        except OSError as error:
            raise LogError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
        if (status.st_size, status.st_mtime_ns) == (row.size_bytes, row.modified_ns):
            continue
        if status.st_size == row.size_bytes and _content_hash(path) == row.sha256:
            touched.append(path)
        elif row.ends_line:
            read.append((path, Seen(row.size_bytes, row.lines, row.sha256)))
        else:  # its last line may have gone on
            read.append((path, None))
    names = {file_name(path) for path in reader.files}
    return ReadingPlan(
        read=read,
        unchanged=len(reader.files) - len(read) - len(touched),
        touched=touched,
        gone=sum(file not in names for file in ledger),
        old_jobs=[file for file, row in ledger.items() if row.version.jobs != reader.version.jobs],
    )


def adopt_statements(connection: duckdb.DuckDBPyConnection, reader: Reader, files: dict[str, LedgerRow]) -> None:
    """Writes into the ledger that the jobs of these files are made by the statements of today.

    Each keeps the version of its reader: the file may be gone, so that it cannot be read again.
    """
    by_reader: dict[str, list[str]] = {}
    for file, row in files.items():
        by_reader.setdefault(row.version.reader, []).append(file)
    for read_by, names in by_reader.items():
        connection.execute(
            "UPDATE raw.log_files SET version = ? WHERE source = ? AND file IN (SELECT unnest(?))",
            [str(CodeVersion(read_by, reader.version.jobs)), reader.source.name, names],
        )


def _content_hash(path: Path) -> str:
    stream = LogStream(path, cut=len)
    for _ in stream:
        pass
    assert stream.sha256
    return stream.sha256
