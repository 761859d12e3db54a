"""Rows of the raw tables: gathered outside of the warehouse, and written as whole files with what the ledger says of them.

Rows of core.nodes, core.partitions, core.limits and core.reservations: the configurations of the cluster that a source names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import sql
from assets.ingest.ledger import LedgerRow, mark_changed
from assets.ingest.reading import SUBMITTED, Reader
from assets.ingest.staging import StagedRows
from traces.cluster.description import ClusterDescription, Node
from traces.cluster.hostlists import compress_names
from traces.common.blocks import LogStream
from traces.common.log import LARGEST_S, ParsedLines, file_name
from warehouse import first_row
from warehouse.schema import table_columns

RECORDS = {"swf": "raw.swf_jobs", "pbs": "raw.pbs_records", "slurm": "raw.slurm_jobs"}
"""The table of each format's records; a source that changes its format leaves the others."""
OF_A_FILE = (*RECORDS.values(), "raw.rejects", "raw.log_headers", "raw.line_counts", "raw.log_files")
"""All tables with rows of one log file."""
COMMIT_BYTES = 256 << 20
"""So many bytes of whole files are written at once. A killed process has read these in vain, and the file that it was reading."""
MEMORY_LIMIT = "512MiB"
"""Of DuckDB while logs are read and jobs are written, however many there are."""
QUEUED_BEFORE_S = 60
"""The record of the queue may be stamped up to this long before the submission that the end record tells (core.cancelled_pbs)."""
CLOCKS_DIFFER_S = 86_400
"""The stamp of a record, a local time, is less than this from its time in UTC."""


@dataclass
class Corrected:
    """What was done to rows of files that are gone.

    files: how many. counts: jobs and times by what became of them. outdated: by file, what could not be corrected.
    """

    files: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    outdated: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [f"{count:,} {what}" for what, count in self.counts.items() if count]
        text = f"files that are gone: {self.files:,} were corrected from their stored rows"
        text += f" ({', '.join(parts)})" if parts else ""
        for reason, files in Counter(self.outdated.values()).items():
            text += f"; {files:,} keep what cannot be corrected ({reason})"
        return text


@dataclass
class Ingested:
    """What one run has read.

    lines: by (outcome, reason). files: by what was done with them: read, grown, touched, moved, unchanged, gone.
    bytes: new ones, as stored. first_reject: where it is, and why. half_lines: files whose last line has no end.
    fault: why the new lines cannot be right, though they were taken in; empty when nothing is wrong.
    corrected: what was done to rows of files that are gone.
    """

    reader: Reader
    lines: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    first_reject: str = ""
    half_lines: int = 0
    fault: str = ""
    corrected: Corrected = field(default_factory=Corrected)

    def outcome(self, outcome: str) -> int:
        """How many lines were accepted, kept, ignored or rejected."""
        return sum(lines for (each, _), lines in self.lines.items() if each == outcome)


@dataclass
class _EndedFile:
    """A log file that has been read as a whole, and whose rows are not in the warehouse yet."""

    file: str
    stream: LogStream
    counts: Counter[tuple[str, str]]
    headers: list[tuple[str, str]]
    first_s: int


class RawRows:
    """Gathers parsed lines outside of the warehouse, and writes whole files at once.

    replace: the rows that the source has are forgotten when the new ones are written.
    """

    def __init__(
        self, reader: Reader, ledger: dict[str, LedgerRow], done: Ingested, staged: StagedRows, replace: bool = False
    ) -> None:
        self.reader, self.ledger, self.done, self.staged, self.replace = reader, ledger, done, staged, replace
        here = {file_name(path) for path in reader.files}
        self.hashes = {file: row.sha256 for file, row in ledger.items() if file in here}
        self.source = reader.source.name
        self.ended: list[_EndedFile] = []
        self.gathered_bytes = 0
        self._begin_file()

    def _begin_file(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.headers: list[tuple[str, str]] = []
        self.first_s = LARGEST_S

    def add(self, path: Path, parsed: ParsedLines) -> None:
        """Lines of the file that is being read."""
        for table, frame in (
            (RECORDS[self.reader.source.format], parsed.records),
            (RECORDS[self.reader.source.format], parsed.events),
            ("raw.rejects", parsed.rejects),
        ):
            if frame.height:
                self.staged.add(table, file_name(path), frame)
        self.counts.update(parsed.line_counts())
        self.headers += parsed.header
        self.first_s = min(self.first_s, _first_s(parsed, self.reader.source.format))
        if parsed.rejected and not self.done.first_reject:
            line, reason, _ = parsed.rejects.row(0)
            self.done.first_reject = f"{path}:{line}: {reason}"

    def end(self, path: Path, stream: LogStream) -> None:
        """The file has been read; `stream` knows what it was."""
        previous_row = self.ledger.get(file_name(path))
        self.hashes[file_name(path)] = stream.sha256
        self.ended.append(_EndedFile(file_name(path), stream, self.counts, self.headers, self.first_s))
        self.done.files.update(["grown" if stream.grew else "read"])
        self.done.lines.update(self.counts)
        self.done.half_lines += not stream.ends_line
        self.done.bytes += stream.size_bytes
        if previous_row and stream.grew:
            self.done.bytes -= previous_row.size_bytes
        self.gathered_bytes += stream.size_bytes
        self._begin_file()

    @property
    def is_full(self) -> bool:
        """Whether so much has been gathered that it should be written, lest a killed process has read it in vain."""
        return self.gathered_bytes >= COMMIT_BYTES

    def publish(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Writes the files that have ended, in the caller's transaction: each with its row of the ledger. The transaction may be run
        again, until `forget` is called."""
        if self.replace:
            forget_rows(connection, self.source)
        folder = self.staged.folder / "totals"
        folder.mkdir(exist_ok=True)
        totals = StagedRows(folder, self.source)
        for each in self.ended:
            counts = each.counts.copy()
            if each.stream.grew:
                rows = connection.execute(
                    "SELECT outcome, reason, lines FROM raw.line_counts WHERE source = ? AND file = ?",
                    [self.source, each.file],
                ).fetchall()
                counts.update({(outcome, reason): lines for outcome, reason, lines in rows})
                for table in ("raw.line_counts", "raw.log_files"):
                    connection.execute(f"DELETE FROM {table} WHERE source = ? AND file = ?", [self.source, each.file])
            elif each.file in self.ledger:
                self._remove(connection, each.file)
            self._add_totals(totals, each, counts)
        self.staged.insert(connection)
        totals.insert(connection)
        totals.forget()

    def forget(self) -> None:
        """Forgets the files that have ended, once they are in the warehouse."""
        self.staged.forget()
        self.ended, self.gathered_bytes, self.replace = [], 0, False

    def _add_totals(self, totals: StagedRows, ended: _EndedFile, counts: Counter[tuple[str, str]]) -> None:
        count_rows = [(outcome, reason, lines) for (outcome, reason), lines in sorted(counts.items()) if lines]
        schema = {"outcome": pl.Utf8, "reason": pl.Utf8, "lines": pl.Int64}
        totals.add("raw.line_counts", ended.file, pl.DataFrame(count_rows, schema=schema, orient="row"))
        if ended.headers:
            header = pl.DataFrame(ended.headers, schema=["key", "value"], orient="row").with_row_index("position", 1)
            totals.add("raw.log_headers", ended.file, header)
        totals.add("raw.log_files", ended.file, self._ledger_row(ended.stream, counts))
        if ended.first_s < LARGEST_S:
            changed = pl.DataFrame({"from_s": [ended.first_s]}, schema={"from_s": pl.Int64})
            totals.add("core.changed_files", ended.file, changed)

    def moved(self) -> list[str]:
        """The files that are gone where another one has their content now: they were renamed, packed, or copies."""
        content = set(self.hashes.values())
        return [file for file, row in self.ledger.items() if file not in self.hashes and row.sha256 in content]

    def remove_moved(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Takes out the files that `moved` lists."""
        for file in self.moved():
            self._remove(connection, file)

    def touch(self, connection: duckdb.DuckDBPyConnection, path: Path, modified_ns: int) -> None:
        """The file has a new time, nanoseconds since 1970, and its old content."""
        connection.execute(
            "UPDATE raw.log_files SET modified_ns = ? WHERE source = ? AND file = ?",
            [modified_ns, self.source, file_name(path)],
        )

    def _remove(self, connection: duckdb.DuckDBPyConnection, file: str) -> None:
        remove_file(connection, self.source, self.ledger[file].log_format, file)

    def _ledger_row(self, stream: LogStream, counts: Counter[tuple[str, str]]) -> pl.DataFrame:
        of = Counter[str]()
        for (outcome, _), lines in counts.items():
            of[outcome] += lines
        row = {
            "format": self.reader.source.format,
            "size_bytes": stream.size_bytes,
            "modified_ns": stream.modified_ns,
            "sha256": stream.sha256,
            "settings": str(self.reader.settings),
            "version": str(self.reader.version),
            "ends_line": stream.ends_line,
            "lines": of.total(),
        }
        return pl.DataFrame([row | {outcome: of[outcome] for outcome in ("accepted", "kept", "ignored", "rejected")}])


def forget_rows(connection: duckdb.DuckDBPyConnection, source: str) -> None:
    """Takes all rows of a source out of the raw tables, and marks its jobs as changed."""
    for table in (*OF_A_FILE, "core.sources"):
        connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])
    mark_changed(connection, source, "", 0)


def remove_file(connection: duckdb.DuckDBPyConnection, source: str, log_format: str, file: str) -> None:
    """Takes all rows of a log file out, and marks the canonical jobs that change with it."""
    row = first_row(connection, sql.load(f"raw.first_submission_{log_format}"), {"source": source, "file": file})
    if row and row[0] is not None:
        mark_changed(connection, source, file, row[0] - CLOCKS_DIFFER_S)
    for table in OF_A_FILE:
        connection.execute(f"DELETE FROM {table} WHERE source = ? AND file = ?", [source, file])


def _first_s(parsed: ParsedLines, log_format: str) -> int:
    """The earliest time of submission that the lines may be about, in seconds of the log's clock; LARGEST_S for none."""
    times = [parsed.records[SUBMITTED[log_format]].min()]
    if log_format == "pbs" and isinstance(times[0], int):
        times[0] -= QUEUED_BEFORE_S
    if parsed.kept and log_format == "pbs":  # no job of Slurm changes with those that wait
        times.append(parsed.events["ctime_s"].min())
        stamp = parsed.events["logged_s"].min()
        times.append(stamp - CLOCKS_DIFFER_S if isinstance(stamp, int) else None)
    return min((time_s for time_s in times if isinstance(time_s, int)), default=LARGEST_S)


# --- cluster rows


Rows = dict[str, list[dict[str, Any]]]
CLUSTER_TABLES = ("core.nodes", "core.partitions", "core.limits", "core.reservations")
_TYPES: dict[str, Any] = {
    "VARCHAR": pl.Utf8,
    "BIGINT": pl.Int64,
    "BOOLEAN": pl.Boolean,
    "TIMESTAMP": pl.Datetime("us"),
}


def write_cluster_rows(
    connection: duckdb.DuckDBPyConnection, source: str, descriptions: Sequence[ClusterDescription]
) -> None:
    """Exchanges what the warehouse has of the cluster of a source, in the caller's transaction. No descriptions leave no rows."""
    rows: Rows = {table: [] for table in CLUSTER_TABLES}
    for description in descriptions:
        for table, made in cluster_rows(description).items():
            rows[table] += made
    for table, made in rows.items():
        connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])
        if made:
            columns = {name: _TYPES[kind] for name, kind in table_columns(sql.load(table))}
            frame = pl.DataFrame([row | {"source": source} for row in made], schema=columns)
            connection.register("cluster_rows", frame.to_arrow())
            connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM cluster_rows")
            connection.unregister("cluster_rows")


def cluster_rows(description: ClusterDescription) -> Rows:
    """The rows of one configuration by table, without their source."""
    about = {
        "cluster": description.name,
        "valid_from": None if description.valid_from_s is None else _time(description.valid_from_s),
    }
    made: Rows = {
        "core.nodes": [_node(place, node) for place, node in enumerate(description.nodes)],
        "core.partitions": list(_partitions(description)),
        "core.limits": list(_limits(description)),
        "core.reservations": list(_reservations(description)),
    }
    return {table: [about | row for row in rows] for table, rows in made.items()}


def _node(place: int, node: Node) -> dict[str, Any]:
    return {
        "position": place,
        "node_name": node.name,
        "cpus": node.cpus,
        "cores": node.cores,
        "sockets": node.sockets or None,
        "memory_mib": node.memory_mib or None,
        "gpus": node.num_gpus,
        "gpu_types": _types(node.gpus),
        "features": _words(node.features),
        "weight": node.weight,
    }


def _partitions(description: ClusterDescription) -> Iterable[dict[str, Any]]:
    nodes = {node.name: node for node in description.nodes}
    for partition in description.partitions:
        names = description.nodes_of(partition)
        yield {
            "partition": partition.name,
            "node_list": compress_names(names),
            "nodes": len(names),
            "cpus": sum(nodes[name].cpus for name in names),
            "gpus": sum(nodes[name].num_gpus for name in names),
            "is_default": partition.is_default,
            "state": partition.state,
            "max_time_s": partition.max_time_s,
            "default_time_s": partition.default_time_s,
            "tier": partition.tier,
            "factor": partition.factor,
            "qos": partition.qos or None,
            "oversubscribe": partition.oversubscribe,
            "allow_accounts": _words(partition.allow_accounts),
            "allow_qos": _words(partition.allow_qos),
        }


def _limits(description: ClusterDescription) -> Iterable[dict[str, Any]]:
    for limit in description.limits:
        yield {
            "owner": limit.owner,
            "owner_name": limit.owner_name,
            "counts": limit.counts,
            "each": limit.each,
            "who": limit.who or None,
            "resource": limit.resource,
            "bound": limit.bound,
            "is_least": limit.is_least,
            "is_soft": limit.is_soft,
            "origin": limit.source,
        }


def _reservations(description: ClusterDescription) -> Iterable[dict[str, Any]]:
    for reservation in description.reservations:
        yield {
            "reservation": reservation.name,
            "begin_time": _time(reservation.begin_s),
            "end_time": _time(reservation.end_s),
            "repeats": reservation.repeats or None,
            "node_list": compress_names(reservation.nodes) or None,
            "cpus": reservation.cpus or None,
            "users": _words(reservation.users),
            "accounts": _words(reservation.accounts),
            "flags": _words(reservation.flags),
        }


def _types(gpus: Mapping[str, int]) -> str | None:
    return ",".join(f"{kind}={count}" for kind, count in sorted(gpus.items()) if kind and count) or None


def _words(words: Sequence[str]) -> str | None:
    return ",".join(words) or None


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
