"""The asset features/job_features: what was known of a job when it was submitted."""

import dagster as dg

from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import table
from assets.core.jobs import jobs
from assets.features.tables import column_summary, write_job_features
from warehouse import Warehouse


@asset("features.job_features", group_name="predictions", deps=[jobs], kinds={"numba", "duckdb"})
def job_features(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """The request, the calendar, the user's jobs that had *ended* before this one was submitted, and how many ran and waited
    then; one row per job."""
    source = context.partition_key
    rows = write_job_features(warehouse, source)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows,
            "columns": table(column_summary(warehouse, "features.job_features", source)),
        }
    )


CHECKS = [
    row_check(job_features, "checks.features_know_no_future", "no feature counts more ended jobs than had ended"),
]
