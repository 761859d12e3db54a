"""Rows of the experiments' tables by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assets.experiments.tables import ExperimentEntry, comparisons, costs_of, write_results
from models.scheduling.arena import Windows
from tests.assets.experiments.runs import rows
from tests.pipelines.command_line import use_home
from warehouse import Warehouse

WINDOWS = Windows(np.arange(0, 800, 100), 100)
EASY = {"experiment": "mine", "rules": "standard", "backfill": "easy", "goal": "bsld"}


def entries() -> list[ExperimentEntry]:
    saf = np.arange(10.0, 18.0)
    return [
        ExperimentEntry("SAF", "requested", None, None, saf),
        ExperimentEntry("ppo", "requested", "log", 1, saf - 1.0),
        ExperimentEntry("ppo", "requested", "log", 2, saf - 3.0),
    ]


def test_every_window_has_its_cost() -> None:
    costs = costs_of(entries(), WINDOWS, EASY)
    assert costs.height == 3 * 8 and costs["window_jobs"].unique().to_list() == [100]
    assert costs["cost"][8:10].to_list() == [9.0, 10.0] and costs["first_position"][8:10].to_list() == [0, 100]
    assert costs["seed"].to_list() == [None] * 8 + [1] * 8 + [2] * 8


def test_seeds_are_compared_together() -> None:
    table = comparisons(entries(), WINDOWS, EASY)
    assert table["rival"].to_list() == ["SAF, requested"] * 2, "no entry has SAF with predicted times"
    ppo = table.row(1, named=True)
    assert (ppo["policy"], ppo["seeds"], ppo["windows"]) == ("ppo", 2, 8)
    assert ppo["difference"] == pytest.approx(-2.0) and ppo["difference_low"] <= -2.0 <= ppo["difference_high"] < 0


def test_only_the_same_goal_and_backfilling_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for labels in (EASY, EASY | {"backfill": "none"}, EASY):
        costs, differences = costs_of(entries(), WINDOWS, labels), comparisons(entries(), WINDOWS, labels)
        write_results(warehouse, "log", "mine", costs, differences, [])
    assert rows(warehouse, "window_costs").height == 2 * 24 and rows(warehouse, "comparisons").height == 2 * 2
