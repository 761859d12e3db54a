"""Training curves: every variant has every epoch, and an experiment alone replaces its rows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from papers.rlscheduler.curves import curves
from tests.assets.experiments.runs import materialize, rows
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, warehouse_of


def test_curves_have_every_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    done = warehouse_of(tmp_path, busy_log(1_000, days=70))
    first = {"networks": ["kernel", "mlp_v2"], "seeds": [1], "window_jobs": 40}
    ppo = {"epochs": 2, "trajectories": 6, "siblings": 1, "baseline": "critic", "passes": 2}
    materialize(curves, done, first | {"ppo": ppo})
    found = rows(done, "curves")
    assert set(found["variant"]) == {"kernel", "mlp_v2", "unfiltered", "filtered", "relative"}
    assert found.height == 5 * 2
    some = {"networks": ["mlp_v3"], "filtering": False, "seeds": [1], "window_jobs": 40}
    ppo = {"epochs": 1, "trajectories": 4, "siblings": 1, "baseline": "critic", "passes": 1}
    materialize(curves, done, some | {"ppo": ppo})
    found = rows(done, "curves")
    assert set(found["variant"]) == {"mlp_v3", "unfiltered", "filtered", "relative"}
    filtered = found.filter(pl.col("variant") == "filtered").sort("epoch")
    assert filtered["phase"].to_list() == ["filtered", "all"]
