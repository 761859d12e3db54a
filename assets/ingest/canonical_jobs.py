"""Raw records into canonical jobs.

Only jobs from the first submission on that new records are about are written again. Jobs before it stay as they are.
The statements are listed in `assets.ingest.versions`. When one of them changes, all jobs are written again.

Which nodes each job held, of the host lists that the log has: rows of core.job_nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import polars as pl

import sql
from assets.common.progress import progress_bar
from assets.ingest.ledger import CLUSTER_FILE
from assets.ingest.reading import SUBMITTED
from assets.ingest.rows import MEMORY_LIMIT, RECORDS
from assets.ingest.staging import overlay, quoted, source_lock, staging_folder
from traces.catalogue.sources import LARGEST_CLUSTER
from traces.common.log import LARGEST_S
from traces.pbs.holdings import pbs_nodes_held
from traces.slurm.held_nodes import slurm_nodes_held
from warehouse import Warehouse, first_row

_HELD: dict[str, Callable[[pl.Series], pl.DataFrame]] = {"pbs": pbs_nodes_held, "slurm": slurm_nodes_held}
_BATCH_JOBS = 20_000
"""Jobs whose lists are expanded at a time, each of which may have thousands of nodes."""


def write_job_nodes(connection: duckdb.DuckDBPyConnection, jobs: Path, log_format: str) -> list[Path]:
    """Writes files of rows of core.job_nodes beside `jobs`, a file of rows of core.jobs with the column held_nodes. No file where no job
    has a list."""
    held = _HELD.get(log_format)
    if held is None:
        return []
    files: list[Path] = []
    query = (
        "SELECT source, job_index, submit_time, procs AS job_procs, gpus AS job_gpus, held_nodes FROM read_parquet($jobs) "
        "WHERE held_nodes IS NOT NULL ORDER BY job_index"
    )
    batches = connection.sql(query, params={"jobs": str(jobs)}).to_arrow_reader(_BATCH_JOBS)
    for batch in batches:
        frame = pl.DataFrame(pl.from_arrow(batch)).with_row_index("place")
        rows = held(frame["held_nodes"])
        if rows.height:
            file = jobs.with_name(f"{jobs.stem}-nodes-{len(files)}.parquet")
            _as_held(frame, rows).write_parquet(file, compression="lz4")
            files.append(file)
    return files


def _as_held(jobs: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the columns of the table. A job that had its nodes alone held more than its list says: on one node all that core.jobs
    has, on several nobody knows how much of each."""
    rows = rows.with_columns(pl.col("place").cast(pl.UInt32)).join(
        jobs.drop("held_nodes"), on="place", how="left", maintain_order="left"
    )
    alone = pl.len().over("place") == 1
    amounts = {}
    for name in ("procs", "gpus"):
        agrees = pl.col(name).sum().over("place") == pl.col(f"job_{name}").fill_null(pl.col(name).sum().over("place"))
        amounts[name] = pl.when(alone).then(pl.coalesce(f"job_{name}", name)).when(agrees).then(name)
    return rows.with_columns(**amounts).select(
        "source", "job_index", "submit_time", "node_name", "procs", "gpus", "memory_kb"
    )


# --- canonical jobs


BESIDE_JOBS = "held_nodes"
"""The column of core.jobs_from_* that core.job_nodes is made of."""
SLICE_ROWS = 500_000
"""How many jobs are sorted at a time, however many there are."""


@dataclass(frozen=True)
class _Replacement:
    """Rows of a table in Parquet files, which take the place of the source's rows with at least `bound` in `column`."""

    table: str
    column: str
    bound: Any
    files: list[Path]

    def write(self, connection: duckdb.DuckDBPyConnection, source: str) -> None:
        """Exchanges the rows, in the caller's transaction."""
        connection.execute(f"DELETE FROM {self.table} WHERE source = ? AND {self.column} >= ?", [source, self.bound])
        for file in self.files:
            columns = f"* EXCLUDE ({BESIDE_JOBS})" if self.table == "core.jobs" else "*"
            connection.execute(f"INSERT INTO {self.table} BY NAME SELECT {columns} FROM read_parquet(?)", [str(file)])


def write_jobs(warehouse: Warehouse, source: str) -> int:
    """Brings the canonical jobs of a source up to date with its raw tables. Returns how many jobs there are.

    Jobs submitted before anything that has changed stay as they are. The later ones are computed again while other processes may read
    the warehouse, and then written at once. `job_index` is the order of submission, whatever the order in which files came.
    Raises ValueError when there is no raw log, or when the size of the cluster is in neither catalogue nor log.
    """
    with source_lock(warehouse, source), staging_folder(warehouse, source) as folder:

        def begin(connection: duckdb.DuckDBPyConnection) -> tuple[tuple[str, datetime, str], int | None, int]:
            """Format, clock and time zone, then the first second that has changed, and the number of jobs where none has."""
            connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
            source_row = first_row(
                connection, "SELECT format, clock_zero, time_zone FROM core.sources WHERE source = ?", [source]
            )
            if source_row is None:
                raise ValueError(f"source {source!r} has no raw log in the warehouse: materialize raw/log first")
            changed = first_row(connection, "SELECT min(from_s) FROM core.changed_files WHERE source = ?", [source])
            from_s = changed[0] if changed else None
            log_format, clock_zero, time_zone = source_row
            jobs = _write_cluster(connection, source) if from_s is None else 0
            return (log_format, clock_zero, time_zone), from_s, jobs

        about, from_s, jobs = warehouse.transact(source, begin)
        if from_s is None:
            return jobs
        with warehouse.read() as connection:
            connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
            replacements = _Computation(connection, folder, source, *about).replacements(from_s)

        def end(connection: duckdb.DuckDBPyConnection) -> int:
            connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
            for replacement in replacements:
                replacement.write(connection, source)
            connection.execute("DELETE FROM core.changed_files WHERE source = ?", [source])
            return _write_cluster(connection, source)

        return warehouse.transact(source, end)


class _Computation:
    """The jobs of a source and what follows from them, computed from the raw tables into files of a folder."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        folder: Path,
        source: str,
        log_format: str,
        clock_zero: datetime,
        time_zone: str,
    ) -> None:
        self.connection, self.folder, self.source, self.log_format = connection, folder, source, log_format
        self.clock_zero, self.time_zone = clock_zero, time_zone

    def replacements(self, from_s: int) -> list[_Replacement]:
        """The new rows of every table, of jobs submitted from second `from_s` of the log's clock on, or a little before."""
        if self.log_format == "pbs":
            from_s = min(from_s, self._first_deleted())
        if self.log_format == "slurm":
            from_s = min(from_s, self._first_requeued())
        from_time = self.clock_zero + timedelta(seconds=from_s) if from_s > 0 else datetime.min
        with overlay(self.connection) as views:
            for table in ("core.repeats", "core.requeues", "core.suspensions"):
                views.make_table(table)
            of_source = f"SELECT * FROM {views.warehouse}.core.jobs WHERE source = '{self.source}'"
            former = f"{of_source} AND submit_time < TIMESTAMP '{from_time}'"
            views.make_view("core.jobs", former)
            files = self._write_jobs(from_s)
            if files:
                listed = ", ".join(map(quoted, files))
                views.make_view(
                    "core.jobs",
                    f"{former} UNION ALL BY NAME SELECT * EXCLUDE ({BESIDE_JOBS}) FROM read_parquet([{listed}])",
                )
            if self.log_format in ("pbs", "slurm"):
                self.connection.execute(
                    f"INSERT INTO core.requeues BY NAME {sql.load(f'core.requeues_from_{self.log_format}')}",
                    {"source": self.source, "from_s": from_s, "clock_zero": self.clock_zero},
                )
            job_nodes = [file for jobs in files for file in write_job_nodes(self.connection, jobs, self.log_format)]
            suspensions = self._rows_of("core.suspensions")
            self.connection.execute(
                f"INSERT INTO core.suspensions FROM {views.warehouse}.core.suspensions WHERE source = ? AND submit_time < ?",
                [self.source, from_time],
            )
            return [
                _Replacement("core.jobs", "submit_time", from_time, files),
                _Replacement("core.job_nodes", "submit_time", from_time, job_nodes),
                _Replacement("core.suspensions", "submit_time", from_time, suspensions),
                _Replacement("core.requeues", "submit_time", from_time, self._rows_of("core.requeues")),
                _Replacement("core.repeats", "submit_s", from_s, self._rows_of("core.repeats")),
                self._capacity(from_s),
            ]

    def _rows_of(self, table: str) -> list[Path]:
        """A file with the rows of a table, if it has any."""
        row = first_row(self.connection, f"SELECT 1 FROM {table} LIMIT 1")
        return [self._copy(table, f"FROM {table}")] if row else []

    def _copy(self, name: str, query: str, parameters: dict[str, Any] | None = None) -> Path:
        """Writes the rows of a query into a file."""
        file = self.folder / f"{name}.parquet"
        self.connection.execute(f"COPY ({query}) TO {quoted(file)} (FORMAT parquet, COMPRESSION lz4)", parameters or {})
        return file

    def _first_deleted(self) -> int:
        """First submission of a job that the changed files may cancel, or may turn into one that was not cancelled.

        Seconds of the log's clock. The job itself may be in an older file. LARGEST_S when there is no such job.
        """
        parameters = {"source": self.source, "time_zone": self.time_zone}
        row = first_row(self.connection, sql.load("core.first_deleted_pbs"), parameters)
        return row[0] if row and row[0] is not None else LARGEST_S

    def _first_requeued(self) -> int:
        """First submission of a job that the changed files may make an attempt of another job, or may separate from it.

        Unix seconds. The job itself may be in an older file. LARGEST_S when there is no such job.
        """
        row = first_row(self.connection, sql.load("core.first_requeued_slurm"), {"source": self.source})
        return row[0] if row and row[0] is not None else LARGEST_S

    def _write_jobs(self, from_s: int) -> list[Path]:
        """Writes the jobs submitted from second `from_s` of the log's clock on into files, in the order of their submission."""
        row = first_row(self.connection, "SELECT count(*) FROM core.jobs")
        first_index = int(row[0]) if row else 0
        if self.log_format == "pbs":
            parameters = {"source": self.source, "from_s": from_s, "time_zone": self.time_zone}
            for table, query in (("cancelled_jobs", "core.cancelled_pbs"), ("suspended_jobs", "core.suspended_pbs")):
                self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {sql.load(query)}", parameters)
            self.connection.execute(
                f"INSERT INTO core.suspensions BY NAME {sql.load('core.suspensions_from_pbs')}",
                {"source": self.source, "clock_zero": self.clock_zero},
            )
        if self.log_format == "swf":
            partial_lines = f"CREATE OR REPLACE TEMP TABLE partial_lines AS {sql.load('core.partial_swf')}"
            self.connection.execute(partial_lines, {"source": self.source})
        if self.log_format == "slurm":
            requeued_lines = f"CREATE OR REPLACE TEMP TABLE requeued_lines AS {sql.load('core.requeued_slurm')}"
            self.connection.execute(requeued_lines, {"source": self.source})
        slices = self._slices(from_s)
        files: list[Path] = []
        with progress_bar("jobs", len(slices)) as bar:
            for begin, end in slices:
                bounds: dict[str, Any] = {"source": self.source, "from_s": begin, "to_s": end}
                repeats = sql.load(f"core.repeats_{self.log_format}")
                self.connection.execute(f"INSERT INTO core.repeats BY NAME {repeats}", bounds)
                bounds |= {"clock_zero": self.clock_zero, "first_index": first_index}
                bounds |= {"time_zone": self.time_zone} if self.log_format == "pbs" else {}
                files.append(self._copy(f"jobs-{len(files)}", sql.load(f"core.jobs_from_{self.log_format}"), bounds))
                row = first_row(self.connection, "SELECT count(*) FROM read_parquet(?)", [str(files[-1])])
                first_index += int(row[0]) if row else 0
                bar.update()
        return files

    def _slices(self, from_s: int) -> list[tuple[int, int]]:
        """Stretches of the log's clock from `from_s` to its end, with about SLICE_ROWS records in each."""
        column = SUBMITTED[self.log_format]
        days = self.connection.execute(
            f"SELECT {column} // 86400, count(*) FROM {RECORDS[self.log_format]} WHERE source = ? AND {column} >= ? "
            "GROUP BY 1 ORDER BY 1",
            [self.source, from_s],
        ).fetchall()
        bounds, rows = [from_s], 0
        for day, count in days:
            if rows and rows + count > SLICE_ROWS:
                bounds.append(max(day * 86400, from_s))
                rows = 0
            rows += count
        return list(zip(bounds, [*bounds[1:], LARGEST_S + 1], strict=True))

    def _capacity(self, from_s: int) -> _Replacement:
        """The use of the cluster by day, from the day of the first job that was computed again.

        The last day that was there is always computed again. The log may have ended in it, and may continue now.
        """
        first = first_row(self.connection, "SELECT min(submit_time) FROM core.jobs")
        last_day = first_row(self.connection, "SELECT max(day) FROM core.capacity WHERE source = ?", [self.source])
        if not first or first[0] is None:
            return _Replacement("core.capacity", "day", date.min, [])
        zone = ZoneInfo(self.time_zone)
        changed = self.clock_zero + timedelta(seconds=max(from_s, 0))
        everything = changed <= first[0]
        day: date = max(first[0], changed).replace(tzinfo=UTC).astimezone(zone).date()
        if last_day and last_day[0] and not everything:
            day = min(day, last_day[0])
        midnight = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC).replace(tzinfo=None)
        parameters = {"source": self.source, "time_zone": self.time_zone, "from_day": day, "from_time": midnight}
        file = self._copy("capacity", sql.load("core.capacity_from_jobs"), parameters)
        return _Replacement("core.capacity", "day", date.min if everything else day, [file])


def _write_cluster(connection: duckdb.DuckDBPyConnection, source: str) -> int:
    """Writes what the cluster has: as the catalogue or the log says, else as the jobs show (docs/reference/semantics.md). Returns how many
    jobs there are."""
    of_jobs = first_row(connection, sql.load("core.cluster_from_jobs"), {"source": source})
    of_source = first_row(
        connection,
        "SELECT format, cluster_procs, cluster_procs_from, cluster_nodes, cluster_gpus, node_memory_kb FROM core.sources "
        "WHERE source = ?",
        [source],
    )
    assert of_jobs is not None and of_source is not None
    first_submit_s, widest, procs_per_node, named, procs_per_named, gpus, memory_kb, peak = of_jobs
    log_format, procs, procs_from, given_nodes, given_gpus, given_memory_kb = of_source
    if procs_from == CLUSTER_FILE and (widest or 0) > procs:  # the description is of another time, or has other units
        procs_from = "peak"
    if procs_from == "peak":
        procs = widest
        if peak is None or procs is None:
            raise ValueError(
                f"source {source!r} needs `procs` (or --procs): its log does not say how large the cluster is"
            )
    if procs > LARGEST_CLUSTER:
        raise ValueError(
            f"source {source!r}: {procs:,} processors (from the {procs_from}) are more than a cluster has, at most {LARGEST_CLUSTER:,}. "
            "Correct the log, or give the true size with --procs, and --drop-wider or `drop_wider` for jobs that are wider"
        )
    # the clock counts from 1970, so policies count from the first submission instead
    origin_s = 0 if log_format == "swf" else first_submit_s or 0
    connection.execute(
        "UPDATE core.sources SET cluster_procs = ?, cluster_procs_from = ?, origin_s = ? WHERE source = ?",
        [procs, procs_from, origin_s, source],
    )
    if procs_per_named:  # no node is smaller than the processors that were in use would need
        procs_per_node = max(procs_per_named, -(-procs // named) if procs_from == "peak" else 0)
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
    row = first_row(connection, "SELECT count(*) FROM core.jobs WHERE source = ?", [source])
    return int(row[0]) if row else 0


def _origin(given: int | None, inferred: int | None, how: str) -> str | None:
    """Where an amount comes from: the catalogue, else as `how` says. None where the amount is unknown."""
    return "catalogue" if given else how if inferred else None
