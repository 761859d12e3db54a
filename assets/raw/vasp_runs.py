"""The asset raw/vasp_runs: VASP run folders in the warehouse."""

from datetime import UTC, datetime

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import table
from assets.common.partitions import VASP
from assets.common.storage import file_time
from assets.ingest.vasp_folders import runs_folder, update_vasp_log
from assets.ingest.zones import default_zone, runs_zone_remark
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse


class VaspRunsConfig(dg.Config):
    replace: bool = Field(default=False, description="Forget the runs of another folder that has this name")


@asset("raw.vasp_runs", group_name="vasp", partitions_def=VASP, kinds={"duckdb", "polars"})
def vasp_runs(
    context: dg.AssetExecutionContext, config: VaspRunsConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Reads the run folders that have changed: one row per launch of VASP, one per electronic and ionic step. A running job
    has a row too. Folders that should have been runs are rejects, with a reason; accepted and rejected add up to all."""
    source = context.partition_key
    catalogue = load_catalogue()
    declared = catalogue.vasp_source(source)
    # which run is running depends on the age of its files, and those may be stamped by the clock of a file server
    now = datetime.fromtimestamp(file_time(runs_folder(declared)), UTC).replace(tzinfo=None)
    zone = default_zone(warehouse, catalogue, declared, config.replace)
    done = update_vasp_log(warehouse, declared, zone.name, now, config.replace)
    if remark := runs_zone_remark(declared, zone):
        context.log.warning(remark)
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


CHECKS = [
    row_check(vasp_runs, "checks.vasp_steps_add_up", "every counted step of a VASP run is stored", partitions=VASP),
]
