"""Jobs of a source, or of one of its saved runs, as files that other tools read: SWF, Parquet, and the CSV of Batsim and Evalys."""

from __future__ import annotations

import heapq
import io
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import polars as pl

import sql
from assets.common.trace import load_clock, load_extent
from assets.common.writing.outputs import write_output
from assets.replaying.compare import saved_runs
from assets.replaying.running.scored_part import PartOptions, part_of
from traces.swf.fields import FIELDS
from traces.swf.writer import swf_content
from warehouse import Warehouse, first_row

EVALYS_COLUMNS = (
    "job_id",
    "workload_name",
    "profile",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "final_state",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "allocated_resources",
)
"""Of the file `_jobs.csv` of Batsim, which `evalys.jobset.JobSet.from_csv` reads."""
FINAL_STATES = {
    "completed": "COMPLETED_SUCCESSFULLY",
    "failed": "COMPLETED_FAILED",
    "out_of_memory": "COMPLETED_FAILED",
    "node_failure": "COMPLETED_FAILED",
    "timeout": "COMPLETED_WALLTIME_REACHED",
    **dict.fromkeys(("cancelled", "preempted", "requeued", "deadline"), "COMPLETED_KILLED"),
}
"""What Batsim calls the ends of jobs. It has no word for unknown."""
ENDLESS = 1 << 62
"""There is always another processor: a log may have more in use than the cluster has."""
_SWF_LINES = f"""
SELECT {", ".join(f"lines.{field}" for field in FIELDS)}, lines.file, lines.line, repeats.reason IS NOT NULL AS is_part
FROM raw.swf_jobs AS lines
LEFT JOIN core.repeats AS repeats ON lines.source = repeats.source AND lines.file = repeats.file AND lines.line = repeats.line
WHERE lines.source = $source AND (repeats.file IS NULL OR repeats.reason = 'partial execution')
ORDER BY lines.file, lines.line
"""
"""Lines of an SWF source, but for duplicates, and whether each tells of a part of a job's run only."""


@dataclass(frozen=True)
class Exported:
    """jobs: how many were written. left_out: jobs that the format cannot hold. words: which part of the source these are, empty for
    all."""

    jobs: int
    left_out: int
    words: str


def export_jobs(
    warehouse: Warehouse, source: str, path: Path, file_format: str, part: PartOptions, run: str | None = None
) -> Exported:
    """Writes the jobs of a source to a file, which appears complete or not at all.

    file_format: one of EXPORT_FORMATS. part: which jobs. run: a saved run, whose times they get; None for those of the log. Raises
    ValueError for an unknown source or run, for a part without jobs, and for a run as SWF.
    """
    if run is not None and file_format == "swf":
        raise ValueError("SWF holds what was logged: export a saved run as .parquet or .csv, or leave --run out")
    jobs, clock = _jobs_of(warehouse, source, run), load_clock(warehouse, source)
    if jobs.is_empty():
        raise ValueError(f"source {source!r} has no jobs")
    zero = int(clock.zero.replace(tzinfo=UTC).timestamp())
    placed = jobs.with_columns(submit_s=pl.col("submit_time").dt.epoch("s") - zero)
    scored = part_of(placed, clock, part, load_extent(warehouse, source)[1])
    chosen, words = pl.Series(scored.mask), "" if part.is_all else scored.words
    if file_format == "swf":
        lines = None if part.is_all else jobs.filter(chosen).select("job_index", "file", "line")
        return Exported(export_swf(warehouse, source, path, lines), 0, words)
    if file_format == "parquet":
        content = io.BytesIO()
        jobs.filter(chosen).write_parquet(content, compression="zstd")
        write_output(path, content.getvalue())
        return Exported(int(chosen.sum()), 0, words)
    rows = evalys_rows(jobs.with_columns(chosen=chosen)).filter("chosen")
    write_output(path, rows.select(EVALYS_COLUMNS).write_csv().encode())
    return Exported(rows.height, int(chosen.sum()) - rows.height, words)


def _jobs_of(warehouse: Warehouse, source: str, run: str | None) -> pl.DataFrame:
    if run is not None and run not in (runs := saved_runs(warehouse, source)):
        raise ValueError(f"source {source!r} has no run {run!r}, saved runs are: {', '.join(runs) or 'none'}")
    with warehouse.read() as connection:
        if run is None:
            return connection.sql(sql.load("core.exported_jobs"), params={"source": source}).pl()
        return connection.sql(sql.load("replay.exported_run"), params={"source": source, "run": run}).pl()


def evalys_rows(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs that ran, with EVALYS_COLUMNS besides their own.

    jobs: of one source or run, in the order of core.jobs, since second 0 is the first submission. A job whose start, end or processors are
    unknown is left out. Processors are made up, see `first_idle_processors`: of all jobs, so that those of a part do not change.
    """
    zero = jobs["submit_time"].min()
    assert zero is not None
    seconds = {name: (pl.col(name) - zero).dt.total_seconds() for name in ("submit_time", "start_time", "end_time")}
    ran = jobs.with_columns(**seconds).filter(
        pl.col("start_time").is_not_null(), pl.col("end_time") >= pl.col("start_time"), pl.col("procs") > 0
    )
    allocated = first_idle_processors(ran["start_time"].to_list(), ran["end_time"].to_list(), ran["procs"].to_list())
    execution, turnaround = pl.col("end_time") - pl.col("start_time"), pl.col("end_time") - pl.col("submit_time")
    repeats = pl.len().over("job_id") > 1
    return ran.with_columns(
        job_id=pl.when(repeats).then(pl.format("{}.{}", "job_id", "job_index")).otherwise("job_id"),
        workload_name="source",
        profile=pl.coalesce("executable", pl.lit("")),
        submission_time="submit_time",
        requested_number_of_resources="procs",
        requested_time="requested_walltime_s",
        success=(pl.col("status") == "completed").cast(pl.Int64),
        final_state=pl.col("status").replace_strict(FINAL_STATES, default=""),
        starting_time="start_time",
        execution_time=execution,
        finish_time="end_time",
        waiting_time=pl.col("start_time") - pl.col("submit_time"),
        turnaround_time=turnaround,
        stretch=pl.when(execution > 0).then(turnaround / execution),
        allocated_resources=pl.Series(allocated, dtype=pl.Utf8),
    )


class _Idle:
    """Idle processors, as sorted intervals [first, behind the last)."""

    def __init__(self) -> None:
        self.begins, self.ends = [0], [ENDLESS]

    def take(self, count: int) -> list[tuple[int, int]]:
        """The lowest ones, as intervals."""
        taken: list[tuple[int, int]] = []
        used = 0
        while count > 0:
            begin, end = self.begins[used], self.ends[used]
            upto = min(end, begin + count)
            taken.append((begin, upto))
            count -= upto - begin
            if upto < end:
                self.begins[used] = upto
            else:
                used += 1
        del self.begins[:used], self.ends[:used]
        return taken

    def give_back(self, intervals: list[tuple[int, int]]) -> None:
        for begin, end in intervals:
            place = bisect_left(self.begins, begin)
            if self.begins[place] == end:  # there is one behind it: the last never ends
                self.begins[place] = begin
            else:
                self.begins.insert(place, begin)
                self.ends.insert(place, end)
            if place and self.ends[place - 1] == begin:
                self.ends[place - 1] = self.ends[place]
                del self.begins[place], self.ends[place]


def first_idle_processors(start_s: Sequence[int], end_s: Sequence[int], procs: Sequence[int]) -> list[str]:
    """Which processors each job could have had, such as `0-3 7`, in the order of the jobs: the lowest idle ones when it starts.

    No two jobs that run at one time have the same. They are made up: the real ones may have been others. Numbers count from 0, and go
    beyond the cluster only where more were in use than it has. start_s, end_s: seconds. procs: 1 or more.
    """
    idle = _Idle()
    names = [""] * len(procs)
    running: list[tuple[int, int, list[tuple[int, int]]]] = []
    for job in sorted(range(len(procs)), key=lambda job: (start_s[job], end_s[job], job)):
        while running and running[0][0] <= start_s[job]:
            idle.give_back(heapq.heappop(running)[2])
        taken = idle.take(procs[job])
        heapq.heappush(running, (end_s[job], job, taken))
        names[job] = " ".join(f"{begin}-{end - 1}" if end - begin > 1 else str(begin) for begin, end in taken)
    return names


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
