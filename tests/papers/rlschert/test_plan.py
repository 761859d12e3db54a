"""Plans of RLSchert's experiment: what is trained, and what is refused before hours of training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from papers.rlschert.plan import count_iterations, ladder_tasks
from tests.papers.rlschert.tiny_plan import PLAN, tiny_plan


def test_every_scheduler_with_every_seed_and_some_for_completion() -> None:
    tasks = ladder_tasks(PLAN)
    assert [(task.experiment, task.seed) for task in tasks] == [("main", 7), ("main", 8), ("completion", 7)]
    assert list(tasks[0].settings) == [
        ("DeepRM", "none"),
        ("RLSchert", "none"),
        ("RLSchert", "rule"),
        ("RLSchert", "learned"),
    ]
    assert {setting.goal for setting in tasks[2].settings.values()} == {"completion"}
    assert [setting.kill_by_rule for setting in tasks[0].settings.values()] == [False, False, True, False]
    assert not tasks[0].settings["DeepRM", "none"].with_remaining
    assert count_iterations(tasks) == 3 * 4


def test_the_networks_of_table_3_where_asked_for() -> None:
    tasks = ladder_tasks(tiny_plan(network_iterations=2))[3:]
    assert [next(iter(task.settings)) for task in tasks[::2]] == [
        ("pg_image_mlp", "none"),
        ("ppo_image_cnn", "none"),
        ("ppo_image_mlp", "none"),
    ]
    assert {task.options.iterations for task in tasks} == {2} and tasks[0].options.minibatch == 128


def test_policies_are_trained_on_the_cluster_of_the_plan() -> None:
    (task, *_) = ladder_tasks(tiny_plan(preemption_cost=4))
    assert {setting.preemption_cost for setting in task.settings.values()} == {4}
    assert {setting.stop_within for setting in task.settings.values()} == {0}


def test_test_sequences_are_not_training_sequences() -> None:
    pool, test = PLAN.pool(), PLAN.test()
    assert len(pool.arrive) == 3 and len(test.arrive) == 4
    assert not np.array_equal(pool.length, test.length[:3])
    assert np.array_equal(PLAN.test().length, test.length)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"options": PLAN.options.model_copy(update={"goal": "completion"})},
            "training.goal: policies are trained for slowdown",
        ),
        ({"options": PLAN.options.model_copy(update={"network": "image_mlp"})}, "fits one cluster size only"),
        ({"cluster_sizes": (9,)}, r"jobs have up to 10 processors, got \[9\]"),
        ({"job_rates": (0.0,)}, "job_rate is a share from 0 to 1, got 0.0"),
        ({"predictable_shares": (1.5,)}, "predictable_share is a share"),
        ({"preemption_costs": (1, -3)}, "0 or more: got 0 and -3"),
        ({"preemption_cost": -1}, "0 or more: got 0 and -1"),
        ({"stop_ratio": 0.5}, "stop_ratio is how many times shorter"),
        ({"stop_within": 0}, "stop_within: the stopping rule needs at least 1 unit, got 0"),
    ],
)
def test_plans_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_plan(**changes)
