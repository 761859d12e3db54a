"""The asset of Neural Simulated Annealing's protocol: its rows, which need no source, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from papers.neural_annealing.protocol import PUBLISHED_CLUSTERS, live, solving
from papers.neural_annealing.topology import TopologyConfig, topology
from tests.assets.experiments.runs import rows
from warehouse import Warehouse

FEW: dict[str, Any] = {"methods": ["free", "SCAS, exact"], "epochs": 2, "windows": 8, "jobs": 60}


def make(warehouse: Warehouse, **config: Any) -> dg.MaterializeResult:
    result = topology(dg.build_asset_context(), TopologyConfig(**FEW | config), warehouse)
    assert isinstance(result, dg.MaterializeResult)
    return result


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "w.duckdb")


def test_rows_are_those_of_the_protocol(warehouse: Warehouse) -> None:
    result = make(warehouse)
    made = rows(warehouse, "topology")
    assert made.height == 2 * 2 * (3 + 4) and result.metadata is not None
    assert {"window", "closed_loop", "costs"} <= set(result.metadata) and result.metadata[
        "dagster/row_count"
    ] == made.height
    cluster = PUBLISHED_CLUSTERS["code"]
    expected = live(cluster, solving(cluster.tree, "free", 5, 60), range(2), 60)
    free = made.filter(tree="code", protocol="closed_loop", method="free").sort("epoch")
    assert free["cost"].to_list() == pytest.approx(expected.cost_of_epochs().tolist())
    assert free["average_wait_s"].to_list() == [expected.where(expected.epoch == k).wait.mean() for k in (0, 1)]
    assert free["max_wait_s"].max() == expected.wait.max() and set(free["cases"]) == {60}
    for (_, protocol), part in made.group_by("tree", "protocol"):
        shares = dict(part.group_by("method").agg(pl.col("of_sequential").mean()).iter_rows())
        assert shares["sequential"] == 1 and shares["SCAS, exact"] < 1
        assert protocol == "window" or shares["ideal"] < shares["free"]
    alone = made.filter((pl.col("protocol") == "window") | (pl.col("method") == "ideal"))
    assert alone["average_wait_s"].null_count() == alone.height


def test_the_same_settings_give_the_same_rows_and_a_tree_replaces_its_own(warehouse: Warehouse) -> None:
    make(warehouse)
    first = rows(warehouse, "topology")
    make(warehouse)
    assert rows(warehouse, "topology").sort(pl.all()).equals(first.sort(pl.all()))
    make(warehouse, trees=["paper"], seed=3, jobs=0)
    after = rows(warehouse, "topology")
    assert after.filter(tree="code").sort(pl.all()).equals(first.filter(tree="code").sort(pl.all()))
    assert set(after.filter(tree="paper")["seed"]) == {3} and set(after.filter(tree="paper")["protocol"]) == {"window"}


def test_it_runs_without_a_partition_and_tells_what_it_does(
    warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"ops": {"experiments__topology": {"config": FEW | {"trees": ["code"], "most_jobs": 0, "windows": 0}}}}
    with dg.instance_for_test() as instance:
        assert dg.materialize(
            [topology], instance=instance, resources={"warehouse": warehouse}, run_config=config
        ).success
        messages = [
            record.user_message for record in instance.all_logs(instance.get_run_records()[0].dagster_run.run_id)
        ]
    assert sum(message.startswith("code, closed_loop, ") for message in messages) == 4
    assert set(rows(warehouse, "topology")["method"]) == {"sequential", "free", "SCAS, exact", "ideal"}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"methods": ["fastest"]}, "fastest"),
        ({"trees": ["torus"]}, "torus"),
        ({"windows": 0, "jobs": 0}, "nothing to compute"),
    ],
)
def test_settings_are_refused_before_anything_is_written(
    warehouse: Warehouse, config: dict[str, Any], says: str
) -> None:
    with pytest.raises(dg.Failure, match=says):
        make(warehouse, **config)
    assert not warehouse.exists()
