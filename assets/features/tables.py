"""Features in the warehouse: how they are computed, and how predictors read them."""

from collections.abc import Callable, Iterator

import duckdb
import polars as pl

import sql
from assets.common.progress import progress
from assets.features import changed_parts
from assets.features.changed_parts import ChangedParts
from assets.ingest.rows import MEMORY_LIMIT
from assets.ingest.staging import replace_rows_in_parts
from models.runtime.past import histories, past_jobs, similar
from warehouse import Warehouse, first_row


def write_job_features(warehouse: Warehouse, source: str) -> int:
    """Brings features.job_features of a source up to date: rows that no changed job can have touched stay. Returns how many rows there
    are. Raises WarehouseBusy."""
    statements = ("features.job_moments", "features.job_requests", "core.replay_names")
    changed = ChangedParts("job_features", source, (histories, past_jobs, *statements))
    return _write(warehouse, changed, job_features_in_parts)


def write_similar_jobs(warehouse: Warehouse, source: str) -> int:
    """Brings features.similar_jobs of a source up to date, as `write_job_features` does features.job_features."""
    changed = ChangedParts("similar_jobs", source, (similar, past_jobs, "features.job_history", "core.replay_names"))
    return _write(warehouse, changed, similar_features_in_parts)


def _write(
    warehouse: Warehouse,
    changed: ChangedParts,
    parts_of: Callable[[duckdb.DuckDBPyConnection, str, int], Iterator[pl.DataFrame]],
) -> int:
    """Writes the parts that have changed."""

    def parts(connection: duckdb.DuckDBPyConnection) -> Iterator[pl.DataFrame]:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        if changed.compare(connection) == changed.inputs.height:
            return iter(())
        left = changed.inputs.height - changed.first
        return changed.counted(progress(parts_of(connection, changed.source, changed.first), "parts of the jobs", left))

    def end(connection: duckdb.DuckDBPyConnection) -> int:
        changed.note(connection)
        return changed.from_index

    return replace_rows_in_parts(warehouse, f"features.{changed.features}", changed.source, parts, end)


def job_features_in_parts(
    connection: duckdb.DuckDBPyConnection, source: str, first_part: int = 0
) -> Iterator[pl.DataFrame]:
    """Rows of features.job_features, in the order of submission, from PART_JOBS indices of jobs each. first_part: parts before it are left
    out."""
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    names = sql.load("core.replay_names")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE replay_names AS {names}", {"source": source})
    row = first_row(connection, "SELECT count(*) FROM core.jobs WHERE source = ?", [source])
    moments = _in_slices(connection, source, "features.job_moments")
    past = histories.histories(moments, row[0] if row else 0, first_part)
    requests = _in_slices(connection, source, "features.job_requests", first_part)
    for asked, history in zip(requests, past, strict=True):
        yield asked.hstack(history)


def _in_slices(
    connection: duckdb.DuckDBPyConnection, source: str, statement: str, first_part: int = 0
) -> Iterator[pl.DataFrame]:
    """Rows of a statement about the jobs of a source with an index from `$from_index` and before `$to_index`, part by part."""
    row = first_row(connection, "SELECT max(job_index) FROM core.jobs WHERE source = ?", [source])
    last_index = row[0] if row and row[0] is not None else -1
    part_jobs = changed_parts.PART_JOBS
    for first in range(first_part * part_jobs, last_index + 1, part_jobs):
        bounds = {"source": source, "from_index": first, "to_index": first + part_jobs}
        yield connection.sql(sql.load(statement), params=bounds).pl()


def similar_features_in_parts(
    connection: duckdb.DuckDBPyConnection, source: str, first_part: int = 0
) -> Iterator[pl.DataFrame]:
    """Rows of features.similar_jobs, as `job_features_in_parts`."""
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

    rows = similar.similar_jobs_in_parts(parts(), row[0] if row else 0, first_part=first_part)
    for part, features in enumerate(rows, first_part):
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
