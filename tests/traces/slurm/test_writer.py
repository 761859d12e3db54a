"""Tests of traces/slurm: writer."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from traces.slurm.reader import read_slurm
from traces.slurm.writer import write_sacct

JOB = {
    "submit_s": 1_770_000_000, "start_s": 1_770_000_060, "end_s": 1_770_093_660, "requested_s": 172_800, "user": "u", "group": "g",
    "program": "p", "queue": "gpu", "quality": "", "nodes": 2, "cores": 8, "gpus": 1, "memory_gb": 4, "array": -1, "task": -1,
    "status": "completed", "attempt_of": -1, "node_names": ["g01", "g02"],
}  # fmt: skip


def test_a_job_of_two_nodes_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = write_sacct(pl.DataFrame([JOB]), tmp_path, "Europe/Stockholm", "larch")[0]
    row = read_slurm(path, "Europe/Stockholm").records.row(0, named=True)
    assert (row["procs"], row["gpus"], row["nodes"]) == (16, 2, 2)
    assert row["start_s"] == JOB["start_s"] and row["time_limit_s"] == JOB["requested_s"]
    assert row["node_list"] == "g[01-02]" and row["qos"] == "normal"
