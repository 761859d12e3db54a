"""Which files of a source have been read, and which are to be read: `raw.log_files` is the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from assets.ingest.reading import Reader
from traces.common.blocks import LogStream, Seen
from traces.common.log import LogError, file_name


@dataclass(frozen=True)
class Entry:
    """One row of the ledger."""

    size_bytes: int
    modified_ns: int
    sha256: str
    settings: str
    version: str
    ends_line: bool
    lines: int


@dataclass(frozen=True)
class Plan:
    """What has to be done so that the raw tables tell what the files say.

    anew: the catalogue has changed, so that all rows of the source are to be thrown away first.
    read: files to be read, and what is known of each already. unchanged: how many need not be read. touched: files with a new
    time and the same content. gone: how many in the ledger have no file (of that name) any more.
    """

    anew: bool
    read: list[tuple[Path, Seen | None]]
    unchanged: int
    touched: list[Path]
    gone: int


def read_ledger(connection: duckdb.DuckDBPyConnection, source: str) -> dict[str, Entry]:
    rows = connection.execute(
        "SELECT file, size_bytes, modified_ns, sha256, settings, version, ends_line, lines FROM raw.log_files WHERE source = ?",
        [source],
    ).fetchall()
    return {file: Entry(*entry) for file, *entry in rows}


def plan(reader: Reader, ledger: dict[str, Entry]) -> Plan:
    """Looks at every file, opens those that have another size or time than in the ledger. Raises LogError."""
    if any(entry.settings != reader.settings for entry in ledger.values()):
        return Plan(True, [(path, None) for path in reader.files], 0, [], 0)
    read: list[tuple[Path, Seen | None]] = []
    touched = []
    for path in reader.files:
        entry = ledger.get(file_name(path))
        if entry is None or entry.version != reader.version:
            read.append((path, None))
            continue
        try:
            status = path.stat()
        except OSError as error:
            raise LogError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
        if (status.st_size, status.st_mtime_ns) == (entry.size_bytes, entry.modified_ns):
            continue
        if status.st_size == entry.size_bytes and _content_hash(path) == entry.sha256:
            touched.append(path)
        elif entry.ends_line:
            read.append((path, Seen(entry.size_bytes, entry.lines, entry.sha256)))
        else:  # its last line may have gone on
            read.append((path, None))
    names = {file_name(path) for path in reader.files}
    gone = sum(file not in names for file in ledger)
    return Plan(False, read, len(reader.files) - len(read) - len(touched), touched, gone)


def _content_hash(path: Path) -> str:
    stream = LogStream(path, cut=len)
    for _ in stream:
        pass
    assert stream.sha256
    return stream.sha256
