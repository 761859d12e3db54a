"""Stage 1, what to distrust: a report on the health of a log, after Feitelson."""

import dagster as dg

import sql
from assets.common.asset import asset
from assets.common.describe import lineage_metadata, plot, table
from assets.core.jobs import jobs
from assets.ingest.staging import replace_rows_of_query
from assets.usage import plots
from warehouse import Warehouse


@asset("marts.trace_health", group_name="operations", deps=[jobs], kinds={"duckdb", "sql"})
def trace_health(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """What looks wrong in the log: more in use than there is, users' flurries, clocks that jump, days that are missing, jobs
    of no length or over their limit, changes of the cluster. Nothing is taken out; the report says what to distrust."""
    source = context.partition_key
    rows = replace_rows_of_query(warehouse, "marts.trace_health", source, sql.load("marts.trace_health_of_source"))
    with warehouse.read() as connection:
        report = connection.sql(sql.load("marts.health_report"), params={"source": source}).pl()
        capacity = connection.sql(
            "SELECT capacity.*, cluster_procs FROM core.capacity AS capacity INNER JOIN core.sources USING (source) "
            "WHERE source = $source ORDER BY day",
            params={"source": source},
        ).pl()
    findings = [f"{row['found']:,} {row['unit']}: {row['finding']}" for row in report.to_dicts() if row["found"]]
    context.log.info("; ".join(findings) or "nothing found")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows,
            "findings": len(findings),
            "report": table(report),
            "capacity": plot(plots.capacity(capacity)),
            **lineage_metadata("marts.trace_health_of_source"),
        }
    )
