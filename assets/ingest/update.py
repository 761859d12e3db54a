"""Log files into the raw tables: what is new since the last time, each file in one transaction with its row of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

import duckdb

from assets.common.progress import progress_bar
from assets.common.storage import pseudonym_key
from assets.ingest.corrections import correct_rows
from assets.ingest.ledger import CLUSTER_FILE, LedgerRow, adopt_statements, mark_changed, plan_reading, read_ledger
from assets.ingest.reading import Reader, parsed_files, reader_of
from assets.ingest.rows import MEMORY_LIMIT, Ingested, RawRows, write_cluster_rows
from assets.ingest.staging import StagedRows, source_lock, staging_folder
from traces.catalogue.clusters import clusters_of_source
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription
from traces.common.blocks import LogStream
from traces.common.described_names import with_pseudonyms
from traces.common.log import LARGEST_S, LogError
from traces.formats import look_at_file
from traces.swf.reader import header_value
from warehouse import Warehouse, first_row

_NEAR_S = 60
"""A record of a submission is written within this time."""
_MOST_STRANGE = 0.1
"""Part of the days that may have another offset, such as those with many jobs that were moved between queues."""
_OFFSETS = """
    SELECT day, arg_max(offset_s, (jobs, -abs(offset_s))) AS offset_s, arg_max(ctime_s, (jobs, -abs(offset_s))) AS ctime_s
    FROM (
        SELECT ctime_s // 86400 AS day, round((logged_s - ctime_s) / 900)::BIGINT * 900 AS offset_s, count(*) AS jobs,
            min(ctime_s) AS ctime_s
        FROM raw.pbs_records
        WHERE source = ? AND record_type = 'Q' AND ctime_s IS NOT NULL
            AND abs(logged_s - ctime_s - round((logged_s - ctime_s) / 900) * 900) <= ?
        GROUP BY ALL
    )
    WHERE abs(offset_s) <= 14 * 3600
    GROUP BY day
    ORDER BY day
"""


def update_raw_log(
    warehouse: Warehouse,
    source: Source,
    default_time_zone: str = "UTC",
    default_is_given: bool = False,
    replace: bool = False,
    new_key: bool = False,
) -> Ingested:
    """Brings the raw tables of a source up to date with its log files, and says what was done.

    A file whose size and time have not changed is not opened, and one that has grown is read from where it ended. A changed file replaces
    its rows. A file that is gone leaves its rows, unless another has its content now. After a correction in the catalogue files are read
    again, and rows of files that are gone are corrected. Files are parsed while the warehouse is closed. If the process dies, committed
    files stay whole. Where only statements that make canonical jobs have changed, all jobs are marked to be recomputed. replace: forgets
    all rows of the source in the transaction that writes the new ones. new_key: else another key of pseudonyms raises PseudonymError.
    Raises LogError with file, line and remedy when a file cannot be read, a job is wider than the cluster, or the source has no job. New
    lines of which none is sound are taken in, and `Ingested.fault` says so.
    """
    with source_lock(warehouse, source.name), staging_folder(warehouse, source.name) as folder:
        key = partial(pseudonym_key, warehouse, source.name if replace else "", new_key)
        reader = reader_of(source, default_time_zone, key)
        clusters = _clusters(reader)
        done = Ingested(reader)

        begun = warehouse.transact(source.name, partial(_current_ledger, reader=reader))
        ledger = {} if replace else begun
        plan = plan_reading(reader, ledger)
        done.files.update(unchanged=plan.unchanged, touched=len(plan.touched), gone=plan.gone)
        rows = RawRows(reader, ledger, done, StagedRows(folder, source.name), replace)
        with _progress(plan.read) as advance:
            for path, stream, parsed in parsed_files(reader, plan.read):
                if parsed is not None:
                    rows.add(path, parsed)
                    advance(stream)
                    continue
                rows.end(path, stream)
                if rows.is_full and not replace:  # a replacement is all or nothing
                    _transact(warehouse, source.name, rows.publish)
                    rows.forget()
        moved = rows.moved()
        remaining = {file: row for file, row in ledger.items() if file not in moved}

        def end(connection: duckdb.DuckDBPyConnection) -> None:
            rows.publish(connection)
            for touched in plan.touched:
                rows.touch(connection, *touched)
            rows.remove_moved(connection)
            done.corrected = correct_rows(connection, reader, remaining, plan.uncorrected)
            _check_accepted(connection, reader, done)
            write_source(connection, reader, clusters, default_is_given)
            write_cluster_rows(connection, source.name, clusters)

        _transact(warehouse, source.name, end)
        rows.forget()
        done.files.update(moved=len(moved), gone=-len(moved))
    return done


def _clusters(reader: Reader) -> list[ClusterDescription]:
    """What the source names, with pseudonyms where its log has them."""
    clusters, key = clusters_of_source(reader.source), reader.key
    return [each if key is None else with_pseudonyms(each, reader.source.pseudonyms, key) for each in clusters]


def _current_ledger(connection: duckdb.DuckDBPyConnection, reader: Reader) -> dict[str, LedgerRow]:
    ledger = read_ledger(connection, reader)
    adopt_statements(connection, reader, ledger)
    return ledger


def _transact(warehouse: Warehouse, source: str, write: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
    def write_thriftily(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        connection.execute("SET threads = 1")  # DuckDB's second thread costs more than it does
        write(connection)

    warehouse.transact(source, write_thriftily)


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
    if accepted or _has_deleted_jobs(connection, reader):
        return
    wide = sum(count for (_, reason), count in done.lines.items() if reason.startswith("wider than the cluster"))
    if wide:
        raise LogError(f"{where}: every job is wider than the cluster's {reader.procs} processors: correct `procs`")
    if done.first_reject:
        raise LogError(
            f"{done.first_reject}. No line of the log is a job in the {log_format} format ({lines} lines read, {rejected} "
            f"rejected): check the format{', its columns (`--columns`)' if log_format == 'slurm' else ''} and the file"
        )
    beginning = look_at_file(reader.files[0]).beginning
    begins = f". It begins with {beginning}: if that is another format, name it with `--format`" if beginning else ""
    raise LogError(
        f"{where}: the log is empty: {lines} lines, none of them a finished job in the {log_format} format{begins}"
    )


def _has_deleted_jobs(connection: duckdb.DuckDBPyConnection, reader: Reader) -> bool:
    """Whether a PBS log has jobs that were deleted while they waited, though none that ended."""
    query = (
        "SELECT 1 FROM raw.pbs_records AS queued SEMI JOIN raw.pbs_records AS deleted ON queued.source = deleted.source "
        "AND queued.job_id = deleted.job_id AND deleted.record_type IN ('D', 'A') "
        "WHERE queued.source = ? AND queued.record_type = 'Q' LIMIT 1"
    )
    return reader.source.format == "pbs" and first_row(connection, query, [reader.source.name]) is not None


def _declared_size(reader: Reader, clusters: Sequence[ClusterDescription]) -> tuple[int | None, str]:
    """The size of the cluster and who says it: catalogue, command line or header, else the largest of the source's descriptions. None and
    "peak" where the jobs have to tell. A description of a single node without a scheduler may have its size from the jobs itself."""
    described = [each.num_cpus for each in clusters if each.scheduler.name != "none" or len(each.nodes) > 1]
    return (max(described), CLUSTER_FILE) if reader.procs is None and described else (reader.procs, reader.procs_from)


def write_source(
    connection: duckdb.DuckDBPyConnection,
    reader: Reader,
    clusters: Sequence[ClusterDescription] = (),
    default_is_given: bool = False,
) -> None:
    """Writes the source's row of core.sources. What only its jobs can say stays as it is until they are written.

    clusters: the descriptions that the source names. default_is_given: whether somebody chose the reader's default time zone; otherwise it
    is assumed."""
    source = reader.source
    headers = connection.execute(
        "SELECT files.file, headers.key, headers.value FROM raw.log_files AS files LEFT JOIN raw.log_headers AS headers "
        "ON files.source = headers.source AND files.file = headers.file WHERE files.source = ? "
        "ORDER BY files.file, headers.position",
        [source.name],
    ).fetchall()
    zones = (value for _, key, value in headers if key == "TimeZoneString" and value in available_timezones())
    header_zone = next(zones, None)
    time_zone = source.time_zone or header_zone or reader.default_time_zone
    zone_from = "header" if header_zone and not source.time_zone else "catalogue"
    if not source.time_zone and not header_zone and not default_is_given:
        zone_from = "assumed"
        if source.format == "pbs":
            time_zone = _zone_of_stamps(connection, source.name, time_zone)
    previous_row = first_row(
        connection,
        "SELECT cluster_procs, cluster_procs_from, origin_s, clock_zero, time_zone FROM core.sources WHERE source = ?",
        [source.name],
    )
    procs, procs_from, origin_s, *previous_clock = previous_row or (None, "peak", 0)
    size = _declared_size(reader, clusters)
    if size[0] or procs_from != "peak":
        procs, procs_from = size
    clock_zero = _clock_zero(headers, reader)
    if previous_row and previous_clock != [clock_zero, time_zone]:
        mark_changed(connection, source.name, "", 0)
    connection.execute("DELETE FROM core.sources WHERE source = ?", [source.name])
    connection.execute(
        "INSERT INTO core.sources (source, format, description, cluster_procs, cluster_procs_from, cluster_nodes, "
        "cluster_gpus, node_memory_kb, time_zone, time_zone_from, clock_zero, origin_s, pseudonym_key) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            zone_from,
            clock_zero,
            origin_s,
            reader.settings.key or None,
        ],
    )


def _zone_of_stamps(connection: duckdb.DuckDBPyConnection, source: str, default: str) -> str:
    """The time zone in which the stamps of a PBS log were written. It is the default where they agree with it or say nothing.

    Else it is a constant offset such as "Etc/GMT-1", or the first IANA name with the same changes of the clock."""
    days = [(ctime_s, offset_s) for _, offset_s, ctime_s in connection.execute(_OFFSETS, [source, _NEAR_S]).fetchall()]
    hours = sorted({offset_s // 3600 for _, offset_s in days})
    constant = [f"Etc/GMT{-hour:+d}" for hour in hours if -12 <= hour <= 14]
    names = [default, *constant, *sorted(available_timezones())]
    return next((name for name in names if _agrees(name, days)), default)


def _agrees(name: str, days: Sequence[tuple[int, int]]) -> bool:
    """Whether the clock of a time zone was so far ahead of UTC on nearly all of the days. days: second, and offset of the stamps."""
    zone, strange = ZoneInfo(name), 0
    for second, offset_s in days:
        strange += datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset() != timedelta(seconds=offset_s)
        if strange > _MOST_STRANGE * len(days):
            return False
    return True


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
