"""What questions about waits and wall times need of a source, read from the warehouse."""

from typing import Any

import polars as pl

from assets.common.learnable import LEAST_JOBS, nothing_to_learn
from assets.common.trace import load_trace
from models.runtime.predictor import QUANTILE_COLUMNS
from models.waits.history import WaitSource, history_of, user_number_in
from models.waits.scoring import WaitsUnknown
from models.waits.walltime_advice import EndedJobs, ended_jobs_of, executable_number
from warehouse import Warehouse


def load_wait_source(warehouse: Warehouse, source: str) -> WaitSource:
    """Raises ValueError, with the remedy, where the source is not loaded or has no predicted run times."""
    trace = load_trace(warehouse, source, cancelled=True)
    unpredicted = trace.rows[QUANTILE_COLUMNS[0]].null_count()
    if unpredicted:
        why_not = nothing_to_learn(warehouse, source, LEAST_JOBS)
        if why_not is not None:  # training would be passed over
            raise ValueError(f"waits cannot be predicted: {why_not}")
        raise ValueError(
            f"source {source!r}: {unpredicted:,} of its {trace.rows.height:,} jobs have no predicted run time: make them with "
            f"`tracehouse run {source} --job train`"
        )
    if trace.rows["start_s"].null_count() == trace.rows.height:
        raise WaitsUnknown(f"source {source!r}: the log does not say when jobs started, so that waits cannot be told")
    history = history_of(trace.rows, trace.cluster_procs)
    return WaitSource(source, trace.rows, history, trace.clock)


def load_wait_scores(warehouse: Warehouse, source: str) -> list[dict[str, Any]]:
    """Rows of predictions.wait_scores of a source, empty before predictions/wait_times has scored it."""
    with warehouse.read() as connection:
        return connection.sql(
            "SELECT * EXCLUDE (source) FROM predictions.wait_scores WHERE source = $source ORDER BY predictor",
            params={"source": source},
        ).pl().to_dicts()  # fmt: skip


def load_walltime_jobs(
    warehouse: Warehouse, source: str, user: str, executable: str | None
) -> tuple[EndedJobs, int, int | None]:
    """(jobs that ran, number of the user, number of the executable) of a source. Raises ValueError for names that none of them
    has."""
    rows = load_trace(warehouse, source).rows
    if rows["start_s"].null_count() == rows.height:  # one time for each job: timed_jobs in sql/fragments.sql
        rows = rows.with_columns(start_s=pl.col("submit_s"))
    rows = rows.filter(pl.col("start_s").is_not_null())
    user_number = user_number_in(rows, source, user)
    number = None if executable is None else executable_number(rows, source, user, executable)
    return ended_jobs_of(rows), user_number, number
