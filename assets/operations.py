"""Stage 1, what it shows: waits, use, requests and losses on the real system, month by month."""

import dagster as dg

from assets.describe import plot, table, table_metadata
from assets.ingest import jobs
from assets.partitions import OWNERS, SOURCES
from warehouse import Warehouse

ACCOUNTS = """
SELECT account, sum(jobs)::BIGINT AS jobs, sum(core_hours) AS core_hours, sum(gpu_hours) AS gpu_hours,
    sum(cpu_hours) / nullif(sum(measured_core_hours), 0) AS cpu_efficiency
FROM marts.usage WHERE source = $source GROUP BY account ORDER BY core_hours DESC
"""
FAILURES = "SELECT * EXCLUDE (source) FROM marts.failures WHERE source = $source ORDER BY month, queue"


@dg.asset(
    key=["marts", "operations"],
    deps=[jobs],
    partitions_def=SOURCES,
    group_name="marts",
    owners=OWNERS,
    kinds={"duckdb", "sql"},
    metadata=table_metadata("marts.job_facts"),
)
def operations(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """What the log says of the real system: waits by queue and by hour of the week, core hours by account, how much of the
    requested time is used, what failures and requeues cost. The figures are views: marts.waits_by_..., marts.usage,
    marts.walltime_accuracy, marts.failures."""
    from assets import operations_plots

    source = context.partition_key
    with warehouse.read() as connection:

        def rows(query: str):
            return connection.sql(query, params={"source": source}).pl()

        queues = rows("SELECT * FROM marts.waits_by_queue WHERE source = $source ORDER BY month, queue")
        hours = rows(
            "SELECT weekday, hour_of_day, sum(jobs * average_wait_s) / sum(jobs) / 3600 AS hours FROM marts.waits_by_hour "
            "WHERE source = $source GROUP BY ALL ORDER BY ALL"
        )
        usage = rows(
            "SELECT month, account, sum(core_hours) AS core_hours FROM marts.usage WHERE source = $source "
            "GROUP BY ALL ORDER BY ALL"
        )
        used = rows(
            "SELECT runtime_s / requested_walltime_s AS share FROM marts.job_facts "
            "WHERE source = $source AND runtime_s > 0 AND requested_walltime_s > 0"
        )
        accounts, failures = rows(ACCOUNTS), rows(FAILURES)
    return dg.MaterializeResult(
        metadata={
            "waits": plot(operations_plots.waits_by_queue(queues)),
            "waits_by_hour": plot(operations_plots.waits_by_hour(hours)),
            "usage": plot(operations_plots.usage(usage)),
            "walltime": plot(operations_plots.walltime_used(used["share"].to_numpy())),
            "accounts": table(accounts),
            "failures": table(failures),
        }
    )
