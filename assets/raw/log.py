"""The asset raw/log: log files into the raw tables."""

import dagster as dg
import duckdb
from pydantic import Field

import sql
from assets.common.asset import EXPECTED_ERRORS, asset
from assets.common.checks import row_check
from assets.common.describe import table
from assets.common.partitions import SOURCES
from assets.ingest.update import update_raw_log
from assets.ingest.zones import default_zone, zone_remark
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.places import inbox
from traces.catalogue.sources import Source
from traces.common.log import LogError
from traces.slurm.reader import UNKNOWN_COLUMNS
from warehouse import Warehouse, first_row


class RawLogConfig(dg.Config):
    """What the launchpad can set for raw/log."""

    replace: bool = Field(
        False, description="Forget all jobs of the source, in the transaction that writes the first new ones."
    )
    new_key: bool = Field(
        False, description="Take another key of pseudonyms than that of the warehouse, because that one is lost."
    )


@asset("raw.log", group_name="ingest", table="raw.log_files", kinds={"duckdb", "polars"})
def raw_log(
    context: dg.AssetExecutionContext, config: RawLogConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Reads what is new in the source's log files into `raw.*`: accepted records by format, rejects verbatim with
    a reason, and counts that add up. A generated source writes its log first. Each file lands whole, with its row of the
    ledger `raw.log_files`; what has been read before is not read again."""
    source = context.partition_key
    catalogue = load_catalogue()
    entry = catalogue.source(source)
    zone = default_zone(warehouse, catalogue, entry, config.replace)
    try:
        done = update_raw_log(warehouse, entry, *zone, config.replace, config.new_key)
    except EXPECTED_ERRORS:
        _forget_partition(context, warehouse, entry)
        raise
    with warehouse.read() as connection:
        files = connection.sql(sql.load("raw.newest_files"), params={"source": source}).pl()
        counts = connection.sql(sql.load("raw.counts"), params={"source": source}).pl()
        totals = connection.sql("SELECT * FROM marts.ingest_summary WHERE source = $source", params={"source": source})
        total = totals.pl().row(0, named=True)
        remark = zone_remark(connection, entry, zone)
        unknown = unknown_columns(connection, source)
    if done.corrected.files or done.corrected.outdated:
        context.log.warning(str(done.corrected))
    if unknown:
        context.log.warning(f"columns that sacct does not have were not read: {', '.join(unknown)}")
    if remark:
        context.log.warning(remark)
    if done.fault:  # it is in the warehouse, and told once: the next run finds nothing new
        raise LogError(done.fault)
    context.log.info(
        f"{_words(done.files)}; new lines: {_words({f'{o}: {r}': n for (o, r), n in sorted(done.lines.items())})}"
    )
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": total["files"],
            "lines": total["lines"],
            "accepted": total["accepted"],
            "kept": total["kept"],
            "rejected": total["rejected"],
            "new_lines": done.lines.total(),
            "new_bytes": done.bytes,
            "files_now": _words(done.files),
            "line_counts": table(counts),
            "files": table(files),
        }
    )


def unknown_columns(connection: duckdb.DuckDBPyConnection, source: str) -> list[str]:
    """Names of columns of a Slurm log that are none of sacct's, and were not read."""
    rows = connection.execute(
        "SELECT DISTINCT value FROM raw.log_headers WHERE source = ? AND key = ? ORDER BY value",
        [source, UNKNOWN_COLUMNS],
    ).fetchall()
    return sorted({name for (value,) in rows for name in value.split(", ")})


def _forget_partition(context: dg.AssetExecutionContext, warehouse: Warehouse, source: Source) -> None:
    """Takes a file of the inbox whose first ingest failed out of the partitions, since there is nothing to see of it."""
    if source.path is None or source.path.parent != inbox():
        return
    if warehouse.exists():
        with warehouse.read() as connection:
            if first_row(connection, "SELECT 1 FROM core.sources WHERE source = ?", [source.name]) is not None:
                return
    assert SOURCES.name is not None
    context.instance.delete_dynamic_partition(SOURCES.name, source.name)


def _words(counts: dict[str, int]) -> str:
    """Such as "3 read, 120 unchanged"."""
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing"


CHECKS = [
    row_check(
        raw_log,
        "checks.counts_add_up",
        "lines = accepted + kept + ignored + rejected in every file, and all are stored",
    ),
    row_check(raw_log, "checks.not_empty", "the ingest accepted at least one job"),
]
