"""Stage 1, what it shows: waits, use, requests and losses on the real system, month by month."""

import dagster as dg
import polars as pl

import sql
from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import lineage_metadata, plot, table
from assets.core.jobs import jobs
from assets.ingest.staging import FIGURES_MEMORY
from assets.usage import plots
from warehouse import Warehouse


@asset("marts.operations", group_name="operations", deps=[jobs], table="marts.job_facts", kinds={"duckdb", "sql"})
def operations(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """What the log says of the real system: waits by queue and by hour of the week, core hours by account, how much of the
    requested time is used, what failures and requeues cost. The figures are views: marts.waits_by_..., marts.usage,
    marts.walltime_accuracy, marts.failures, marts.waste."""
    shown = shown_rows(warehouse, context.partition_key)
    partial = shown["partial"]["month"]
    return dg.MaterializeResult(
        metadata={
            "waits": plot(plots.waits_by_queue(shown["queues"], partial)),
            "waits_by_hour": plot(plots.waits_by_hour(shown["hours"])),
            "submissions": plot(plots.submissions(shown["submitted"])),
            "usage": plot(plots.core_hours_by_account(shown["months"], partial)),
            "walltime": plot(plots.walltime_used(shown["used"])),
            "accounts": table(shown["accounts"]),
            "failures": table(shown["failures"].drop("source")),
            **lineage_metadata("marts.job_facts"),
        }
    )


def shown_rows(warehouse: Warehouse, source: str) -> dict[str, pl.DataFrame]:
    """The rows behind the figures and tables of the asset, by what they are of."""
    statements = {
        "queues": "SELECT * FROM marts.waits_by_queue WHERE source = $source ORDER BY month, queue",
        "failures": "SELECT * FROM marts.failures WHERE source = $source ORDER BY month, queue",
        "partial": "SELECT month FROM marts.months WHERE source = $source AND is_partial ORDER BY month",
        "hours": sql.load("marts.mean_wait_by_hour"),
        "months": sql.load("marts.core_hours_by_month"),
        "submitted": sql.load("marts.submissions"),
        "used": sql.load("marts.walltime_used"),
        "accounts": sql.load("marts.usage_by_account"),
    }
    with warehouse.read() as connection:
        connection.execute(f"SET memory_limit = '{FIGURES_MEMORY}'")
        return {name: connection.sql(query, params={"source": source}).pl() for name, query in statements.items()}


CHECKS = [
    row_check(operations, "checks.every_job_is_counted", "the views of operations count every job of the log"),
]
