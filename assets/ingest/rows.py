"""Rows of the raw tables: written many at a time, whole files in one transaction, with what the ledger says of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

import sql
from assets.ingest.ledger import LedgerRow
from assets.ingest.reading import SUBMITTED, Reader
from traces.common.blocks import LogStream
from traces.common.log import LARGEST_S, ParsedLines, file_name
from warehouse import commit_so_far, first_row

RECORDS = {"swf": "raw.swf_jobs", "pbs": "raw.pbs_records", "slurm": "raw.slurm_jobs"}
"""The table of each format's records; a source that changes its format leaves the others."""
OF_A_FILE = (*RECORDS.values(), "raw.rejects", "raw.log_headers", "raw.line_counts", "raw.log_files")
"""All tables with rows of one log file."""
COMMIT_BYTES = 256 << 20
"""What a killed process may have read in vain; less makes DuckDB write most rows twice, to its journal first."""
FLUSH_ROWS = 120_000
MEMORY_LIMIT = "512MiB"
"""Of DuckDB while logs are read and jobs are written, however many there are."""
QUEUED_BEFORE_S = 60
"""The record of the queue may be stamped up to this long before the submission that the end record tells (core.cancelled_pbs)."""
CLOCKS_DIFFER_S = 86_400
"""The stamp of a record, a local time, is less than this from its time in UTC."""


@dataclass
class Ingested:
    """What one run has read.

    lines: by (outcome, reason). files: by what was done with them: read, grown, touched, moved, unchanged, gone.
    bytes: new ones, as stored. first_reject: where it is, and why. half_lines: files whose last line has no end.
    fault: why the new lines cannot be right, though they were taken in; empty when nothing is wrong.
    """

    reader: Reader
    lines: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    first_reject: str = ""
    half_lines: int = 0
    fault: str = ""

    def outcome(self, outcome: str) -> int:
        """How many lines were accepted, kept, ignored or rejected."""
        return sum(lines for (each, _), lines in self.lines.items() if each == outcome)


def mark_changed(connection: duckdb.DuckDBPyConnection, source: str, file: str, from_s: int) -> None:
    """Says that rows of a file have changed, and with them canonical jobs submitted from this second of the log's clock on."""
    connection.execute("INSERT INTO core.changed_files VALUES (?, ?, ?)", [source, file, from_s])


class RawRows:
    """Writes parsed lines, many rows at a time; commits after whole files."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        reader: Reader,
        ledger: dict[str, LedgerRow],
        done: Ingested,
    ) -> None:
        self.connection, self.reader, self.ledger, self.done = connection, reader, ledger, done
        here = {file_name(path) for path in reader.files}
        self.hashes = {file: row.sha256 for file, row in ledger.items() if file in here}
        self.source = reader.source.name
        self.rows: dict[str, list[tuple[str, pl.DataFrame]]] = {}
        self.num_rows = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.headers: list[tuple[str, str]] = []
        self.first_s = LARGEST_S
        self.begun = False
        self.uncommitted = 0

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
        previous_row = self.ledger.get(file_name(path))
        counts = self.counts
        if stream.grew:
            rows = self.connection.execute(
                "SELECT outcome, reason, lines FROM raw.line_counts WHERE source = ? AND file = ?",
                [self.source, file_name(path)],
            ).fetchall()
            counts = counts + Counter({(outcome, reason): lines for outcome, reason, lines in rows})
            for table in ("raw.line_counts", "raw.log_files"):
                self._delete(table, file_name(path))
        elif previous_row and not self.begun:  # it is empty now
            self._remove(file_name(path))
        self.hashes[file_name(path)] = stream.sha256
        count_rows = [(outcome, reason, lines) for (outcome, reason), lines in sorted(counts.items()) if lines]
        schema = {"outcome": pl.Utf8, "reason": pl.Utf8, "lines": pl.Int64}
        self._insert("raw.line_counts", file_name(path), pl.DataFrame(count_rows, schema=schema, orient="row"))
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
        if previous_row and stream.grew:
            self.done.bytes -= previous_row.size_bytes
        self.uncommitted += stream.size_bytes
        self.counts, self.headers, self.first_s, self.begun = Counter(), [], LARGEST_S, False
        if self.uncommitted >= COMMIT_BYTES:
            self.flush()
            commit_so_far(self.connection)
            self.uncommitted = 0

    def remove_moved(self) -> None:
        """Takes out the files that are gone where another one has their content now: they were renamed, packed, or copies."""
        content = set(self.hashes.values())
        for file, row in self.ledger.items():
            if file not in self.hashes and row.sha256 in content:
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
        for table, parts in self.rows.items():
            which = np.repeat(np.arange(len(parts)), [frame.height for _, frame in parts])
            files = pl.Series([file for file, _ in parts], dtype=pl.Utf8).gather(which)
            rows = pl.concat(frame for _, frame in parts).with_columns(file=files)
            self.connection.register("new_rows", rows.to_arrow(compat_level=pl.CompatLevel.newest()))
            self.connection.execute(f"INSERT INTO {table} BY NAME SELECT ? AS source, * FROM new_rows", [self.source])
            self.connection.unregister("new_rows")
        self.rows, self.num_rows = {}, 0

    def _insert(self, table: str, file: str, frame: pl.DataFrame) -> None:
        self.rows.setdefault(table, []).append((file, frame))
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
            "format": self.reader.source.format,
            "size_bytes": stream.size_bytes,
            "modified_ns": stream.modified_ns,
            "sha256": stream.sha256,
            "settings": self.reader.settings,
            "version": str(self.reader.version),
            "ends_line": stream.ends_line,
            "lines": of.total(),
        }
        return pl.DataFrame([row | {outcome: of[outcome] for outcome in ("accepted", "kept", "ignored", "rejected")}])


def _first_s(parsed: ParsedLines, log_format: str) -> int:
    """The earliest time of submission that the lines may be about, in seconds of the log's clock; LARGEST_S for none."""
    times = [parsed.records[SUBMITTED[log_format]].min()]
    if log_format == "pbs" and isinstance(times[0], int):
        times[0] -= QUEUED_BEFORE_S
    if parsed.kept:
        times.append(parsed.events["ctime_s"].min())
        stamp = parsed.events["logged_s"].min()
        times.append(stamp - CLOCKS_DIFFER_S if isinstance(stamp, int) else None)
    return min((time_s for time_s in times if isinstance(time_s, int)), default=LARGEST_S)
