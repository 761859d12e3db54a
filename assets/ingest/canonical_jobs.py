"""Raw records into canonical jobs.

Only jobs from the first submission on that new records are about are written again. Jobs before it stay as they are.
The statements are listed in `assets.ingest.versions`: when one of them changes, all jobs are written again.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb

import sql
from assets.common.progress import progress_bar
from assets.ingest.reading import SUBMITTED
from assets.ingest.rows import MEMORY_LIMIT, RECORDS
from traces.common.log import LARGEST_S
from warehouse import Warehouse, first_row

SLICE_ROWS = 500_000
"""Jobs are put in order so many at a time, whatever their number."""


def write_jobs(warehouse: Warehouse, source: str) -> int:
    """Brings the canonical jobs of a source up to date with its raw tables; returns how many jobs there are.

    Jobs submitted before anything that has changed stay as they are. The later ones are written again, so that `job_index` is
    the order of submission, whatever the order in which files came. Raises ValueError when there is no raw log, or when
    the size of the cluster is in neither catalogue nor log.
    """
    with warehouse.write() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        source_row = first_row(
            connection, "SELECT format, clock_zero, time_zone FROM core.sources WHERE source = ?", [source]
        )
        if source_row is None:
            raise ValueError(f"source {source!r} has no raw log in the warehouse: materialize raw/log first")
        log_format, clock_zero, time_zone = source_row
        changed = first_row(connection, "SELECT min(from_s) FROM core.changed_files WHERE source = ?", [source])
        if changed and changed[0] is not None:
            from_s = changed[0]
            if log_format == "pbs":
                from_s = min(from_s, _first_deleted(connection, source, time_zone))
            _rewrite(connection, source, log_format, clock_zero, time_zone, from_s)
            _write_capacity(connection, source, time_zone, clock_zero, from_s)
            connection.execute("DELETE FROM core.changed_files WHERE source = ?", [source])
        _write_cluster(connection, source)
        row = first_row(connection, "SELECT count(*) FROM core.jobs WHERE source = ?", [source])
        return int(row[0]) if row else 0


def _first_deleted(connection: duckdb.DuckDBPyConnection, source: str, time_zone: str) -> int:
    """First submission of a job that the changed files may cancel, or may turn into one that was not cancelled.

    Seconds of the log's clock. The job itself may be in an older file. LARGEST_S when there is no such job.
    """
    parameters = {"source": source, "time_zone": time_zone}
    row = first_row(connection, sql.load("core.first_deleted_pbs"), parameters)
    return row[0] if row and row[0] is not None else LARGEST_S


def _rewrite(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    log_format: str,
    clock_zero: datetime,
    time_zone: str,
    from_s: int,
) -> None:
    """Writes the jobs submitted from second `from_s` of the log's clock on, and their repeats and requeues."""
    from_time = clock_zero + timedelta(seconds=from_s) if from_s > 0 else datetime.min
    for table, column, bound in (
        ("core.jobs", "submit_time", from_time),
        ("core.requeues", "submit_time", from_time),
        ("core.repeats", "submit_s", from_s),
    ):
        connection.execute(f"DELETE FROM {table} WHERE source = ? AND {column} >= ?", [source, bound])
    row = first_row(connection, "SELECT count(*) FROM core.jobs WHERE source = ?", [source])
    first_index = int(row[0]) if row else 0
    if log_format == "pbs":
        parameters = {"source": source, "from_s": from_s, "time_zone": time_zone}
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE cancelled_jobs AS {sql.load('core.cancelled_pbs')}", parameters
        )
    slices = _slices(connection, source, log_format, from_s)
    with progress_bar("jobs", len(slices)) as bar:
        for begin, end in slices:
            bounds: dict[str, Any] = {"source": source, "from_s": begin, "to_s": end}
            connection.execute(f"INSERT INTO core.repeats BY NAME {sql.load(f'core.repeats_{log_format}')}", bounds)
            bounds |= {"clock_zero": clock_zero, "first_index": first_index}
            row = first_row(
                connection, f"INSERT INTO core.jobs BY NAME {sql.load(f'core.jobs_from_{log_format}')}", bounds
            )
            first_index += int(row[0]) if row else 0
            bar.update()
    if log_format == "pbs":
        connection.execute(
            f"INSERT INTO core.requeues BY NAME {sql.load('core.requeues_from_pbs')}",
            {"source": source, "from_s": from_s, "clock_zero": clock_zero},
        )


def _slices(connection: duckdb.DuckDBPyConnection, source: str, log_format: str, from_s: int) -> list[tuple[int, int]]:
    """Stretches of the log's clock from `from_s` to its end, with about SLICE_ROWS records in each."""
    column = SUBMITTED[log_format]
    days = connection.execute(
        f"SELECT {column} // 86400, count(*) FROM {RECORDS[log_format]} WHERE source = ? AND {column} >= ? GROUP BY 1 ORDER BY 1",
        [source, from_s],
    ).fetchall()
    bounds, rows = [from_s], 0
    for day, count in days:
        if rows and rows + count > SLICE_ROWS:
            bounds.append(max(day * 86400, from_s))
            rows = 0
        rows += count
    return list(zip(bounds, [*bounds[1:], LARGEST_S + 1], strict=True))


def _write_capacity(
    connection: duckdb.DuckDBPyConnection, source: str, time_zone: str, clock_zero: datetime, from_s: int
) -> None:
    """Writes the use of the cluster by day, from the day of the first job that was written again.

    The last day that was there is always written again: its end may have been the end of the log, and be so no more.
    """
    first = first_row(connection, "SELECT min(submit_time) FROM core.jobs WHERE source = ?", [source])
    last_day = first_row(connection, "SELECT max(day) FROM core.capacity WHERE source = ?", [source])
    if not first or first[0] is None:
        connection.execute("DELETE FROM core.capacity WHERE source = ?", [source])
        return
    zone = ZoneInfo(time_zone)
    changed = clock_zero + timedelta(seconds=max(from_s, 0))
    everything = changed <= first[0]
    day: date = max(first[0], changed).replace(tzinfo=UTC).astimezone(zone).date()
    if last_day and last_day[0] and not everything:
        day = min(day, last_day[0])
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC).replace(tzinfo=None)
    connection.execute(
        "DELETE FROM core.capacity WHERE source = ? AND day >= ?", [source, date.min if everything else day]
    )
    connection.execute(
        f"INSERT INTO core.capacity BY NAME {sql.load('core.capacity_from_jobs')}",
        {"source": source, "time_zone": time_zone, "from_day": day, "from_time": midnight},
    )


def _write_cluster(connection: duckdb.DuckDBPyConnection, source: str) -> None:
    """What the cluster has: as the catalogue or the log says, else as the jobs show (docs/semantics.md)."""
    of_jobs = first_row(connection, sql.load("core.cluster_from_jobs"), {"source": source})
    of_source = first_row(
        connection,
        "SELECT format, cluster_procs, cluster_procs_from, cluster_nodes, cluster_gpus, node_memory_kb FROM core.sources "
        "WHERE source = ?",
        [source],
    )
    assert of_jobs is not None and of_source is not None
    first_submit_s, widest, procs_per_node, gpus, memory_kb, peak = of_jobs
    log_format, procs, procs_from, given_nodes, given_gpus, given_memory_kb = of_source
    if procs_from == "peak":
        procs = widest
        if peak is None or procs is None:
            raise ValueError(f"source {source!r} needs `procs` (or --procs): its log does not tell the cluster's size")
    # a clock that counts from 1970: policies count from the first submission instead
    origin_s = 0 if log_format == "swf" else first_submit_s or 0
    connection.execute(
        "UPDATE core.sources SET cluster_procs = ?, origin_s = ? WHERE source = ?", [procs, origin_s, source]
    )
    nodes = given_nodes or (-(-procs // procs_per_node) if procs_per_node else None)
    cluster = {
        "source": source,
        "procs": procs,
        "procs_from": procs_from,
        "nodes": nodes,
        "nodes_from": _origin(given_nodes, nodes, "jobs"),
        "procs_per_node": -(-procs // given_nodes) if given_nodes else procs_per_node,
        "gpus": given_gpus or gpus,
        "gpus_from": _origin(given_gpus, gpus, "peak"),
        "node_memory_kb": given_memory_kb or memory_kb,
        "node_memory_from": _origin(given_memory_kb, memory_kb, "jobs"),
    }
    connection.execute("DELETE FROM core.clusters WHERE source = ?", [source])
    connection.execute(
        f"INSERT INTO core.clusters ({', '.join(cluster)}) VALUES ({', '.join('?' * len(cluster))})",
        list(cluster.values()),
    )


def _origin(given: int | None, inferred: int | None, how: str) -> str | None:
    """Where an amount comes from: the catalogue, else as `how` says; None where it is unknown."""
    return "catalogue" if given else how if inferred else None
