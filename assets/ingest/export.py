"""Sources as logs again: any source in the Standard Workload Format."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import polars as pl

import sql
from assets.common.writing.outputs import write_output
from traces.swf.fields import FIELDS
from traces.swf.writer import swf_content
from warehouse import Warehouse, first_row

_SWF_LINES = f"""
SELECT {", ".join(f"lines.{field}" for field in FIELDS)}, lines.file, lines.line, repeats.reason IS NOT NULL AS is_part
FROM raw.swf_jobs AS lines
LEFT JOIN core.repeats AS repeats ON lines.source = repeats.source AND lines.file = repeats.file AND lines.line = repeats.line
WHERE lines.source = $source AND (repeats.file IS NULL OR repeats.reason = 'partial execution')
ORDER BY lines.file, lines.line
"""
"""Lines of an SWF source, but for duplicates, and whether each tells of a part of a job's run only."""


def export_swf(warehouse: Warehouse, source: str, path: Path, chosen: pl.DataFrame | None = None) -> int:
    """Writes the jobs of a source as SWF (gzipped for `.gz`). Returns how many. Read back, the file gives the same jobs.

    A source that was SWF keeps all 18 fields, its header, and the lines of partial executions. Other formats lose names, job
    ids, and what SWF has no field for. Second 0 is then the first submission. chosen: job_index, file and line of the jobs to write, None
    for all. Raises ValueError when the source is not in the warehouse.
    """
    with warehouse.read() as connection:
        source_row = first_row(
            connection,
            "SELECT format, cluster_procs, time_zone, clock_zero FROM core.sources WHERE source = ?",
            [source],
        )
        if source_row is None:
            raise ValueError(
                f"source {source!r} is not in the warehouse yet: load it with `tracehouse run {source} --job ingest`"
            )
        log_format, procs, time_zone, clock_zero = source_row
        if log_format == "swf":
            jobs = connection.sql(_SWF_LINES, params={"source": source}).pl()
            if chosen is not None:
                jobs = jobs.join(chosen, on=["file", "line"], how="semi", maintain_order="left")
            header = connection.execute(
                "SELECT key, value FROM raw.log_headers WHERE source = $source "
                "AND file = (SELECT min(file) FROM raw.log_files WHERE source = $source) ORDER BY position",
                {"source": source},
            ).fetchall()
        else:
            first = first_row(connection, "SELECT min(submit_time) FROM core.jobs WHERE source = ?", [source])
            assert first is not None
            clock_zero = first[0]
            parameters = {"source": source, "clock_zero": clock_zero}
            jobs = connection.sql(sql.load("core.export_swf"), params=parameters).pl()
            if chosen is not None:
                jobs = jobs.filter((pl.col("job_number") - 1).is_in(chosen["job_index"].implode()))
            header = _header(source, log_format, jobs, time_zone, clock_zero)
    if not any(key == "MaxProcs" for key, _ in header):
        header = [*header, ("MaxProcs", str(procs))]
    count = jobs.height - (int(jobs["is_part"].sum()) if "is_part" in jobs.columns else 0)
    counted = {"MaxJobs": str(count), "MaxRecords": str(jobs.height)}  # again, since rejected lines are not exported
    header = [(key, counted.get(key, value)) for key, value in header]
    fields = jobs.select(name for name in FIELDS if name in jobs.columns)
    write_output(path, swf_content(fields, header, packed=path.suffix.lower() == ".gz"))
    return count


def _header(
    source: str, log_format: str, jobs: pl.DataFrame, time_zone: str, clock_zero: datetime
) -> list[tuple[str, str]]:
    """The header comments of the format's definition that are known."""
    end = jobs.select(
        (pl.col("submit_s") + pl.col("wait_s").fill_null(0) + pl.col("runtime_s").fill_null(0)).max()
    ).item()
    begin_s = int(clock_zero.replace(tzinfo=UTC).timestamp())
    queues = jobs.select("queue", "queue_name").drop_nulls().unique().sort("queue")
    return [
        ("Version", "2.2"),
        ("Computer", source),
        ("Conversion", f"tracehouse {version('tracehouse')}, from {log_format}"),
        ("MaxJobs", ""),
        ("MaxRecords", ""),
        ("UnixStartTime", str(begin_s)),
        ("TimeZoneString", time_zone),
        ("StartTime", _moment(begin_s)),
        ("EndTime", _moment(begin_s + int(end))),
        ("MaxQueues", str(queues.height)),
        *(("Queue", f"{number} {name}") for number, name in queues.rows()),
    ]


def _moment(unix_s: int) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%a %b %d %H:%M:%S UTC %Y}"
