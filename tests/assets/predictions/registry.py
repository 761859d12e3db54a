"""A warehouse with features of several logs, in which models compete: what the tests of the registry share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import numpy as np
import polars as pl

from assets.common.storage import data_folder
from assets.features.tables import runtime_rows, write_job_features, write_similar_jobs
from assets.predictions.model_registry import challenge_champion, write_drift
from tests.tiny import swf_line, warehouse_of
from warehouse import Warehouse

ODD = "o'b [x]*;--"
"""More than a catalogue takes for a name."""

JOBS = 600


def log_of(users: int, days: int = 40, seed: int = 0, runtime_s: int = 900) -> str:
    """Users whose jobs take about as long as always, and who ask for ten times as much as the usual."""
    rng = np.random.default_rng(seed)
    usual = runtime_s * (1 + np.arange(users))
    lines = []
    for number, submit in enumerate(np.sort(rng.integers(0, days * 86_400, JOBS)), start=1):
        user = int(rng.integers(users))
        took = int(usual[user] * rng.uniform(0.5, 1.5))
        job = (number, int(submit), 5, took, 1, int(10 * usual[user]))
        lines.append(swf_line(*job, user=user + 1))
    return "; UnixStartTime: 1767225600\n; TimeZoneString: UTC\n; MaxProcs: 999\n" + "".join(lines)


LOGS = {
    "mine": log_of(8),
    ODD: log_of(8, seed=1),
    "mine.2": log_of(3, seed=2),
    "short": log_of(3, days=4, seed=3),
    "long": log_of(6, days=1, seed=4, runtime_s=200_000),
}


def warehouse_with_features(folder: Path) -> Path:
    """The file of a warehouse with the features of all LOGS."""
    for number, (name, text) in enumerate(LOGS.items()):
        warehouse = warehouse_of(folder, text, f"log-{number}" if name == ODD else name)
        if name == ODD:
            with warehouse.write() as connection:
                connection.execute("UPDATE core.jobs SET source = ? WHERE source = ?", [ODD, f"log-{number}"])
                connection.execute("UPDATE core.sources SET source = ? WHERE source = ?", [ODD, f"log-{number}"])
        write_job_features(warehouse, name)
        write_similar_jobs(warehouse, name)
    return folder / "w.duckdb"


class Opened(Warehouse):
    """The same on one connection that stays open: opening a database takes longer than all that is done with it here."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        is_file = self.lake is None
        self.connection = duckdb.connect(str(path)) if is_file else self._connect(False, time.monotonic() + 10)

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._not_nested():
            yield self.connection

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._not_nested():
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")


def night(
    warehouse: Warehouse, predictor: str, source: str = "mine", days: int = 10, rows: pl.DataFrame | None = None
) -> str:
    rows = runtime_rows(warehouse, source) if rows is None else rows
    return challenge_champion(warehouse, source, rows, predictor, days)


def stored(warehouse: Warehouse, name: str, source: str = "mine") -> list[dict[str, Any]]:
    order = {"model_events": "event", "model_versions": "version", "model_drift": "input", "champions": "version"}[name]
    with warehouse.read() as connection:
        return connection.sql(
            f"FROM predictions.{name} WHERE source = $source ORDER BY {order}", params={"source": source}
        ).pl().to_dicts()  # fmt: skip


def registry(warehouse: Warehouse) -> dict[str, pl.DataFrame]:
    with warehouse.read() as connection:
        return {
            name: connection.sql(f"FROM predictions.{name} ORDER BY ALL").pl()
            for name in ("model_events", "model_versions", "model_drift")
        }


def kinds(warehouse: Warehouse, source: str = "mine") -> list[tuple[str, int, int]]:
    return [(event["kind"], event["version"], event["champion"]) for event in stored(warehouse, "model_events", source)]


def model_file(warehouse: Warehouse, version: int) -> Path:
    return data_folder() / stored(warehouse, "model_versions")[version - 1]["file"]


def drift_of(warehouse: Warehouse, source: str = "mine", rows: pl.DataFrame | None = None) -> pl.DataFrame:
    return write_drift(warehouse, source, runtime_rows(warehouse, source) if rows is None else rows)


def materialized(
    asset: dg.AssetsDefinition, warehouse: Warehouse, source: str = "mine", **config: Any
) -> dict[str, Any]:
    """Materializes one asset of a source on what the warehouse holds; its metadata, as Python values."""
    (key,) = asset.keys
    run_config = {"ops": {key.to_python_identifier(): {"config": config}}} if config else None
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("sources", [source])
        done = dg.materialize(
            [asset], partition_key=source, resources={"warehouse": warehouse}, instance=instance, run_config=run_config
        )
    (event,) = done.asset_materializations_for_node(asset.node_def.name)
    return {name: value.value for name, value in event.metadata.items()}
