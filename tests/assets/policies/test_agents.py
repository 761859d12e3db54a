"""Agents are trained again where a champion is kept, as it was trained, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from assets.common.trace import load_trace
from assets.policies import agents as module
from assets.policies.adoption import adopt
from assets.policies.agents import AgentTrainingConfig, agents, lessons_of_champions
from assets.policies.training import PolicyTask, TrainingSetup, split_of
from models.scheduling.options import AGENT_PPO, Recipe
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

TASK = PolicyTask("wait", estimates="requested", agent="pick:by=shortest,window=8-8", base="SAF", window_jobs=48)
RECIPE = Recipe(start="rule", ppo=AGENT_PPO.model_copy(update={"trajectories": 2})).with_epochs(1)


def night(warehouse: Warehouse) -> dict[str, Any]:
    """What a run of the asset says."""
    context = dg.build_asset_context(partition_key="mine", resources={"warehouse": warehouse})
    result = agents(context, AgentTrainingConfig(seeds=[5]))
    assert isinstance(result, dg.MaterializeResult) and result.metadata is not None
    return dict(result.metadata)


def test_a_champion_is_challenged_every_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    warehouse = warehouse_of(tmp_path, busy_log(700, seed=3))
    trace = load_trace(warehouse, "mine")
    monkeypatch.setattr(module, "load_trained_trace", lambda *_: (trace, 420))
    assert night(warehouse) == {"kinds trained": 0}
    setup = TrainingSetup.on_split(trace, TASK, split_of(trace, 48))
    adopt(warehouse, setup, list(setup.train(RECIPE, [1])))
    ((learns, task, recipe),) = lessons_of_champions(warehouse, "mine")
    assert (learns, task.agent, task.base, task.goal, recipe) == ("backfilling", TASK.agent, "SAF", "wait", RECIPE)
    found = night(warehouse)
    assert found["kinds trained"] == 1 and found["backfilling"].startswith("challenger")
    with warehouse.read() as connection:
        rows = connection.sql("FROM policies.learned_policies").pl()
    assert rows.filter("newest")["seed"].to_list() == [5]
    assert rows["learns"].unique().to_list() == ["backfilling"] and rows["champion"].sum() == 1
    assert rows.filter(pl.col("seed") == 5)["trained_jobs"].to_list() == [350], "as those of `tracehouse train`"
