"""The asset features/similar_jobs: run times of the ended jobs most like each job."""

import dagster as dg

from assets.common.asset import asset
from assets.common.describe import table
from assets.core.jobs import jobs
from assets.features.tables import column_summary, write_similar_jobs
from warehouse import Warehouse


@asset("features.similar_jobs", group_name="predictions", deps=[jobs], kinds={"numba", "duckdb"})
def similar_jobs(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """What the run times of the jobs most like it say of each job: mean and quantiles over jobs that had *ended* before."""
    source = context.partition_key
    rows = write_similar_jobs(warehouse, source)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows,
            "columns": table(column_summary(warehouse, "features.similar_jobs", source)),
        }
    )
