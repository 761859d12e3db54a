"""Tests of papers/rlschert: plan, rlschert, trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.rlschert import rlschert
from papers.rlschert.plan import PAPER_OPTIONS, RLSchertOptions
from papers.rlschert.rlschert import RLSchertConfig, RLSchertTraining
from papers.rlschert.rules import ACTIONS, KILLABLE, SLOTS
from papers.rlschert.trials import TrainedScheduler, train_side_by_side
from papers.rlschert.workload import PAPER_ERRORS, Workload
from warehouse import Warehouse

# ladder: Training of all schedulers of a plan.


def test_only_the_last_scheduler_may_kill_and_has_a_teacher(trained: list[TrainedScheduler]) -> None:
    assert [one.policy.kills for one in trained[:4]] == [False, False, False, True]
    assert [one.curve[0].teacher_weight > 0 for one in trained[:4]] == [False, False, False, True]


def test_every_ladder_has_its_experiment_and_seed(trained: list[TrainedScheduler]) -> None:
    assert [(one.experiment, one.seed) for one in trained[::4]] == [("main", 7), ("main", 8), ("completion", 7)]
    assert trained[3].describe().startswith("main, RLSchert, kill learned, seed 7: validation ")
    assert trained[0].curve != trained[4].curve


def test_without_a_task_nothing_is_trained() -> None:
    assert list(train_side_by_side([], lambda done: None)) == []


# options: Settings of RLSchert's training.


def test_the_papers_settings() -> None:
    """Table 4."""
    paper = PAPER_OPTIONS
    assert (paper.minibatch, paper.passes, paper.gae_lambda, paper.kl_target) == (128, 5, 0.95, 0.01)
    assert (paper.gamma, paper.rate, paper.clip) == (0.99, 1e-4, 0.2)
    assert (paper.value_weight, paper.teacher_weight, paper.entropy_weight) == (0.25, 0.5, 0.02)
    assert (SLOTS, KILLABLE, ACTIONS) == (5, 8, 14)
    assert Workload().jobs == 200


# rlschert: The settings of RLSchert's asset; the whole asset runs in tests/tracehouse/cli/commands/test_vasp.py.


def test_the_plan_is_what_the_settings_say(tmp_path: Path) -> None:
    config = RLSchertConfig(seeds=[4], jobs=20, cluster_sizes=[16], training=RLSchertTraining(iterations=3))
    plan = rlschert._plan_of(config, Warehouse(tmp_path / "w.duckdb"), "mine")
    assert plan.options == RLSchertOptions(iterations=3)
    assert (plan.seeds, plan.workload.jobs, plan.workload.errors, plan.cluster_sizes) == ((4,), 20, PAPER_ERRORS, (16,))


def test_settings_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    config = RLSchertConfig(cluster_sizes=[8])
    with pytest.raises(ValueError, match="cluster_sizes: jobs have up to 10 processors, got"):
        rlschert._plan_of(config, Warehouse(tmp_path / "w.duckdb"), "mine")
