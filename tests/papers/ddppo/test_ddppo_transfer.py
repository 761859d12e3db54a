"""Policies of a large log are judged on a log that none of them has seen."""

from __future__ import annotations

import polars as pl
import pytest

from assets.common.trace import load_trace
from papers.ddppo import ddppo as training
from papers.ddppo import ddppo_transfer as judging
from tests.assets.experiments.runs import rows
from tests.papers.ddppo.ddppo_runs import CONFIG
from warehouse import Warehouse


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
