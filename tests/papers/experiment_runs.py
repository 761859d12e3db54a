"""What the tests of the experiments share: quick settings, and assets run on a small warehouse."""

from __future__ import annotations

from typing import Any

import dagster as dg
import polars as pl

from warehouse import Warehouse

QUICK: dict[str, Any] = {
    "ppo": {"epochs": 1, "trajectories": 8},
    "evolution": {"generations": 1, "pairs": 1, "windows": 2},
    "key": {"random_keys": 4, "steps": 0, "windows": 3},
    "seeds": [1, 2],
    "training_window_jobs": 64,
}


def materialize(asset: dg.AssetsDefinition, warehouse: Warehouse, config: dict[str, Any]) -> None:
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("sources", ["mine"])
        name = "__".join(asset.key.path)
        assert dg.materialize(
            [asset],
            partition_key="mine",
            instance=instance,
            resources={"warehouse": warehouse},
            run_config={"ops": {name: {"config": config}}},
        ).success


def rows(warehouse: Warehouse, name: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(f"FROM experiments.{name}").pl()
