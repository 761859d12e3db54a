"""The asset core/jobs: raw records into canonical jobs."""

import dagster as dg

import sql
from assets.common import plots
from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import lineage_metadata, plot, table
from assets.ingest.canonical_jobs import write_jobs
from assets.raw.log import raw_log
from warehouse import Warehouse, first_row


@asset("core.jobs", group_name="ingest", deps=[raw_log], kinds={"duckdb", "sql"})
def jobs(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """One canonical row per accepted record, the same columns whatever the format, times in UTC. Everything after it
    ignores formats."""

    source = context.partition_key
    rows = write_jobs(warehouse, source)
    with warehouse.read() as connection:
        (log_format,) = first_row(connection, "SELECT format FROM core.sources WHERE source = ?", [source]) or ("swf",)
        cluster = connection.sql("SELECT * FROM core.clusters WHERE source = $source", params={"source": source}).pl()
        daily = connection.sql(sql.load("core.daily_load"), params={"source": source}).pl()
        waits = connection.sql(
            "SELECT * FROM marts.waits WHERE source = $source ORDER BY ALL", params={"source": source}
        ).pl()
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows,
            "cluster": table(cluster.drop("source")),
            "load": plot(plots.daily_load(daily)),
            "waits": table(waits.drop("source")),
            **lineage_metadata(f"core.jobs_from_{log_format}"),
        }
    )


CHECKS = [
    row_check(jobs, "checks.every_record_is_a_job", "every accepted record is one canonical job, or in core.repeats"),
    row_check(jobs, "checks.times_are_ordered", "submission <= start <= end, where the log knows them"),
    row_check(jobs, "checks.no_job_wider_than_cluster", "no job has more processors than the cluster"),
]
