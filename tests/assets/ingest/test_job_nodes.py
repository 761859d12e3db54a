"""Rows of core.job_nodes: every job that ran has its nodes, with what it held where the log tells that."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl

from assets.ingest.job_nodes import write_job_nodes


def rows_of(folder: Path, log_format: str, *jobs: tuple[int, int | None, str | None]) -> list[tuple[object, ...]]:
    """The rows written for jobs of (processors, GPUs, list of nodes)."""
    file = folder / "jobs-0.parquet"
    pl.DataFrame(
        [("mine", place, None, *job) for place, job in enumerate(jobs)],
        {"source": pl.Utf8, "job_index": pl.Int64, "submit_time": pl.Datetime, "procs": pl.Int64, "gpus": pl.Int64, "held_nodes": pl.Utf8},
        orient="row",
    ).write_parquet(file)  # fmt: skip
    files = write_job_nodes(duckdb.connect(), file, log_format)
    frame = pl.concat(map(pl.read_parquet, files)) if files else pl.DataFrame()
    return frame.drop("source", "submit_time").rows() if files else []


def test_slurm_tells_what_a_job_held_on_one_node_only(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "slurm", (8, 2, "n1"), (4, None, None), (8, 0, "n[1-2]")) == [
        (0, "n1", 8, 2, None),
        (2, "n1", None, None, None),
        (2, "n2", None, None, None),
    ]


def test_a_pbs_job_alone_on_its_nodes_held_more_than_its_list_says(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "pbs", (16, 2, "(n1:ncpus=4)"), (32, 0, "(n1:ncpus=4)+(n2:ncpus=4)"), (5, None, "n1/0*4+n2/1")) == [
        (0, "n1", 16, 2, None),
        (1, "n1", None, 0, None),
        (1, "n2", None, 0, None),
        (2, "n1", 4, None, None),
        (2, "n2", 1, None, None),
    ]  # fmt: skip


def test_swf_has_no_nodes(tmp_path: Path) -> None:
    assert rows_of(tmp_path, "swf", (8, None, None)) == []
