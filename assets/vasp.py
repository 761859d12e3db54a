"""VASP run folders in the warehouse, and the accounting jobs that they were."""

from datetime import UTC, datetime

import dagster as dg
import polars as pl

import sql
from assets.describe import table, table_metadata
from assets.ingest import jobs
from assets.partitions import OWNERS, VASP
from assets.vasp_log import update_vasp_log
from traces.catalogue import load_catalogue
from warehouse import Warehouse
from warehouse.partitions import replace_partition_by_query


@dg.asset(
    key=["raw", "vasp_runs"],
    partitions_def=VASP,
    group_name="vasp",
    owners=OWNERS,
    kinds={"duckdb", "polars"},
    metadata=table_metadata("raw.vasp_runs"),
)
def vasp_runs(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Reads the run folders that have changed: one row per launch of VASP, one per electronic and ionic step. A running job
    has a row too. Folders that should have been runs are rejects, with a reason; accepted and rejected add up to all."""
    source = context.partition_key
    catalogue = load_catalogue()
    now = datetime.now(UTC).replace(tzinfo=None)
    done = update_vasp_log(warehouse, catalogue.vasp_source(source), catalogue.time_zone, now)
    with warehouse.read() as connection:

        def ask(query: str) -> pl.DataFrame:
            return connection.sql(query, params={"source": source}).pl()

        states = ask(
            "SELECT state, count(*) AS runs, sum(electronic_steps)::BIGINT AS electronic_steps, "
            "sum(ionic_steps)::BIGINT AS ionic_steps FROM raw.vasp_runs WHERE source = $source GROUP BY ALL ORDER BY ALL"
        )
        rejects = ask("SELECT folder, file, reason FROM raw.vasp_rejects WHERE source = $source ORDER BY ALL")
        outcomes = ask("SELECT outcome, count(*) AS n FROM raw.vasp_folders WHERE source = $source GROUP BY ALL")
    folders = dict(outcomes.rows())
    context.log.info(", ".join(f"{count} {what}" for what, count in done.folders.items() if count) or "nothing to read")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": int(states["runs"].sum()),
            "folders": sum(folders.values()),
            "accepted": folders.get("accepted", 0),
            "rejected": folders.get("rejected", 0),
            "read_now": done.folders["accepted"] + done.folders["rejected"],
            "read_bytes": done.bytes,
            "states": table(states),
            "rejects": table(rejects),
        }
    )


@dg.asset(
    key=["core", "vasp_jobs"],
    deps=[vasp_runs, dg.AssetDep(jobs, partition_mapping=dg.AllPartitionMapping())],
    partitions_def=VASP,
    group_name="vasp",
    owners=OWNERS,
    kinds={"duckdb", "sql"},
    metadata=table_metadata("core.vasp_jobs"),
)
def vasp_jobs(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Finds the batch job of each launch in the source that the catalogue calls its accounting: by job number, else by time
    and cores where only one job fits. Without `accounting` the table stays empty."""
    source = context.partition_key
    accounting = load_catalogue().vasp_source(source).accounting
    with warehouse.write() as connection:
        rows = replace_partition_by_query(
            connection,
            "core.vasp_jobs",
            source,
            sql.load("core.vasp_jobs_of_source"),
            {"source": source, "accounting": accounting},
        )
    if not accounting:
        context.log.info(f"[vasp.{source}] names no accounting source in the catalogue: nothing to join")
    return dg.MaterializeResult(metadata={"dagster/row_count": rows})
