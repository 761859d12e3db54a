"""Why jobs waited, as a table: what kept each job, of the log's own starts and of those of a replay."""

import dagster as dg
import polars as pl

from assets.common.asset import asset, passed_over
from assets.common.checks import row_check
from assets.common.describe import table
from assets.core.jobs import jobs
from assets.replaying.own.wait_causes import CAUSE_COLUMNS, CAUSES_TABLE, MOST_EXPLAINED_JOBS, WaitCauses, wait_causes
from assets.replaying.site import site_of
from simulator.slurm.waiting.words import CAUSES
from warehouse import Warehouse, first_row, replace_partitions


@asset("marts.job_wait_causes", group_name="evaluation", deps=[jobs], kinds={"numba", "duckdb"})
def job_wait_causes(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """What kept each job waiting: a limit, a reservation, a resource, or jobs of higher priority, and by which factor. A source with a
    cluster of Slurm or PBS has the rows of a replay, too. The view marts.waits_by_cause adds them up."""
    source = context.partition_key
    try:
        parts = {starts: wait_causes(warehouse, source, starts == "replay") for starts in _explained(warehouse, source)}
    except ValueError as error:  # the cluster lacks a partition of the log, say; the assets after this one do without
        parts, why_not = {}, str(error)
    else:
        why_not = "" if parts else f"more than {MOST_EXPLAINED_JOBS:,} jobs: `tracehouse why {source}` takes its time"
    rows = pl.concat(
        [cause_rows(causes).with_columns(starts=pl.lit(starts)) for starts, causes in parts.items()] or [pl.DataFrame()]
    )
    replace_partitions(warehouse, source, {CAUSES_TABLE: rows})
    if why_not:
        context.log.info(why_not)
        return dg.MaterializeResult(metadata=passed_over(why_not))
    sums = [causes.of().with_columns(starts=pl.lit(starts)) for starts, causes in parts.items()]
    return dg.MaterializeResult(metadata={"dagster/row_count": rows.height, "causes": table(pl.concat(sums))})


def _explained(warehouse: Warehouse, source: str) -> tuple[str, ...]:
    """Of which starts the rows are."""
    with warehouse.read() as connection:
        counted = first_row(connection, "SELECT count(*) FROM core.jobs WHERE source = ?", [source])
    if counted is None or counted[0] > MOST_EXPLAINED_JOBS:
        return ()
    return ("log",) if site_of(source, warehouse).own_cluster is None else ("log", "replay")


def cause_rows(causes: WaitCauses) -> pl.DataFrame:
    """Rows of marts.job_wait_causes but for source and starts, in the order of jobs and of CAUSES."""
    by_column = dict(zip(CAUSE_COLUMNS, CAUSES.values(), strict=True))
    long = causes.jobs.unpivot(
        CAUSE_COLUMNS,
        index=("job_index", "behind_job", "behind_user", "limit"),
        variable_name="column",
        value_name="waited_s",
    ).filter(pl.col("waited_s") > 0)
    is_behind = pl.col("cause").str.starts_with("behind_")
    return (
        long.with_columns(
            cause=pl.col("column").replace_strict(
                {name: cause.name for name, cause in by_column.items()}, return_dtype=pl.Utf8
            ),
            meaning=pl.col("column").replace_strict(
                {name: cause.words for name, cause in by_column.items()}, return_dtype=pl.Utf8
            ),
        )
        .select(
            "job_index",
            "cause",
            "meaning",
            "waited_s",
            limit_text=pl.when(pl.col("cause") == "limit").then("limit"),
            behind_job=pl.when(is_behind).then("behind_job"),
            behind_user=pl.when(is_behind).then("behind_user"),
            basis=pl.lit(causes.basis),
        )
        .sort("job_index", maintain_order=True)
    )


CHECKS = [
    row_check(job_wait_causes, "checks.causes_add_up", "what kept a job adds up to its wait"),
]
