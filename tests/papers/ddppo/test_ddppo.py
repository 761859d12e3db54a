"""Tests of papers/ddppo: ddppo, ddppo_transfer, plots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.common.trace import load_trace
from assets.policies.training import PolicyTask
from papers.ddppo import ddppo as training
from papers.ddppo import ddppo_transfer as judging
from papers.ddppo.ddppo import setup_of
from papers.ddppo.plots import boxes, reward_curves
from tests.papers.ddppo.ddppo_runs import CONFIG
from tests.papers.experiment_runs import rows
from warehouse import Warehouse

# ddppo: Policies of a large log: every variant learns from as many decisions, and all are judged on a log that none
# has seen.


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


# ddppo_transfer: Policies of a large log are judged on a log that none of them has seen.


def test_policies_are_judged_where_they_have_not_learned(ddppo_done: Warehouse) -> None:
    costs = rows(ddppo_done, "window_costs")
    assert set(costs["source"]) == {"other"} and set(costs["goal"]) == set(judging.JUDGED_METRICS)
    names = {
        *judging.PAPER_RULES,
        *(f"{variant}, for {goal}" for goal in CONFIG.goals for variant in training.VARIANTS),
    }
    assert set(costs["policy"]) == names and costs.height == len(names) * len(judging.JUDGED_METRICS) * 5
    differences = rows(ddppo_done, "comparisons")
    same = differences.filter(pl.col("policy") == "SAF", pl.col("rival") == "SAF, requested")
    assert same["difference"].to_list() == [0.0] * len(judging.JUDGED_METRICS)
    assert differences["difference_low"].null_count() == 0
    learned = differences.filter(pl.col("trained_on").is_not_null(), goal="bsld")
    rivals = {row["policy"]: set(row["rival"]) for row in learned.group_by("policy").agg("rival").to_dicts()}
    assert rivals["dd-ppo, for bsld"] == {
        *(f"{name}, requested" for name in judging.COMPARED_RIVALS),
        *(f"{variant}, for bsld, requested" for variant in training.VARIANTS if variant != "dd-ppo"),
    }
    verdicts = rows(ddppo_done, "verdicts")
    assert set(verdicts.filter(pl.col("goal") == "bsld")["policy"]) == {
        *(*judging.PAPER_RULES[1:], "EASY-SJBF", "bounded-key"),
        *(f"{variant}, mine, for bsld" for variant in training.VARIANTS),
    }


def test_what_cannot_be_judged_is_said(ddppo_done: Warehouse) -> None:
    trace = load_trace(ddppo_done, "mine")
    with pytest.raises(ValueError, match="choose a longer log"):
        judging.shared_windows(trace)
    with pytest.raises(ValueError, match="no policies of experiments/ddppo under easy from"):
        judging._policies(ddppo_done, "mine", judging.DDPPOTransferConfig())
    with pytest.raises(ValueError, match="unknown metrics speed: choose among bsld, wait"):
        judging.metrics_of(judging.DDPPOTransferConfig(metrics=["bsld", "speed"]))


def test_metrics_are_judged_that_are_asked_for() -> None:
    assert judging.metrics_of(judging.DDPPOTransferConfig()) == list(judging.JUDGED_METRICS)
    assert judging.metrics_of(judging.DDPPOTransferConfig(metrics=["wait"])) == ["wait"]


# plots: Pictures of DD-PPO show what the tables hold.


def test_rewards_are_drawn_over_decisions_of_all_epochs() -> None:
    rows = pl.DataFrame(
        [
            {
                "experiment": "ddppo, bsld",
                "variant": variant,
                "seed": seed,
                "epoch": epoch,
                "sampled_cost": 10.0 / epoch,
                "decisions": 500_000,
            }
            for variant in ("population", "ppo")
            for seed in (1, 2)
            for epoch in (1, 2, 3)
        ]
    )
    (ax,) = reward_curves(rows).axes
    assert [line.get_label() for line in ax.lines] == ["our population", "our PPO"]
    for line in ax.lines:
        assert list(line.get_xdata()) == [0.5, 1.0, 1.5]
        assert list(line.get_ydata()) == pytest.approx([10.0, 5.0, 10.0 / 3])


def test_boxes_show_each_window_once_and_utilisation_upwards() -> None:
    """Learned policies are those for the metric; their seeds are averaged before."""
    rows = [
        {"goal": metric, "policy": policy, "seed": seed, "window_number": k, "cost": cost * (k + 1)}
        | {"trained_on": None if seed is None else "large"}
        for metric, cost in (("bsld", 2.0), ("wait", 3.0), ("turnaround", 4.0), ("utilisation", -0.1))
        for policy, seed in (("SAF", None), ("ppo, for bsld", 1), ("ppo, for bsld", 2), ("ppo, for wait", 1))
        for k in range(5)
    ]
    figure = boxes(pl.DataFrame(rows, infer_schema_length=None))
    names = [[label.get_text() for label in ax.get_xticklabels()] for ax in figure.axes]
    assert names == [["SAF", "our\nPPO"], ["SAF", "our\nPPO"], ["SAF"], ["SAF"]]
    others = [row | {"trained_on": "larger"} for row in rows if row["seed"]]
    labels = boxes(pl.DataFrame(rows + others, infer_schema_length=None)).axes[0].get_xticklabels()
    assert [label.get_text() for label in labels] == ["SAF", "our\nPPO\nlarge", "our\nPPO\nlarger"]
    means = [line for line in figure.axes[3].lines if line.get_marker() == "o"]
    assert list(means[0].get_ydata()) == pytest.approx([0.3])
