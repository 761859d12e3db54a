"""The asset core/vasp_jobs: the accounting jobs that VASP runs were."""

import dagster as dg

import sql
from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import lineage_metadata
from assets.common.partitions import VASP
from assets.core.jobs import jobs
from assets.raw.vasp_runs import vasp_runs
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse
from warehouse.partitions import replace_partition_by_query


@asset(
    "core.vasp_jobs",
    group_name="vasp",
    deps=[vasp_runs, dg.AssetDep(jobs, partition_mapping=dg.AllPartitionMapping())],
    partitions_def=VASP,
    kinds={"duckdb", "sql"},
)
def vasp_jobs(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Finds the batch job of each launch in the source that the catalogue calls its accounting: by job number, else by time
    and cores where only one job fits. Without `accounting` the table stays empty."""
    source = context.partition_key
    accounting = load_catalogue().vasp_source(source).accounting
    parameters: dict[str, object] = {"source": source, "accounting": accounting}
    rows = warehouse.transact(
        source,
        lambda connection: replace_partition_by_query(
            connection, "core.vasp_jobs", source, sql.load("core.vasp_jobs_of_source"), parameters
        ),
    )
    if not accounting:
        context.log.info(f"[vasp.{source}] names no accounting source in the catalogue: nothing to join")
    return dg.MaterializeResult(metadata={"dagster/row_count": rows, **lineage_metadata("core.vasp_jobs_of_source")})


CHECKS = [
    row_check(
        vasp_jobs,
        "checks.launches_fit_their_jobs",
        "a launch has at most one job, which the accounting knows",
        partitions=VASP,
    ),
]
