"""Which files of a source have been read, and which are to be read: `raw.log_files` is the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from assets.ingest.reading import Reader, is_at_rest
from assets.ingest.versions import CodeVersion, ReadingSettings, recorded_settings, recorded_version
from traces.common.blocks import UNFINISHED, LogStream, Seen
from traces.common.log import LogError, file_name
from warehouse import first_row

CLUSTER_FILE = "cluster file"
"""Where the size of a cluster comes from that is the sum of the CPUs of its described nodes. No setting of a reading: jobs may be wider."""
NO_LOCAL_TIMES = "slurm-1"
"""The reader that did not note which times of a log were local."""
UNKNOWN_SETTINGS = "settings of then unknown"
"""What the ledger says of a file that is gone, and of whose settings it has a hash alone."""


@dataclass(frozen=True)
class LedgerRow:
    """One row of the ledger: a log file as it was when it was read, and what read it.

    settings: those that its rows have; a guess where `settings_known` is false. outdated: what is not as today's reader and
    settings would have it, for files that are gone. left_line: its last line had no end, and was not read.
    """

    log_format: str
    size_bytes: int
    modified_ns: int
    sha256: str
    settings: ReadingSettings
    version: CodeVersion
    ends_line: bool
    lines: int
    outdated: str = ""
    settings_known: bool = True
    left_line: bool = False


@dataclass(frozen=True)
class ReadingPlan:
    """What has to be done so that the raw tables say what the files say.

    read: files to be read, and what was read of each before.
    unchanged: how many files need not be read.
    touched: files with a new time (nanoseconds since 1970) and the same content.
    gone: how many files in the ledger do not exist any more, at least not under that name.
    uncorrected: files that are gone, and whose rows or row of the ledger are not what a correction makes of them today.
    """

    read: list[tuple[Path, Seen | None]] = field(default_factory=list)
    unchanged: int = 0
    touched: list[tuple[Path, int]] = field(default_factory=list)
    gone: int = 0
    uncorrected: list[str] = field(default_factory=list)


def read_ledger(connection: duckdb.DuckDBPyConnection, reader: Reader) -> dict[str, LedgerRow]:
    """The rows of the reader's source, by file name."""
    rows = connection.execute(
        "SELECT file, format, size_bytes, modified_ns, sha256, settings, version, ends_line, lines, coalesce(outdated, '') "
        "FROM raw.log_files WHERE source = ?",
        [reader.source.name],
    ).fetchall()
    left = connection.execute(
        "SELECT file FROM raw.line_counts WHERE source = ? AND outcome = 'ignored' AND reason = ?",
        [reader.source.name, UNFINISHED],
    ).fetchall()
    guess = _settings_before(connection, reader)
    ledger = {}
    for file, log_format, size_bytes, modified_ns, sha256, settings, version, ends_line, lines, outdated in rows:
        of_file = reader.settings if settings == reader.former_settings else recorded_settings(settings)
        ledger[file] = LedgerRow(
            log_format,
            size_bytes,
            modified_ns,
            sha256,
            of_file or guess,
            recorded_version(version, log_format),
            ends_line,
            lines,
            outdated,
            settings_known=of_file is not None,
            left_line=(file,) in left,
        )
    return ledger


def _settings_before(connection: duckdb.DuckDBPyConnection, reader: Reader) -> ReadingSettings:
    """The settings that the last ingest had, as far as the warehouse tells: for hashes that are not those of today's settings.

    No names are taken to be pseudonyms, since a correction recognizes those that are.
    """
    row = first_row(
        connection,
        "SELECT cluster_procs, cluster_procs_from, time_zone FROM core.sources WHERE source = ?",
        [reader.source.name],
    )
    before = replace(reader.settings, pseudonyms=(), key="")
    if row is None:
        return before
    procs, procs_from, time_zone = row
    return replace(
        before,
        procs=None if procs_from in ("peak", CLUSTER_FILE) else procs,
        time_zone=time_zone if reader.source.format == "slurm" else "",
    )


def mark_changed(connection: duckdb.DuckDBPyConnection, source: str, file: str, from_s: int) -> None:
    """Says that rows of a file have changed, and with them canonical jobs submitted from this second of the log's clock on."""
    connection.execute("INSERT INTO core.changed_files VALUES (?, ?, ?)", [source, file, from_s])


def plan_reading(reader: Reader, ledger: dict[str, LedgerRow]) -> ReadingPlan:
    """Looks at every file, and opens those that have another size or time than in the ledger. Raises LogError."""
    read: list[tuple[Path, Seen | None]] = []
    touched = []
    for path in reader.files:
        row = ledger.get(file_name(path))
        if row is None or not _is_current(row, reader) or row.version.reader != reader.version.reader:
            read.append((path, None))
            continue
        try:
            status = path.stat()
        except OSError as error:
            raise LogError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
        if row.left_line and is_at_rest(path):
            read.append((path, None))
            continue
        if (status.st_size, status.st_mtime_ns) == (row.size_bytes, row.modified_ns):
            continue
        if status.st_size == row.size_bytes and _content_hash(path) == row.sha256:
            touched.append((path, status.st_mtime_ns))
        elif row.ends_line:
            read.append((path, Seen(row.size_bytes, row.lines, row.sha256)))
        else:  # its last line may have gone on
            read.append((path, None))
    here = {file_name(path) for path in reader.files}
    gone = {file: row for file, row in ledger.items() if file not in here}
    return ReadingPlan(
        read=read,
        unchanged=len(reader.files) - len(read) - len(touched),
        touched=touched,
        gone=len(gone),
        uncorrected=[file for file, row in gone.items() if _is_uncorrected(row, reader)],
    )


def _is_current(row: LedgerRow, reader: Reader) -> bool:
    current = (
        reader.source.format,
        reader.settings,
        "",
    )  # a file that was gone and is back may have rows that are outdated
    return row.settings_known and (row.log_format, row.settings, row.outdated) == current


def _is_uncorrected(row: LedgerRow, reader: Reader) -> bool:
    """Whether a correction would change rows of a file that is gone, or what the ledger says of them."""
    if row.log_format != reader.source.format or not row.settings_known:
        return True
    settings = corrected_settings(row, reader)
    return (row.settings, row.outdated) != (settings, outdated_text(row, settings, reader))


def corrected_settings(row: LedgerRow, reader: Reader) -> ReadingSettings:
    """The settings that the rows of a file that is gone have after a correction: today's, but for what cannot be corrected.

    Pseudonyms stay pseudonyms, and lines were read by the columns of then. Times stay where nothing tells which were local.
    """
    old, new = row.settings, reader.settings
    more = set(new.pseudonyms) - set(old.pseudonyms)
    key = old.key or new.key
    return ReadingSettings(
        new.procs,
        new.drop_wider,
        old.columns,
        tuple(sorted({*old.pseudonyms, *new.pseudonyms})),
        "several" if more and new.key != key else key,
        old.time_zone if row.version.reader == NO_LOCAL_TIMES else new.time_zone,
    )


def outdated_text(row: LedgerRow, settings: ReadingSettings, reader: Reader) -> str:
    """What of the rows of a file that is gone is not as today's reader and settings would have it; "" for nothing.

    settings: those of the rows after the correction.
    """
    texts, today = [], reader.settings
    if not row.settings_known or UNKNOWN_SETTINGS in row.outdated.split("; "):
        texts.append(UNKNOWN_SETTINGS)
    if row.version.reader != reader.version.reader:
        texts.append(f"read by {row.version.reader}, and not by {reader.version.reader}")
    if settings.columns != today.columns:
        texts.append(f"columns read as {settings.columns or 'the header says'}")
    kept = sorted(set(settings.pseudonyms) - set(today.pseudonyms))
    if kept:
        texts.append(f"pseudonyms kept for {', '.join(kept)}")
    if settings.key and today.key and settings.key != today.key:
        texts.append("pseudonyms of another key")
    if settings.time_zone != today.time_zone:
        texts.append(f"times read in {settings.time_zone}")
    return "; ".join(texts)


def adopt_statements(connection: duckdb.DuckDBPyConnection, reader: Reader, ledger: dict[str, LedgerRow]) -> None:
    """Where the ledger tells of other statements than those of today, marks all jobs to be recomputed, and tells of today's.

    Each file keeps the version of its reader: it may be gone, so that it cannot be read again.
    """
    by_reader: dict[str, list[str]] = {}
    for file, row in ledger.items():
        if row.log_format == reader.source.format and row.version.jobs != reader.version.jobs:
            by_reader.setdefault(row.version.reader, []).append(file)
    for read_by, names in by_reader.items():
        connection.execute(
            "UPDATE raw.log_files SET version = ? WHERE source = ? AND file IN (SELECT unnest(?))",
            [str(CodeVersion(read_by, reader.version.jobs)), reader.source.name, names],
        )
    if by_reader:
        mark_changed(connection, reader.source.name, "", 0)


def _content_hash(path: Path) -> str:
    stream = LogStream(path, cut=len)
    for _ in stream:
        pass
    assert stream.sha256
    return stream.sha256
