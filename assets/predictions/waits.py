"""What questions about waits and wall times need of a source, read from the warehouse."""

from typing import Any

import polars as pl

from assets.common.learnable import LEAST_JOBS, what_learning_lacks
from assets.common.trace import load_trace
from assets.features.tables import similar_features_in_parts
from models.runtime.predictor import QUANTILE_COLUMNS, SIMILAR_COLUMNS, WITHOUT_HISTORY_S
from models.waits.history import WaitSource, history_of, user_number_in
from models.waits.scoring import WaitsUnknown
from models.waits.walltime_advice import EndedJobs, ended_jobs_of, executable_number
from warehouse import Warehouse

BY_JOBS_ALIKE = "by jobs of the same user and others alike that have ended, or by what jobs request"
"""Where run times come from without a model."""


def load_wait_source(warehouse: Warehouse, source: str) -> WaitSource:
    """A source with predicted run times. One of which nothing can be learned has them from jobs alike, and `basis` says so.

    Raises ValueError, with the remedy, where the source is not loaded, and where training would predict its run times and has not."""
    trace = load_trace(warehouse, source, cancelled=True)
    rows, basis = trace.rows, None
    unpredicted = rows[QUANTILE_COLUMNS[0]].null_count()
    if unpredicted:
        lacking = what_learning_lacks(warehouse, source, LEAST_JOBS)
        if lacking is None:
            raise ValueError(
                f"source {source!r}: {unpredicted:,} of its {rows.height:,} jobs have no predicted run time: make them with "
                f"`tracehouse run {source} --job train`"
            )
        basis = f"run times are {BY_JOBS_ALIKE}: {lacking}"
        rows = _with_jobs_alike(warehouse, source, rows)
    if rows["start_s"].null_count() == rows.height:
        raise WaitsUnknown(f"source {source!r}: the log does not say when jobs started, so that waits cannot be told")
    history = history_of(rows, trace.cluster_procs)
    return WaitSource(source, rows, history, trace.clock, basis)


def _with_jobs_alike(warehouse: Warehouse, source: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with QUANTILE_COLUMNS of the jobs alike that had ended when each was submitted, else of its request."""
    with warehouse.read() as connection:
        alike = pl.concat(similar_features_in_parts(connection, source))
    alike = alike.select("job_index", *SIMILAR_COLUMNS)
    request = pl.when(pl.col("requested_walltime_s") >= 1).then("requested_walltime_s").otherwise(WITHOUT_HISTORY_S)
    joined = rows.drop(QUANTILE_COLUMNS).join(alike, on="job_index", how="left", maintain_order="left")
    return joined.with_columns(
        pl.max_horizontal(pl.coalesce(similar, request.cast(pl.Float64)), 1.0).alias(name)
        for name, similar in zip(QUANTILE_COLUMNS, SIMILAR_COLUMNS, strict=True)
    )


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
