"""The replayable jobs of a source, as the simulator takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import sql
from warehouse import Warehouse, first_row

if TYPE_CHECKING:
    from simulator.jobs import Jobs


JOB_COLUMNS = ("submit_s", "runtime_s", "procs", "requested_walltime_s")


@dataclass(frozen=True)
class Trace:
    """What a replay needs to know of a source.

    rows: replayable jobs in replay order (sql/core/replayable_jobs.sql); cluster_procs: processors of the cluster, and
    where that number comes from; origin: see simulator.jobs.Jobs; jobs_left_out: canonical jobs that cannot be
    replayed; test_position: position in `rows` of the first job that no training has seen, None before a run-time
    model exists.
    """

    source: str
    rows: pl.DataFrame
    cluster_procs: int
    cluster_procs_from: str
    origin: int
    jobs_left_out: int
    test_position: int | None

    @property
    def jobs_predicted_by_model(self) -> int:
        """Replayable jobs whose predicted run time is the model's; the others' is that of the user's last two jobs."""
        return 0 if self.test_position is None else self.rows.height - self.test_position

    def jobs(self, estimates: str = "requested") -> Jobs:
        """All replayable jobs. Raises ValueError when predictions are asked for and a job has none."""
        from simulator.jobs import jobs_from_log

        predicted = None
        if estimates == "predicted":
            if self.rows["predicted_runtime_s"].null_count():
                raise ValueError(
                    f"source {self.source!r} has no predicted run times yet: make them with "
                    f"`tracehouse run --source {self.source}`"
                )
            predicted = self.rows["predicted_runtime_s"].to_numpy()
        submit, runtime, procs, requested = (self.rows[name].to_numpy() for name in JOB_COLUMNS)
        return jobs_from_log(submit, runtime, procs, requested, estimates, predicted, self.origin)


def load_trace(warehouse: Warehouse, source: str) -> Trace:
    """Raises ValueError when the source is not in the warehouse or has no job that can be replayed."""
    with warehouse.read() as connection:
        found = first_row(
            connection,
            "SELECT cluster_procs, cluster_procs_from, origin_s FROM core.sources WHERE source = ?",
            [source],
        )
        if found is None:
            raise ValueError(
                f"source {source!r} is not in the warehouse yet: load it with `tracehouse run --source {source}`"
            )
        rows = connection.sql(sql.load("core.replayable_jobs"), params={"source": source}).pl()
        total = first_row(connection, "SELECT count(*) FROM core.jobs WHERE source = ?", [source])
        split = first_row(
            connection, "SELECT test_job_index FROM predictions.runtime_models WHERE source = ?", [source]
        )
    if rows.is_empty():
        raise ValueError(f"source {source!r} has no job with a known run time and processor count: nothing to replay")
    position = int(np.searchsorted(rows["job_index"].to_numpy(), split[0])) if split else None
    assert total is not None
    procs, procs_from, origin = found
    return Trace(source, rows, procs, procs_from, origin, total[0] - rows.height, position)


def load_trained_trace(warehouse: Warehouse, source: str) -> tuple[Trace, int]:
    """The trace and its test position; raises ValueError before there is a run-time model."""
    trace = load_trace(warehouse, source)
    if trace.test_position is None:
        raise ValueError(f"source {source!r} has no run-time model: materialize predictions/runtime_model first")
    return trace, trace.test_position
