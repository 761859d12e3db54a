"""A warehouse with synthetic VASP runs, two of them without an end: what the tests of remaining times share."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg

from assets.ingest.vasp_folders import update_vasp_log
from tests.traces.vasp.vasp_lines import END, TOP, electronic, written
from traces.catalogue.catalogue import VaspSource
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


BEGIN = datetime(2024, 5, 1, 8, 0, 0, tzinfo=UTC)


def restarted_run(folder: Path, earlier: str, ended: bool) -> datetime:
    """A run that was started at BEGIN, made 3,500 s of steps, and was started again on the third day; 3,577 s later it was
    written to last. earlier: whether the second launch was appended, or the first OUTCAR was moved or copied before it.
    Returns BEGIN."""
    times = [BEGIN, BEGIN + timedelta(seconds=259_513 - 3_577)]
    tops = [TOP.replace("2022.02.03  10:50:43", f"{at:%Y.%m.%d  %H:%M:%S}") for at in times]
    first = tops[0] + electronic(1, 1, "3500.0000")
    second = tops[1] + electronic(1, 1, "1700.0000") + (END if ended else "")
    path = written(folder / "OUTCAR", (first if earlier == "appended" else "") + second)
    last = times[1].timestamp() + 3_577
    os.utime(path, (last, last))
    if earlier != "appended":
        put_aside = written(folder / "OUTCAR.1", first)
        at = BEGIN.timestamp() + 3_530 if earlier == "moved" else times[1].timestamp() - 5
        os.utime(put_aside, (at, at))
    return BEGIN


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
