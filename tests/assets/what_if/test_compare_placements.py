"""Two saved placements side by side, and what cannot be compared."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.what_if.compare_placements import compare_placements, saved_placements
from assets.what_if.replay_placement import PlacementConfig, ReplayPlacementConfig, replay_placement
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    made = warehouse_of(tmp_path_factory.mktemp("busy"), busy_log(400))
    placements = [
        PlacementConfig(name="first", topology="4x2x8", place="first"),
        PlacementConfig(name="tree", topology="4x2x8"),
        PlacementConfig(name="patient", topology="4x2x8", switches="1@2h"),
        PlacementConfig(name="part", topology="4x2x8", window="0:100"),
    ]
    replay_placement(dg.build_asset_context(partition_key="mine"), ReplayPlacementConfig(placements=placements), made)
    return made


def test_what_another_rule_changes(warehouse: Warehouse) -> None:
    compared = compare_placements(warehouse, "mine", "first", "tree")
    assert compared["settings"] == {"place": ["first", "tree"]} and compared["paired_jobs"] == 400
    metrics, paired = compared["metrics"], compared["paired"]
    assert metrics["average_wait_s"]["difference"] == 0 and paired["wait_s"]["equal_share"] == 1
    assert metrics["average_hop_cost"]["difference"] == pytest.approx(paired["hop_cost"]["b"] - paired["hop_cost"]["a"])
    assert metrics["average_hop_cost"]["difference"] < 0
    assert sum(paired["hop_cost"][f"{word}_share"] for word in ("lower", "equal", "higher")) == pytest.approx(1)
    assert compared["typical_block"]["hop_cost"]["ratio"] < 1 and compared["typical_block"]["wait_s"]["ratio"] == 1


def test_patience_is_paid_in_waits(warehouse: Warehouse) -> None:
    compared = compare_placements(warehouse, "mine", "tree", "patient")
    assert compared["settings"] == {"switches": [None, "1@2h"]}
    assert compared["metrics"]["one_leaf_share"]["difference"] >= 0
    assert compared["paired"]["wait_s"]["equal_share"] < 1


def test_what_cannot_be_compared(warehouse: Warehouse) -> None:
    assert saved_placements(warehouse, "mine") == ["first", "part", "patient", "tree"]
    with pytest.raises(ValueError, match="no saved placement 'none'; it has first, part"):
        compare_placements(warehouse, "mine", "first", "none")
    with pytest.raises(ValueError, match="not made of the same jobs"):
        compare_placements(warehouse, "mine", "first", "part")
