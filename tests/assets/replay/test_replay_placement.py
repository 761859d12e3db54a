"""Saved placements of a source: rows that agree with the replay, replaced by name, and checked."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

import sql
from assets.replay.replay_placement import (
    ASSUMED_TREE,
    PlacementConfig,
    ReplayPlacementConfig,
    replay_placement,
    settings_of_placement,
)
from assets.replay.replay_runs import OutageConfig
from tests.tiny import busy_log, swf_line, warehouse_of
from traces.catalogue.sources import Source
from warehouse import Warehouse

KEYS = ("source", "placement", "job_index")


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


def test_jobs_that_never_ran_have_a_row_without_nodes(tmp_path: Path) -> None:
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 1000, 4, 1000),
        swf_line(2, 10, 90, 0, 2, 300, status=5),  # leaves at 100
        swf_line(3, 20, 980, 50, 1, 100),
    ])  # fmt: skip
    warehouse = warehouse_of(tmp_path, log)
    result = save(warehouse, name="all", topology="2x2", cancelled=True)
    rows = rows_of(warehouse, "replay.placed_jobs").sort("job_index")
    assert rows["wait_s"].to_list() == [0, None, 980] and rows["nodes"].to_list() == ["n[0-3]", None, "n0"]
    assert all(value is None for name, value in rows.row(1, named=True).items() if name not in KEYS)
    assert rows_of(warehouse, "replay.placements")["jobs"].to_list() == [rows.height] and result.metadata


def test_settings_without_a_column_of_their_own_are_kept(warehouse: Warehouse) -> None:
    outage = OutageConfig(start=0, end=100, procs=4)
    save(warehouse, name="plain", topology="4x2x8")
    save(warehouse, name="other", topology="4x2x8", reserve_by="requested", correction="doubling", outages=[outage])
    save(warehouse, name="together", topology="4x2x8", place="looking-ahead", period=600, guard=50)
    rows = rows_of(warehouse, "replay.placements").sort("placement")
    assert json.loads(rows["other_settings"][2]) == {"guard": 50}
    rows = rows[:2]
    other, plain = (json.loads(text) for text in rows["other_settings"])
    assert plain == {} and rows["hops"].to_list() == ["2,4,6"] * 2
    assert other == {
        "reserve_by": "requested", "correction": "doubling", "outages": [{"start": 0, "end": 100, "procs": 4}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "impossible"),
    [
        ("nodes = NULL", True), ("leaves = 9", True), ("pods = NULL", True), ("wait_s = -1", True), ("hop_cost = -1", True),
        ("start_time = NULL", True), ("wait_s = wait_s + 1", False),
    ],
)  # fmt: skip
def test_impossible_jobs_are_noticed(warehouse: Warehouse, change: str, impossible: bool) -> None:
    save(warehouse, name="mine", topology="4x2x8")
    with warehouse.write() as connection:
        connection.execute(f"UPDATE replay.placed_jobs SET {change} WHERE job_index = 5")
        bad = connection.execute(sql.load("checks.placed_jobs_are_possible"), {"source": "mine"}).fetchall()
    assert len(bad) == impossible


def test_a_name_is_replaced_and_others_stay(warehouse: Warehouse) -> None:
    save(warehouse)
    save(warehouse, name="tree", topology="4x2x8", switches="1@1h")
    rows = rows_of(warehouse, "replay.placements")
    assert rows["placement"].to_list() == ["first-fit", "tree"]
    assert rows["switches"].to_list() == [None, "1@1h"] and rows["topology"].to_list() == [ASSUMED_TREE, "4x2x8"]
    assert rows_of(warehouse, "replay.placed_jobs").height == 240


def test_two_of_one_name_are_refused(warehouse: Warehouse) -> None:
    config = ReplayPlacementConfig(placements=[PlacementConfig(name="a"), PlacementConfig(name="a", place="first")])
    with pytest.raises(dg.Failure, match="same name"):
        replay_placement(dg.build_asset_context(partition_key="mine"), config, warehouse)


def test_settings_of_the_launchpad_are_checked() -> None:
    settings, nodes = settings_of_placement(PlacementConfig(name="a", policy="SAF", place="first", period=30), None)
    assert (settings.policy, nodes.place, nodes.period) == ("SAF", "first", 30)
    with pytest.raises(ValueError, match="unknown place"):
        settings_of_placement(PlacementConfig(name="a", place="nowhere"), None)


def test_the_tree_is_that_of_the_launchpad_or_of_the_catalogue() -> None:
    source = Source("mine", "swf", Path("log"), topology="2x4x2", procs_per_node=2)
    trees = [
        settings_of_placement(PlacementConfig(name="a", topology=given), entry)[1].topology
        for given, entry in (("4x4", source), (None, source), (None, None))
    ]
    assert trees == ["4x4", "2x4x2", ASSUMED_TREE]
    assert settings_of_placement(PlacementConfig(name="a"), source)[1].procs_per_node == 2
