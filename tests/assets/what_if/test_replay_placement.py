"""Saved placements of a source: rows that agree with the replay, replaced by name, and checked."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets.what_if.replay_placement import (
    ASSUMED_TREE,
    PlacementConfig,
    ReplayPlacementConfig,
    replay_placement,
    settings_of_placement,
)
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return warehouse_of(tmp_path, busy_log(120))


def save(warehouse: Warehouse, **settings) -> dg.MaterializeResult:
    config = ReplayPlacementConfig(placements=[PlacementConfig(**settings)]) if settings else ReplayPlacementConfig()
    return replay_placement(dg.build_asset_context(partition_key="mine"), config, warehouse)


def rows_of(warehouse: Warehouse, table: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(f"FROM {table} ORDER BY ALL").pl()


def test_defaults_compare_first_fit_with_the_tree(warehouse: Warehouse) -> None:
    result = save(warehouse)
    rows = rows_of(warehouse, "replay.placements")
    assert rows["placement"].to_list() == ["first-fit", "tree"] and set(rows["topology"]) == {ASSUMED_TREE}
    assert rows["average_wait_s"].n_unique() == 1, "placing moves no start"
    assert result.metadata is not None and {"placements", "first-fit", "tree"} <= set(result.metadata)


def test_rows_are_those_of_the_jobs(warehouse: Warehouse) -> None:
    save(warehouse, name="mine", topology="4x2x8", policy="SJF")
    row, jobs = rows_of(warehouse, "replay.placements").row(0, named=True), rows_of(warehouse, "replay.placed_jobs")
    assert row["jobs"] == jobs.height == 120 and row["policy"] == "SJF"
    assert row["average_hop_cost"] == pytest.approx(jobs["hop_cost"].mean())
    assert row["average_wait_s"] == pytest.approx(jobs["wait_s"].mean())
    assert row["average_leaves"] == pytest.approx(jobs["leaves"].mean())
    assert jobs["nodes"].str.contains(r"^n(\d|\[)").all()


def test_a_name_is_replaced_and_others_stay(warehouse: Warehouse) -> None:
    save(warehouse)
    save(warehouse, name="tree", topology="4x2x8", switches="1@1h")
    rows = rows_of(warehouse, "replay.placements")
    assert rows["placement"].to_list() == ["first-fit", "tree"]
    assert rows["switches"].to_list() == [None, "1@1h"] and rows["topology"].to_list() == [ASSUMED_TREE, "4x2x8"]
    assert rows_of(warehouse, "replay.placed_jobs").height == 240


def test_two_of_one_name_are_refused(warehouse: Warehouse) -> None:
    config = ReplayPlacementConfig(placements=[PlacementConfig(name="a"), PlacementConfig(name="a", place="first")])
    with pytest.raises(ValueError, match="same name"):
        replay_placement(dg.build_asset_context(partition_key="mine"), config, warehouse)


def test_settings_of_the_launchpad_are_checked() -> None:
    settings, nodes = settings_of_placement(PlacementConfig(name="a", policy="SAF", place="first", period=30))
    assert (settings.policy, nodes.place, nodes.period) == ("SAF", "first", 30)
    with pytest.raises(ValueError, match="unknown place"):
        settings_of_placement(PlacementConfig(name="a", place="nowhere"))
