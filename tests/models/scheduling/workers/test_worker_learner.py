"""Learners of several workers take the same steps; against one learner in test_decentralised_ppo.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.scheduling.learning.evolution import flatten
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.worker_learner import Lesson, WorkerLearner, rounded
from tests.models.scheduling.workers.quick import QUICK
from tests.models.scheduling.workers.threads import on_threads

PARTS = QUICK.model_copy(update={"minibatch": 150, "siblings": 2, "kl_limit": 1e9})


def lesson_of(learner: WorkerLearner, task: WorkerTask, families: int) -> Lesson:
    windows = task.lessons.windows.taken(np.repeat(np.arange(families), 2))
    trajectories = task.arena.sample(learner.weights(), windows, 7)
    return Lesson(np.arange(families), families, trajectories, np.random.default_rng(1).normal(size=2 * families))


def test_every_window_is_in_one_minibatch_of_a_pass(task: WorkerTask) -> None:
    learner = WorkerLearner(LoneWorker(), task.arena, PARTS, 3, None)
    lesson = lesson_of(learner, task, 6)
    counts = []
    derivatives = learner._derivatives
    learner._derivatives = lambda t, windows, *rest: counts.append(windows) or derivatives(t, windows, *rest)  # type: ignore[func-returns-value, method-assign]
    before = flatten(learner.weights())
    _, entropy, updates = learner.update_together(lesson, np.random.default_rng(0))
    steps = -(-lesson.trajectories.decisions // 150)
    assert steps > 1 and updates == PARTS.passes * steps == len(counts)
    assert sorted(np.concatenate(counts[:steps])) == list(range(12))
    assert entropy > 0 and not np.array_equal(flatten(learner.weights()), before)


def test_steps_end_at_the_kl_limit(task: WorkerTask) -> None:
    careful = WorkerLearner(LoneWorker(), task.arena, PARTS.model_copy(update={"kl_limit": 1e-9}), 3, None)
    kl, _, updates = careful.update_together(lesson_of(careful, task, 6), np.random.default_rng(0))
    assert kl > 1e-9 and 1 <= updates < PARTS.passes


def test_a_derivative_that_is_not_finite_ends_training(task: WorkerTask) -> None:
    learner = WorkerLearner(LoneWorker(), task.arena, PARTS, 3, None)
    lesson = lesson_of(learner, task, 4)
    learner._gradients.weights[0][:] = np.nan
    with pytest.raises(ValueError, match="training diverged"):
        learner.update_together(lesson, np.random.default_rng(0))


def test_other_weights_are_noticed_by_all(task: WorkerTask) -> None:
    def compare(workers: Any) -> str:
        learner = WorkerLearner(workers, task.arena, PARTS, 3, None)
        learner.load_state(workers.share(learner.to_state()))
        learner.check_equal()
        if workers.rank == 2:
            learner._gradients.weights[0][0] += 1e-7
        with pytest.raises(RuntimeError) as raised:
            learner.check_equal()
        return str(raised.value)

    said = on_threads(3, compare)
    assert said == ["workers [2] have other weights than worker 0: their machines compute differently"] * 3


def test_a_state_keeps_the_rates_of_the_options(task: WorkerTask) -> None:
    state = WorkerLearner(LoneWorker(), task.arena, PARTS, 3, None).to_state()
    other = WorkerLearner(LoneWorker(), task.arena, PARTS.model_copy(update={"policy_rate": 5e-4}), 4, None)
    other.load_state(state)
    assert [group["lr"] for group in other._policy_optimiser.param_groups] == [5e-4]


def test_rounding_makes_sums_exact() -> None:
    values = rounded(np.random.default_rng(0).normal(size=1000), 2.0**-30)
    assert values.sum() == values[::-1].sum() == sum(sorted(values.tolist()))
