"""Stage 2: canonical jobs -> job features, only what was known at submission."""

import dagster as dg

import sql
from assets.describe import table, table_metadata
from assets.ingest import jobs
from assets.partitions import OWNERS, SOURCES
from warehouse import Warehouse, replace_partition_by_query


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
    """The request, the calendar, and the user's jobs that had *ended* before this one was submitted; one row per job."""
    source = context.partition_key
    with warehouse.write() as connection:
        query = sql.load("features.job_features_of_source")
        rows = replace_partition_by_query(connection, "features.job_features", source, query, {"source": source})
    with warehouse.read() as connection:
        summary = connection.sql(
            "SELECT column_name, null_percentage, approx_unique, min, try_cast(q50 AS DOUBLE) AS median, max "
            "FROM (SUMMARIZE SELECT * EXCLUDE (source) FROM features.job_features WHERE source = $source)",
            params={"source": source},
        ).pl()
    return dg.MaterializeResult(metadata={"dagster/row_count": rows, "columns": table(summary)})
