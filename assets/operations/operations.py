"""Stage 1, what it shows: waits, use, requests and losses on the real system, month by month."""

import dagster as dg
import polars as pl

import sql
from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import plot, table, table_metadata
from assets.common.lineage import lineage_metadata
from assets.common.partitions import SOURCES
from assets.ingest.core_jobs import jobs
from assets.operations import plots
from warehouse import Warehouse


@asset(
    key=["marts", "operations"],
    deps=[jobs],
    partitions_def=SOURCES,
    group_name="operations",
    kinds={"duckdb", "sql"},
    metadata=table_metadata("marts.job_facts"),
)
def operations(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """What the log says of the real system: waits by queue and by hour of the week, core hours by account, how much of the
    requested time is used, what failures and requeues cost. The figures are views: marts.waits_by_..., marts.usage,
    marts.walltime_accuracy, marts.failures."""
    source = context.partition_key
    with warehouse.read() as connection:

        def rows(query: str) -> pl.DataFrame:
            return connection.sql(query, params={"source": source}).pl()

        queues = rows("SELECT * FROM marts.waits_by_queue WHERE source = $source ORDER BY month, queue")
        failures = rows("SELECT * EXCLUDE (source) FROM marts.failures WHERE source = $source ORDER BY month, queue")
        hours, months = rows(sql.load("marts.mean_wait_by_hour")), rows(sql.load("marts.core_hours_by_month"))
        submitted = rows(sql.load("marts.submissions"))
        used, accounts = rows(sql.load("marts.walltime_used")), rows(sql.load("marts.usage_by_account"))
    return dg.MaterializeResult(
        metadata={
            "waits": plot(plots.waits_by_queue(queues)),
            "waits_by_hour": plot(plots.waits_by_hour(hours)),
            "submissions": plot(plots.submissions(submitted)),
            "usage": plot(plots.core_hours_by_account(months)),
            "walltime": plot(plots.walltime_used(used["share"].to_numpy())),
            "accounts": table(accounts),
            "failures": table(failures),
            **lineage_metadata("marts.job_facts"),
        }
    )


CHECKS = [
    row_check(operations, "checks.every_job_is_counted", "the views of operations count every job of the log"),
]
