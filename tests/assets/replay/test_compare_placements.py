"""Two saved placements side by side, and what cannot be compared."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.replay.compare_placements import compare_placements, saved_placements
from assets.replay.replay_placement import PlacementConfig, ReplayPlacementConfig, replay_placement
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    made = warehouse_of(tmp_path_factory.mktemp("busy"), busy_log(400))
    placements = [
        PlacementConfig(name="first", topology="4x2x8", place="first"),
        PlacementConfig(name="tree", topology="4x2x8"),
        PlacementConfig(name="patient", topology="4x2x8", switches="1@2h"),
        PlacementConfig(name="part", topology="4x2x8", window="0:100"),
        PlacementConfig(name="by-request", topology="4x2x8", reserve_by="requested"),
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
    assert saved_placements(warehouse, "mine") == ["by-request", "first", "part", "patient", "tree"]
    with pytest.raises(ValueError, match="no saved placement 'none'; it has by-request, first"):
        compare_placements(warehouse, "mine", "first", "none")
    with pytest.raises(ValueError, match="not made of the same jobs"):
        compare_placements(warehouse, "mine", "first", "part")


def test_other_settings_that_differ_are_shown(warehouse: Warehouse) -> None:
    compared = compare_placements(warehouse, "mine", "tree", "by-request")
    assert compared["settings"] == {"other_settings": ["{}", '{"reserve_by": "requested"}']}


@pytest.fixture
def with_cancelled(tmp_path: Path) -> Warehouse:
    """J3 leaves the queue at 150, or starts at 100."""
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 100, 4, 100), swf_line(2, 10, 0, 100, 4, 100), swf_line(3, 20, 130, 0, 4, 10, status=5),
        swf_line(4, 30, 0, 100, 2, 100),
    ])  # fmt: skip
    made = warehouse_of(tmp_path, log)
    placements = [
        PlacementConfig(name="fcfs", topology="2x2", cancelled=True),
        PlacementConfig(name="sjf", topology="2x2", cancelled=True, policy="SJF"),
    ]
    replay_placement(dg.build_asset_context(partition_key="mine"), ReplayPlacementConfig(placements=placements), made)
    return made


def test_jobs_are_paired_by_their_place_whatever_their_index(with_cancelled: Warehouse) -> None:
    before = compare_placements(with_cancelled, "mine", "fcfs", "sjf")
    assert before["paired_jobs"] == 3
    with with_cancelled.write() as connection:  # as if an earlier log had been ingested in between
        connection.execute("UPDATE replay.placed_jobs SET job_index = job_index + 7 WHERE placement = 'sjf'")
    assert compare_placements(with_cancelled, "mine", "fcfs", "sjf") == before


def test_a_placement_that_lacks_jobs_is_refused(with_cancelled: Warehouse) -> None:
    with with_cancelled.write() as connection:  # as version 6 of the tables kept it
        connection.execute("DELETE FROM replay.placed_jobs WHERE start_time IS NULL")
    with pytest.raises(ValueError, match=r"'fcfs' was saved by an earlier tracehouse.*save it again"):
        compare_placements(with_cancelled, "mine", "fcfs", "sjf")
