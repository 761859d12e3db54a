"""Log files into the raw tables: what is new since the last time, each file in one transaction with its row of the ledger."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import available_timezones

import duckdb
import polars as pl

import sql
from assets.ledger import Entry, plan, read_ledger
from assets.progress import progress_bar
from assets.reading import SUBMITTED, Reader, parsed_files, reader_of
from traces.blocks import LogStream
from traces.catalogue import Source
from traces.log import LARGEST_S, LogError, ParsedLines, file_name
from traces.swf import header_value
from warehouse import Warehouse, commit_so_far, file_lock, first_row

RECORDS = {"swf": "raw.swf_jobs", "pbs": "raw.pbs_records", "slurm": "raw.slurm_jobs"}
"""The table of each format's records; a source that changes its format leaves the others."""
OF_A_FILE = (*RECORDS.values(), "raw.rejects", "raw.log_headers", "raw.line_counts", "raw.log_files")
"""All tables with rows of one log file."""
COMMIT_BYTES = 512 << 20
"""What a killed process may have read in vain; less makes DuckDB write most rows twice, to its journal first."""
FLUSH_ROWS = 250_000
QUEUED_BEFORE_S = 60
"""The record of the queue may be stamped up to this long before the submission that the end record tells (core.cancelled_pbs)."""
CLOCKS_DIFFER_S = 86_400
"""The stamp of a record, a local time, is less than this from its time in UTC."""


@dataclass
class Ingested:
    """What one run has read. lines: by (outcome, reason). files: by what was done with them: read, grown, touched,
    moved, unchanged, gone. fault: why what is new cannot be right, though it was taken in; empty for nothing."""

    reader: Reader
    lines: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    first_reject: str = ""
    half_lines: int = 0
    fault: str = ""

    def outcome(self, outcome: str) -> int:
        return sum(lines for (found, _), lines in self.lines.items() if found == outcome)


def update_raw_log(warehouse: Warehouse, source: Source, default_time_zone: str = "UTC") -> Ingested:
    """Brings the raw tables of a source up to date with its log files, and says what was done.

    Unchanged files (size and time) are not opened. A file that has grown is read from where it ended; one that has changed
    replaces its rows; one that is gone leaves them, unless another has its content now. What has been read of the last
    files stays in the warehouse if the process dies, each file whole or not at all.
    Raises LogError, naming file, line and remedy: a file that cannot be read, a job wider than the cluster, a source without
    any job. New lines of which none is sound are taken in, and told of in `Ingested.fault`.
    """
    with file_lock(warehouse.path.with_name(f".{source.name}.ingest.lock")):
        reader = reader_of(source, default_time_zone)
        done = Ingested(reader)
        with warehouse.write() as connection:
            connection.execute("SET memory_limit = '1GiB'")
            connection.execute(
                "SET threads = 1"
            )  # its second thread costs more than it does; there is work for the other core
            ledger = read_ledger(connection, source.name)
            todo = plan(reader, ledger)
            done.files.update(unchanged=todo.unchanged, touched=len(todo.touched), gone=todo.gone)
            if todo.anew:
                _forget(connection, source.name)
                ledger = {}
            writer = _Writer(connection, reader, ledger, done)
            for path in todo.touched:
                writer.touch(path)
            with _progress(todo.read) as advance:
                for path, stream, parsed in parsed_files(reader, todo.read):
                    if parsed is not None:
                        writer.add(path, stream, parsed)
                        advance(stream)
                    else:
                        writer.end(path, stream)
            writer.remove_moved()
            writer.flush()
            _check_accepted(connection, reader, done)
            write_source(connection, reader)
    return done


def _forget(connection: duckdb.DuckDBPyConnection, source: str) -> None:
    for table in (*OF_A_FILE, "core.sources"):
        connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])
    mark_changed(connection, source, "", 0)


def mark_changed(connection: duckdb.DuckDBPyConnection, source: str, file: str, from_s: int) -> None:
    """Says that rows of a file have changed, and with them canonical jobs submitted from this second of the log's clock on."""
    connection.execute("INSERT INTO core.changed_files VALUES (?, ?, ?)", [source, file, from_s])


class _Writer:
    """Writes parsed lines, many rows at a time; commits after whole files."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        reader: Reader,
        ledger: dict[str, Entry],
        done: Ingested,
    ) -> None:
        self.connection, self.reader, self.ledger, self.done = connection, reader, ledger, done
        here = {file_name(path) for path in reader.files}
        self.hashes = {file: entry.sha256 for file, entry in ledger.items() if file in here}
        self.source = reader.source.name
        self.rows: dict[str, list[pl.DataFrame]] = {}
        self.num_rows = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.headers: list[tuple[str, str]] = []
        self.first_s = LARGEST_S
        self.begun = False
        self.uncommitted = 0
        self.last_stamp = time.monotonic()

    def add(self, path: Path, stream: LogStream, parsed: ParsedLines) -> None:
        """Lines of the file that is being read."""
        if not self.begun:
            self.begun = True
            if file_name(path) in self.ledger and not stream.grew:
                self._remove(file_name(path))
        for table, frame in (
            (RECORDS[self.reader.source.format], parsed.records),
            (RECORDS[self.reader.source.format], parsed.events),
            ("raw.rejects", parsed.rejects),
        ):
            if frame.height:
                self._insert(table, file_name(path), frame)
        self.counts.update(parsed.line_counts())
        self.headers += parsed.header
        self.first_s = min(self.first_s, _first_s(parsed, self.reader.source.format))
        if parsed.rejected and not self.done.first_reject:
            line, reason, _ = parsed.rejects.row(0)
            self.done.first_reject = f"{path}:{line}: {reason}"

    def end(self, path: Path, stream: LogStream) -> None:
        """The file has been read; `stream` knows what it was."""
        known = self.ledger.get(file_name(path))
        counts = self.counts
        if stream.grew:
            rows = self.connection.execute(
                "SELECT outcome, reason, lines FROM raw.line_counts WHERE source = ? AND file = ?",
                [self.source, file_name(path)],
            ).fetchall()
            counts = counts + Counter({(outcome, reason): lines for outcome, reason, lines in rows})
            for table in ("raw.line_counts", "raw.log_files"):
                self._delete(table, file_name(path))
        elif known and not self.begun:  # it is empty now
            self._remove(file_name(path))
        self.hashes[file_name(path)] = stream.sha256
        told = [(outcome, reason, lines) for (outcome, reason), lines in sorted(counts.items()) if lines]
        schema = {"outcome": pl.Utf8, "reason": pl.Utf8, "lines": pl.Int64}
        self._insert("raw.line_counts", file_name(path), pl.DataFrame(told, schema=schema, orient="row"))
        if self.headers:
            header = pl.DataFrame(self.headers, schema=["key", "value"], orient="row").with_row_index("position", 1)
            self._insert("raw.log_headers", file_name(path), header)
        self._insert("raw.log_files", file_name(path), self._ledger_row(stream, counts))
        if self.first_s < LARGEST_S:
            changed = pl.DataFrame({"from_s": [self.first_s]}, schema={"from_s": pl.Int64})
            self._insert("core.changed_files", file_name(path), changed)
        self.done.files.update(["grown" if stream.grew else "read"])
        self.done.lines.update(self.counts)
        self.done.half_lines += not stream.ends_line
        self.done.bytes += stream.size_bytes
        self.uncommitted += stream.size_bytes
        self.counts, self.headers, self.first_s, self.begun = Counter(), [], LARGEST_S, False
        if self.uncommitted >= COMMIT_BYTES:
            self.flush()
            commit_so_far(self.connection)
            self.uncommitted = 0

    def remove_moved(self) -> None:
        """Takes out the files that are gone where another one has their content now: they were renamed, packed, or copies."""
        content = set(self.hashes.values())
        for file, entry in self.ledger.items():
            if file not in self.hashes and entry.sha256 in content:
                self._remove(file)
                self.done.files.update(moved=1, gone=-1)

    def touch(self, path: Path) -> None:
        """The file has a new time, and its old content."""
        self.connection.execute(
            "UPDATE raw.log_files SET modified_ns = ? WHERE source = ? AND file = ?",
            [path.stat().st_mtime_ns, self.source, file_name(path)],
        )

    def flush(self) -> None:
        """Writes what has been gathered."""
        for table, frames in self.rows.items():
            self.connection.register("new_rows", pl.concat(frames).to_arrow(compat_level=pl.CompatLevel.newest()))
            self.connection.execute(f"INSERT INTO {table} BY NAME SELECT ? AS source, * FROM new_rows", [self.source])
            self.connection.unregister("new_rows")
        self.rows, self.num_rows = {}, 0

    def _insert(self, table: str, file: str, frame: pl.DataFrame) -> None:
        self.rows.setdefault(table, []).append(frame.with_columns(file=pl.lit(file)))
        self.num_rows += frame.height
        if self.num_rows >= FLUSH_ROWS:
            self.flush()

    def _remove(self, file: str) -> None:
        """Takes all rows of a file out, and says from where on the canonical jobs change."""
        self.flush()
        row = first_row(
            self.connection,
            sql.load(f"raw.first_submission_{self.reader.source.format}"),
            {"source": self.source, "file": file},
        )
        if row and row[0] is not None:
            mark_changed(self.connection, self.source, file, row[0] - CLOCKS_DIFFER_S)
        for table in OF_A_FILE:
            self._delete(table, file)

    def _delete(self, table: str, file: str) -> None:
        self.connection.execute(f"DELETE FROM {table} WHERE source = ? AND file = ?", [self.source, file])

    def _ledger_row(self, stream: LogStream, counts: Counter[tuple[str, str]]) -> pl.DataFrame:
        of = Counter[str]()
        for (outcome, _), lines in counts.items():
            of[outcome] += lines
        row = {
            "format": self.reader.source.format, "size_bytes": stream.size_bytes, "modified_ns": stream.modified_ns,
            "sha256": stream.sha256, "settings": self.reader.settings, "version": self.reader.version,
            "ends_line": stream.ends_line, "lines": of.total(), "accepted": of["accepted"], "kept": of["kept"],
            "ignored": of["ignored"], "rejected": of["rejected"],
        }  # fmt: skip
        return pl.DataFrame([row])


def _first_s(parsed: ParsedLines, log_format: str) -> int:
    """A time of submission that is not after any that the lines tell of."""
    found = [parsed.records[SUBMITTED[log_format]].min()]
    if log_format == "pbs" and isinstance(found[0], int):
        found[0] -= QUEUED_BEFORE_S
    if parsed.kept:
        found.append(parsed.events["ctime_s"].min())
        stamp = parsed.events["logged_s"].min()
        found.append(stamp - CLOCKS_DIFFER_S if isinstance(stamp, int) else None)
    return min((time_s for time_s in found if isinstance(time_s, int)), default=LARGEST_S)


@contextmanager
def _progress(files: Sequence[tuple[Path, object]]) -> Iterator:
    sizes = {path: path.stat().st_size for path, _ in files if path.exists()}
    with progress_bar("reading", sum(sizes.values()) >> 20) as bar:
        seen: set[Path] = set()

        def advance(stream: LogStream) -> None:
            if stream.path not in seen:
                seen.add(stream.path)
                bar.update(stream.size_bytes >> 20)

        yield advance


def _check_accepted(connection: duckdb.DuckDBPyConnection, reader: Reader, done: Ingested) -> None:
    """Notes it when nothing could be made of what is new, and fails for a source without any job."""
    where = reader.files[0] if len(reader.files) == 1 else reader.files[0].parent
    log_format, lines, rejected = reader.source.format, done.lines.total(), done.outcome("rejected")
    # the last line of a file that is being written may be half a line
    if rejected > done.half_lines and not done.outcome("accepted") and not done.outcome("kept"):
        done.fault = (
            f"{done.first_reject}. No new line of the log is a job in the {log_format} format ({lines} lines read, {rejected} "
            "rejected): check the format and the file"
        )
    row = first_row(
        connection,
        "SELECT sum(accepted), sum(lines)::BIGINT, sum(rejected)::BIGINT FROM raw.log_files WHERE source = ?",
        [reader.source.name],
    )
    accepted, lines, rejected = row or (0, 0, 0)
    if accepted:
        return
    wide = sum(count for (_, reason), count in done.lines.items() if reason.startswith("wider than the cluster"))
    if wide:
        raise LogError(f"{where}: every job is wider than the cluster's {reader.procs} processors: correct `procs`")
    if done.first_reject:
        raise LogError(
            f"{done.first_reject}. No line of the log is a job in the {log_format} format ({lines} lines read, {rejected} "
            "rejected): check the format and the file"
        )
    raise LogError(f"{where}: the log is empty: {lines} lines, none of them a finished job in the {log_format} format")


def write_source(connection: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """The source's row of core.sources; what is told by the jobs stays as it is until they are written."""
    source = reader.source
    headers = connection.execute(
        "SELECT files.file, headers.key, headers.value FROM raw.log_files AS files LEFT JOIN raw.log_headers AS headers "
        "ON files.source = headers.source AND files.file = headers.file WHERE files.source = ? "
        "ORDER BY files.file, headers.position",
        [source.name],
    ).fetchall()
    zones = (value for _, key, value in headers if key == "TimeZoneString" and value in available_timezones())
    time_zone = source.time_zone or next(zones, None) or reader.default_time_zone
    known = first_row(
        connection,
        "SELECT cluster_procs, cluster_procs_from, origin_s, clock_zero, time_zone FROM core.sources WHERE source = ?",
        [source.name],
    )
    procs, procs_from, origin_s, *clock = known or (None, "peak", 0)
    if reader.procs or procs_from != "peak":
        procs, procs_from = reader.procs, reader.procs_from
    clock_zero = _clock_zero(headers, reader)
    if known and clock != [clock_zero, time_zone]:
        mark_changed(connection, source.name, "", 0)
    connection.execute("DELETE FROM core.sources WHERE source = ?", [source.name])
    connection.execute(
        "INSERT INTO core.sources (source, format, description, cluster_procs, cluster_procs_from, cluster_nodes, "
        "cluster_gpus, node_memory_kb, time_zone, clock_zero, origin_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            source.name,
            source.format,
            source.description,
            procs,
            procs_from,
            source.nodes,
            source.gpus,
            source.node_memory_gb << 20 if source.node_memory_gb else None,
            time_zone,
            clock_zero,
            origin_s,
        ],
    )  # fmt: skip


def _clock_zero(headers: list[tuple[str, str, str]], reader: Reader) -> datetime:
    """UTC time of second 0 of all files, without zone; 1970 where no header tells."""
    of_file: dict[str, list[tuple[str, str]]] = {}
    for file, key, value in headers:
        of_file.setdefault(file, []).extend([(key, value)] if key else [])
    zeros = {header_value(header, "UnixStartTime") or 0: file for file, header in of_file.items()}
    folder = reader.files[0].parent
    if len(zeros) > 1:
        listed = ", ".join(f"{file} from {zero}" for zero, file in zeros.items())
        raise LogError(
            f"{folder}: files of one source must count their seconds from the same UnixStartTime, found "
            f"{listed}: make them sources of their own"
        )
    zero, file = next(iter(zeros.items()))
    if not 0 <= zero <= LARGEST_S:
        raise LogError(f"{folder / file}: the header's UnixStartTime {zero} is not a Unix time: correct or remove it")
    return datetime.fromtimestamp(zero, UTC).replace(tzinfo=None)
