"""Jobs of a source, or of one of its saved runs, as files that other tools read: SWF, Parquet, and the CSV of Batsim and Evalys."""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import polars as pl

import sql
from assets.common.trace import load_clock, load_extent
from assets.common.writing.outputs import write_output
from assets.ingest.export import export_swf
from assets.sharing.processors import first_idle_processors
from assets.what_if.compare import saved_runs
from assets.what_if.scored_part import PartOptions, part_of
from warehouse import Warehouse

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
