"""Stage 2: canonical jobs -> job features, only what was known at submission."""

import dagster as dg
import polars as pl

import sql
from assets.describe import table, table_metadata
from assets.ingest import jobs
from assets.partitions import OWNERS, SOURCES
from warehouse import Warehouse, replace_partition, replace_partition_by_query


@dg.asset(
    key=["features", "job_features"],
    deps=[jobs],
    partitions_def=SOURCES,
    group_name="features",
    owners=OWNERS,
    kinds={"duckdb", "sql"},
    metadata=table_metadata("features.job_features"),
)
def job_features(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """The request, the calendar, the user's jobs that had *ended* before this one was submitted, and how many ran and waited
    then; one row per job."""
    source = context.partition_key
    with warehouse.write() as connection:
        query = sql.load("features.job_features_of_source")
        rows = replace_partition_by_query(connection, "features.job_features", source, query, {"source": source})
    return dg.MaterializeResult(
        metadata={"dagster/row_count": rows, "columns": table(_summary(warehouse, "features.job_features", source))}
    )


@dg.asset(
    key=["features", "similar_jobs"],
    deps=[jobs],
    partitions_def=SOURCES,
    group_name="features",
    owners=OWNERS,
    kinds={"numba", "duckdb"},
    metadata=table_metadata("features.similar_jobs"),
)
def similar_jobs(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """What the run times of the jobs most like it say of each job: mean and quantiles over jobs that had *ended* before."""
    source = context.partition_key
    rows = write_similar_jobs(warehouse, source)
    return dg.MaterializeResult(
        metadata={"dagster/row_count": rows, "columns": table(_summary(warehouse, "features.similar_jobs", source))}
    )


def write_similar_jobs(warehouse: Warehouse, source: str) -> int:
    """Computes and stores features.similar_jobs of a source; returns the number of rows."""
    from models.runtime import similar

    with warehouse.read() as connection:
        history = connection.sql(sql.load("features.job_history"), params={"source": source}).pl()
    found = history.select("job_index").hstack(similar.similar_jobs(history))
    with warehouse.write() as connection:
        return replace_partition(connection, "features.similar_jobs", source, found)


def runtime_rows(warehouse: Warehouse, source: str) -> pl.DataFrame:
    """What run-time predictors learn from and predict: all features and true run times, in order of submission."""
    with warehouse.read() as connection:
        return connection.sql(sql.load("features.runtime_rows"), params={"source": source}).pl()


def _summary(warehouse: Warehouse, name: str, source: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(
            "SELECT column_name, null_percentage, approx_unique, min, try_cast(q50 AS DOUBLE) AS median, max "
            f"FROM (SUMMARIZE SELECT * EXCLUDE (source) FROM {name} WHERE source = $source)",
            params={"source": source},
        ).pl()
