"""Inspectors beside several policies, judged on later jobs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from papers.schedinspector.inspector import inspector
from tests.assets.experiments.runs import QUICK, materialize, rows
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, warehouse_of


def test_inspectors_and_their_rivals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(900, days=60))
    asked = QUICK | {
        "policies": ["SJF"],
        "methods": ["ppo"],
        "ppo": QUICK["ppo"] | {"layout": "inspecting"},
        "seeds": [1],
        "own_bases": ["F1"],
        "own_epochs": 1,
    }
    materialize(inspector, warehouse, asked)
    verdicts = rows(warehouse, "verdicts")
    by_name = {row["policy"]: row for row in verdicts.iter_rows(named=True)}
    assert {"SJF, inspect:accept", "SJF, inspect:unfit", "ppo, SJF, inspect:accept", "SJF", "key"} <= set(by_name)
    assert by_name["SJF, inspect:accept"]["average_wait_s"] == by_name["SJF"]["average_wait_s"]
    assert by_name["SJF, inspect:unfit"]["average_wait_s"] != by_name["SJF"]["average_wait_s"]
    stored = rows(warehouse, "policies")
    assert stored["file"].n_unique() == stored.height == 3 and set(stored["rules"]) == {"standard", "rlscheduler"}
    own = rows(warehouse, "window_costs").filter(pl.col("rules") == "rlscheduler")
    assert set(own["backfill"]) == {"none", "easy"}
    assert set(own["policy"]) == {"F1", "F1, inspect:unfit", "F1, standard rules", "ppo, F1, inspect:accept"}
    assert own["first_position"].min() >= 450, "windows that test are of the later half"
    found = rows(warehouse, "comparisons").filter(
        pl.col("rules") == "rlscheduler", pl.col("policy") == "F1, inspect:unfit"
    )
    assert set(found["rival"]) == {"F1, requested", "F1, inspect:unfit, requested", "F1, standard rules, requested"}
