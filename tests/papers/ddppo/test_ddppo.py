"""Policies of a large log: every variant learns from as many decisions, and all are judged on a log that none has seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assets.common.trace import load_trace
from assets.policies.training import PolicyTask
from papers.ddppo import ddppo as training
from papers.ddppo.ddppo import setup_of
from tests.assets.experiments.runs import rows
from tests.papers.ddppo.ddppo_runs import CONFIG
from warehouse import Warehouse


def test_every_variant_learns_from_as_many_windows(ddppo_done: Warehouse, tmp_path: Path) -> None:
    policies = rows(ddppo_done, "policies")
    assert policies["source"].unique().to_list() == ["mine"]
    assert sorted(policies.select("goal", "policy", "seed").rows()) == sorted(
        (goal, variant, 3) for goal in CONFIG.goals for variant in training.VARIANTS
    )
    replayed = {}
    for row in policies.iter_rows(named=True):
        card = json.loads((ddppo_done.path.parent / "warehouse" / "data" / row["file"]).read_text())["card"]
        options = card["parameters"]
        replayed[row["policy"]] = options["ppo"]["epochs"] * options.get("population", {"members": 1})["members"]
        if "lineage" in options:
            assert sum(1 for each in options["lineage"] if each["parent"] is not None) == 2
    assert set(replayed.values()) == {4}
    curves = rows(ddppo_done, "curves")
    assert set(curves["experiment"]) == {f"ddppo, {goal}" for goal in CONFIG.goals}
    epochs = {row["variant"]: row["len"] for row in curves.group_by("variant").len().to_dicts()}
    assert epochs == {
        "ppo": 8,
        **dict.fromkeys(("population", "without PBT", "without FT", "dd-ppo"), 4),
    }  # epochs or generations, two goals


def test_what_cannot_be_trained_or_judged_is_said(ddppo_done: Warehouse, tmp_path: Path) -> None:
    trace = load_trace(ddppo_done, "mine")
    with pytest.raises(ValueError, match="smaller windows"):
        setup_of(trace, PolicyTask(window_jobs=256), 600)
    with pytest.raises(ValueError, match="unknown variant 'mine'"):
        training.training_of("mine", CONFIG, Any, Any)  # type: ignore[arg-type]
