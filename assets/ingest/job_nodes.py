"""Which nodes each job held, of the host lists that the log has: rows of core.job_nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl

from traces.pbs.holdings import pbs_nodes_held
from traces.slurm.held_nodes import slurm_nodes_held

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
