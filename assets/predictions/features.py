"""Features in the warehouse: how they are computed, and how predictors read them."""

from collections.abc import Iterator

import duckdb
import polars as pl

import sql
from assets.ingest.rows import MEMORY_LIMIT
from assets.ingest.staging import replace_rows_in_parts
from models.runtime import similar
from models.runtime.histories import histories
from warehouse import Warehouse, first_row

PART_JOBS = 250_000
"""How many jobs are read, and features written, at a time."""


def write_job_features(warehouse: Warehouse, source: str) -> int:
    """Computes and stores features.job_features of a source. Returns the number of rows. Raises WarehouseBusy."""
    return replace_rows_in_parts(
        warehouse, "features.job_features", source, lambda connection: job_features_in_parts(connection, source)
    )


def job_features_in_parts(connection: duckdb.DuckDBPyConnection, source: str) -> Iterator[pl.DataFrame]:
    """Rows of features.job_features, in the order of submission, from PART_JOBS indices of jobs each."""
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    names = sql.load("core.replay_names")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE replay_names AS {names}", {"source": source})
    moments = list(_in_slices(connection, source, "features.job_moments"))
    if not moments:
        return
    parts = histories(pl.concat(moments), [rows.height for rows in moments])
    del moments  # so that the pass can free them
    for requests, history in zip(_in_slices(connection, source, "features.job_requests"), parts, strict=True):
        yield requests.hstack(history)


def _in_slices(connection: duckdb.DuckDBPyConnection, source: str, statement: str) -> Iterator[pl.DataFrame]:
    """Rows of a statement about the jobs of a source with an index from `$from_index` and before `$to_index`."""
    row = first_row(connection, "SELECT max(job_index) FROM core.jobs WHERE source = ?", [source])
    last_index = row[0] if row and row[0] is not None else -1
    for first in range(0, last_index + 1, PART_JOBS):
        bounds = {"source": source, "from_index": first, "to_index": first + PART_JOBS}
        yield connection.sql(sql.load(statement), params=bounds).pl()


def write_similar_jobs(warehouse: Warehouse, source: str) -> int:
    """Computes and stores features.similar_jobs of a source. Returns the number of rows. Raises WarehouseBusy."""
    return replace_rows_in_parts(
        warehouse, "features.similar_jobs", source, lambda connection: similar_jobs_in_parts(connection, source)
    )


def similar_jobs_in_parts(connection: duckdb.DuckDBPyConnection, source: str) -> Iterator[pl.DataFrame]:
    """Rows of features.similar_jobs, in the order of submission, from PART_JOBS indices of jobs each."""
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    names = sql.load("core.replay_names")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE replay_names AS {names}", {"source": source})
    count = "SELECT count(*) FROM core.jobs WHERE source = ? AND runtime_s > 0 AND procs > 0"  # as features.job_history
    row = first_row(connection, count, [source])
    indices: list[pl.Series] = []  # four bytes a job

    def parts() -> Iterator[pl.DataFrame]:
        for jobs in _in_slices(connection, source, "features.job_history"):
            indices.append(jobs["job_index"].cast(pl.Int32))
            yield jobs

    for part, features in enumerate(similar.similar_jobs_in_parts(parts(), row[0] if row else 0)):
        yield features.with_columns(pl.lit(source).alias("source"), indices[part].cast(pl.Int64).alias("job_index"))


def runtime_rows(warehouse: Warehouse, source: str) -> pl.DataFrame:
    """What run-time predictors learn from and predict: all features and true run times, in order of submission."""
    with warehouse.read() as connection:
        return connection.sql(sql.load("features.runtime_rows"), params={"source": source}).pl()


def column_summary(warehouse: Warehouse, name: str, source: str) -> pl.DataFrame:
    """A row for each column of a table, over the rows of a source: share of nulls, distinct values, least, median and largest."""
    with warehouse.read() as connection:
        return connection.sql(
            "SELECT column_name, null_percentage, approx_unique, min, try_cast(q50 AS DOUBLE) AS median, max "
            f"FROM (SUMMARIZE SELECT * EXCLUDE (source) FROM {name} WHERE source = $source)",
            params={"source": source},
        ).pl()
