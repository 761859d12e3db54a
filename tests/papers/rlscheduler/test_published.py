"""RLScheduler's tables on a small log of the published size: every policy, its counts, and what was replaced."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import numpy as np
import polars as pl
import pytest

from papers.rlscheduler.published import published
from papers.rlscheduler.transfer import transfer
from tests.assets.experiments.runs import QUICK, materialize, rows
from tests.pipelines.command_line import use_home
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse


def test_every_policy_is_on_every_window(done: Warehouse) -> None:
    costs = rows(done, "window_costs").filter(pl.col("experiment") == "published")
    each = costs.group_by("goal", "policy", "seed").agg(pl.len())
    assert (each["len"] == 10).all()
    assert each.height == 2 * (6 + 3 * 2)  # six heuristics; key, ppo and evolution with two seeds
    found = rows(done, "comparisons").filter(pl.col("experiment") == "published")
    assert found.height == 2 * 9 and (found["rival"] == "SAF, requested").all()
    means = costs.group_by("goal", "policy").agg(pl.col("cost").mean())
    both = found.join(means, on=["goal", "policy"], suffix="_again")
    assert np.allclose(both["cost"], both["cost_again"]) and both.height == found.height
    saf = found.filter(pl.col("policy") == "SAF")
    assert (saf["difference"] == 0).all()


def test_an_experiment_again_replaces_its_rows_alone(done: Warehouse) -> None:
    """One goal of `published` again: the other goal and the other experiments stay."""
    before = [rows(done, name) for name in ("window_costs", "comparisons", "policies")]
    materialize(transfer, done, {})
    materialize(published, done, QUICK | {"goals": ["bsld"], "backfills": ["easy"]})
    after = [rows(done, name) for name in ("window_costs", "comparisons", "policies")]
    for old, new in zip(before, after, strict=True):
        assert old.height == new.height and set(map(str, old.rows())) == set(map(str, new.rows()))


def test_policies_may_see_the_published_windows_as_in_the_paper(done: Warehouse) -> None:
    asked = {"goals": ["bsld"], "backfills": ["easy"], "methods": ["evolution"], "seen": True}
    materialize(published, done, QUICK | asked)
    found = rows(done, "comparisons")
    assert set(found["experiment"]) == {"published", "published_seen", "transfer"}


def test_short_logs_have_no_published_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    warehouse = warehouse_of(tmp_path, busy_log(400))
    with pytest.raises(dg.Failure, match="the published windows need 10000"):
        materialize(published, warehouse, {})
