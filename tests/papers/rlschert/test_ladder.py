"""Training of all schedulers of a plan."""

from __future__ import annotations

from papers.rlschert.ladder import TrainedScheduler, train_side_by_side


def test_only_the_last_scheduler_may_kill_and_has_a_teacher(trained: list[TrainedScheduler]) -> None:
    assert [one.policy.kills for one in trained[:4]] == [False, False, False, True]
    assert [one.curve[0].teacher_weight > 0 for one in trained[:4]] == [False, False, False, True]


def test_every_ladder_has_its_experiment_and_seed(trained: list[TrainedScheduler]) -> None:
    assert [(one.experiment, one.seed) for one in trained[::4]] == [("main", 7), ("main", 8), ("completion", 7)]
    assert trained[3].describe().startswith("main, RLSchert, kill learned, seed 7: validation ")
    assert trained[0].curve != trained[4].curve


def test_without_a_task_nothing_is_trained() -> None:
    assert list(train_side_by_side([], lambda done: None)) == []
