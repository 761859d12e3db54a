"""Inspectors beside several policies, judged on later jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.experiments.inspector import inspector
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
    }
    materialize(inspector, warehouse, asked)
    verdicts = rows(warehouse, "verdicts")
    by_name = {row["policy"]: row for row in verdicts.iter_rows(named=True)}
    assert {"SJF, inspect:accept", "SJF, inspect:unfit", "ppo, SJF, inspect:accept", "SJF", "key"} <= set(by_name)
    assert by_name["SJF, inspect:accept"]["average_wait_s"] == by_name["SJF"]["average_wait_s"]
    assert by_name["SJF, inspect:unfit"]["average_wait_s"] != by_name["SJF"]["average_wait_s"]
    assert set(rows(warehouse, "policies")["backfill"]) == {"inspect:accept"}
