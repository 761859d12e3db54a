"""Features in the warehouse: how they are computed, and how predictors read them."""

import polars as pl

import sql
from assets.ingest.rows import MEMORY_LIMIT
from models.runtime import similar
from warehouse import Warehouse, replace_partition


def write_similar_jobs(warehouse: Warehouse, source: str) -> int:
    """Computes and stores features.similar_jobs of a source; returns the number of rows."""
    with warehouse.read() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        history = connection.sql(sql.load("features.job_history"), params={"source": source}).pl()
    rows = history.select("job_index").hstack(similar.similar_job_features(history))
    del history
    with warehouse.write() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        return replace_partition(connection, "features.similar_jobs", source, rows)


def runtime_rows(warehouse: Warehouse, source: str) -> pl.DataFrame:
    """What run-time predictors learn from and predict: all features and true run times, in order of submission."""
    with warehouse.read() as connection:
        return connection.sql(sql.load("features.runtime_rows"), params={"source": source}).pl()


def column_summary(warehouse: Warehouse, name: str, source: str) -> pl.DataFrame:
    """What the columns of a table hold for a source: share of nulls, distinct values, least, median and largest; a row each."""
    with warehouse.read() as connection:
        return connection.sql(
            "SELECT column_name, null_percentage, approx_unique, min, try_cast(q50 AS DOUBLE) AS median, max "
            f"FROM (SUMMARIZE SELECT * EXCLUDE (source) FROM {name} WHERE source = $source)",
            params={"source": source},
        ).pl()
