"""The asset features/user_habits: whom each job follows, and in which session and batch of its user it was submitted."""

import dagster as dg
import polars as pl

from assets.common.asset import asset
from assets.common.describe import table
from assets.core.jobs import jobs
from assets.features.tables import column_summary
from assets.usage.habits import jobs_that_follow, submitted_jobs
from warehouse import Warehouse, replace_partitions


@asset("features.user_habits", group_name="operations", deps=[jobs], kinds={"duckdb"})
def user_habits(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """The own job after whose end each job came, if that was soon enough, and the sessions and batches of its user; one row per job
    whose user the log names. `tracehouse who --habits` shows them by user."""
    source = context.partition_key
    rows, longest = jobs_that_follow(submitted_jobs(warehouse, source))
    stored = rows.select(
        "job_index",
        pl.col("job_index").gather(pl.col("follows")).alias("follows_job_index"),
        "think_s",
        "session",
        "batch",
    )
    replace_partitions(warehouse, source, {"features.user_habits": stored})
    following = stored["follows_job_index"].count()
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": stored.height,
            "jobs_that_follow": following,
            "longest_think_s": longest,
            "columns": table(column_summary(warehouse, "features.user_habits", source)),
        }
    )
