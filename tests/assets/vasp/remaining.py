"""A warehouse with synthetic VASP runs, two of them without an end: what the tests of remaining times share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from assets.vasp.folders import update_vasp_log
from traces.catalogue.vasp import VaspSource
from traces.vasp.synthetic import SyntheticOptions, draw_runs, write_run
from warehouse import Warehouse

SOURCE = "mine"
RUNS, OPEN = 44, 2


def warehouse_of_runs(folder: Path) -> Path:
    """The file of the warehouse. The last OPEN of RUNS runs stopped half-way."""
    for number, run in enumerate(draw_runs(SyntheticOptions(runs=RUNS, seed=5, unfinished=0))):
        until_s = 0.5 * run.elapsed_s if number >= RUNS - OPEN else None
        write_run(folder / "runs" / run.name, run, until_s=until_s)
    now = datetime.now(UTC).replace(tzinfo=None)
    update_vasp_log(Warehouse(folder / "w.duckdb"), VaspSource(SOURCE, folder / "runs"), "UTC", now)
    return folder / "w.duckdb"


def materialized(asset: dg.AssetsDefinition, warehouse: Warehouse, **config: Any) -> dict[str, Any]:
    """Materializes one asset of SOURCE on what the warehouse holds; its metadata, as Python values."""
    (key,) = asset.keys
    run_config = {"ops": {key.to_python_identifier(): {"config": config}}} if config else None
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("vasp", [SOURCE])
        done = dg.materialize(
            [asset], partition_key=SOURCE, resources={"warehouse": warehouse}, instance=instance, run_config=run_config
        )
    (event,) = done.asset_materializations_for_node(asset.node_def.name)
    return {name: value.value for name, value in event.metadata.items()}
