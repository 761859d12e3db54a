"""Job arrays, by the ids of their tasks: `35[2].pbs` of PBS, `35_2` of Slurm."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def id_parts(job_id: pl.Expr) -> dict[str, pl.Expr]:
    """What an id says: `job` without PBS's server, `array`, `35[]` or `35` of a task and as `job` for others, and the number of the `task`,
    null for others."""
    job = job_id.str.replace(r"\..*$", "")
    array = job.str.replace(r"_(\d+|\[[^\]]*\])$", "").str.replace(r"\[\d+\]$", "[]")
    return {"job": job, "array": array, "task": job.str.extract(r"[_\[](\d+)\]?$", 1)}


def arrays_of_jobs(rows: pl.DataFrame) -> NDArray[np.int64]:
    """A number for the array of each task, -1 for other jobs, int64 (jobs,). Tasks of one array have one id and one submission. rows: with
    job_id, as core.jobs has it, and submit_s."""
    parts = id_parts(pl.col("job_id"))
    name = pl.when(parts["task"].is_not_null()).then(pl.concat_str(parts["array"], pl.lit("/"), "submit_s"))
    return rows.select(name.rank("dense").cast(pl.Int64).fill_null(-1)).to_series().to_numpy()
