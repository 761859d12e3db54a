"""Stage 1: raw log -> canonical jobs."""

import dagster as dg
import polars as pl

import sql
from assets.describe import plot, table, table_metadata
from assets.partitions import OWNERS, SOURCES
from assets.reading import SourceLog, read_source
from traces.catalogue import load_catalogue
from warehouse import Warehouse, first_row, replace_partition, replace_partition_by_query

RECORDS = {"swf": "raw.swf_jobs", "pbs": "raw.pbs_records", "slurm": "raw.slurm_jobs"}
"""The table of each format's records; a source that changes its format leaves the others."""


@dg.asset(
    key=["raw", "log"],
    partitions_def=SOURCES,
    group_name="ingest",
    owners=OWNERS,
    kinds={"duckdb", "polars"},
    metadata=table_metadata("raw.log_files"),
)
def raw_log(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Reads the source's log files line by line into `raw.*`: accepted records by format, rejects verbatim with
    a reason, and counts that add up. A generated source writes its log first. All files land in one transaction."""
    catalogue = load_catalogue()
    log = read_source(catalogue.source(context.partition_key), catalogue.time_zone)
    counts = write_raw_log(warehouse, log)
    lines = sum(file.lines for file in log.files)
    context.log.info(
        f"{len(log.files)} file(s), {lines} lines: {counts.group_by('outcome').agg(pl.sum('lines')).rows()}"
    )
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(log.files),
            "lines": lines,
            "accepted": sum(file.accepted for file in log.files),
            "rejected": sum(file.rejected for file in log.files),
            "cluster_procs": f"{log.cluster_procs} (from the {log.cluster_procs_from})",
            "line_counts": table(counts.group_by("outcome", "reason").agg(pl.sum("lines")).sort("outcome", "reason")),
            "files": table(_files(log).drop("sha256")),
        }
    )


@dg.asset(
    key=["core", "jobs"],
    deps=[raw_log],
    partitions_def=SOURCES,
    group_name="ingest",
    owners=OWNERS,
    kinds={"duckdb", "sql"},
    metadata=table_metadata("core.jobs"),
)
def jobs(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """One canonical row per accepted record, the same columns whatever the format, times in UTC. Everything after it
    ignores formats."""
    from assets import plots

    source = context.partition_key
    rows = write_jobs(warehouse, source)
    with warehouse.read() as connection:
        daily = connection.sql(sql.load("core.daily_load"), params={"source": source}).pl()
        waits = connection.sql(
            "SELECT * FROM marts.waits WHERE source = $source ORDER BY ALL", params={"source": source}
        ).pl()
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows,
            "load": plot(plots.daily_load(daily)),
            "waits": table(waits.drop("source")),
        }
    )


def write_raw_log(warehouse: Warehouse, log: SourceLog) -> pl.DataFrame:
    """Writes all of a source's raw tables and its row of core.sources at once; returns the rows of raw.line_counts."""
    name = log.source.name
    counts = pl.DataFrame(
        [(file.path.name, *count) for file in log.files for count in file.line_counts()],
        schema={"file": pl.Utf8, "outcome": pl.Utf8, "reason": pl.Utf8, "lines": pl.Int64},
        orient="row",
    )
    headers = pl.DataFrame(
        [(file.path.name, i, *pair) for file in log.files for i, pair in enumerate(file.header, start=1)],
        schema={"file": pl.Utf8, "position": pl.Int64, "key": pl.Utf8, "value": pl.Utf8},
        orient="row",
    )
    records = _with_file(log, "records")
    first_submission = 0
    submitted = {"pbs": "ctime_s", "slurm": "submit_s"}.get(log.source.format)
    if submitted:  # a clock that counts from 1970: policies count from the first submission instead
        first_submission = int(records[submitted].min())  # type: ignore[arg-type]
    if log.source.format == "pbs":
        requeues = _with_file(log, "requeues")
        records = pl.concat(
            [part.with_columns(record_type=pl.lit(kind)) for kind, part in (("E", records), ("R", requeues))]
        )
    source_row = pl.DataFrame(
        {
            "format": [log.source.format],
            "description": [log.source.description],
            "cluster_procs": [log.cluster_procs],
            "cluster_procs_from": [log.cluster_procs_from],
            "time_zone": [log.time_zone],
            "clock_zero": [log.clock_zero],
            "origin_s": [first_submission],
        }
    )
    with warehouse.write() as connection:
        for log_format, records_table in RECORDS.items():
            replace_partition(
                connection, records_table, name, records if log_format == log.source.format else pl.DataFrame()
            )
        replace_partition(connection, "raw.rejects", name, _with_file(log, "rejects"))
        replace_partition(connection, "raw.log_headers", name, headers)
        replace_partition(connection, "raw.line_counts", name, counts)
        replace_partition(connection, "raw.log_files", name, _files(log))
        replace_partition(connection, "core.sources", name, source_row)
    return counts


def write_jobs(warehouse: Warehouse, source: str) -> int:
    """Rewrites the canonical jobs of a source from its raw tables; returns the rows written."""
    with warehouse.write() as connection:
        found = first_row(connection, "SELECT format, clock_zero FROM core.sources WHERE source = ?", [source])
        if found is None:
            raise ValueError(f"source {source!r} has no raw log in the warehouse: materialize raw/log first")
        parameters = {"source": source, "clock_zero": found[1]}
        query = sql.load(f"core.jobs_from_{found[0]}")
        rows = replace_partition_by_query(connection, "core.jobs", source, query, parameters)
        if found[0] == "pbs":
            query = sql.load("core.requeues_from_pbs")
            replace_partition_by_query(connection, "core.requeues", source, query, parameters)
        else:
            replace_partition(connection, "core.requeues", source, pl.DataFrame())
        return rows


def _with_file(log: SourceLog, part: str) -> pl.DataFrame:
    return pl.concat([getattr(file, part).with_columns(pl.lit(file.path.name).alias("file")) for file in log.files])


def _files(log: SourceLog) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "file": [file.path.name for file in log.files],
            "format": [file.format for file in log.files],
            "size_bytes": [file.size_bytes for file in log.files],
            "sha256": [file.sha256 for file in log.files],
            "lines": [file.lines for file in log.files],
            "accepted": [file.accepted for file in log.files],
            "ignored": [sum(file.ignored.values()) for file in log.files],
            "rejected": [file.rejected for file in log.files],
        }
    )
