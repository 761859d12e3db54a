"""Derivatives window by window add up to those of one pass, in any order to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from models.scheduling.learning.kernel_pass import ClippedLoss, recorded_choices
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.window_gradients import GRID, add_window_gradients
from models.scheduling.workers.worker_learner import WorkerLearner


@pytest.fixture(scope="module")
def sums(task: WorkerTask) -> Any:
    learner = WorkerLearner(LoneWorker(), task.arena, task.options, 3, None)
    trajectories = task.arena.sample(learner.weights(), task.lessons.windows.taken(np.arange(9)), 4)
    advantage = np.random.default_rng(2).normal(size=trajectories.decisions).astype(np.float32)
    shared = learner._gradients

    def add(windows: list[int]) -> tuple[NDArray[np.float64], tuple[float, float, int]]:
        total = np.zeros(len(shared.flat))
        others = add_window_gradients(
            recorded_choices(trajectories),
            trajectories.first_decision,
            np.array(windows, dtype=np.int64),
            advantage,
            ClippedLoss(0.2, 0.01),
            shared.weights,
            (shared.gradients, shared.flat),
            total,
        )
        return total, others

    return add


def test_any_order_and_any_parts_give_the_same_bits(sums: Any) -> None:
    total, others = sums(list(range(9)))
    assert others[2] > 9 and np.abs(total).max() > 0
    assert np.array_equal(total, np.rint(total / GRID) * GRID)
    backwards, others_backwards = sums(list(range(9))[::-1])
    assert np.array_equal(backwards, total) and others_backwards == others
    (first, of_first), (second, of_second) = sums([0, 2, 4, 6, 8]), sums([1, 3, 5, 7])
    assert np.array_equal(first + second, total)
    assert tuple(a + b for a, b in zip(of_first, of_second, strict=True)) == others


def test_no_windows_add_nothing(sums: Any) -> None:
    total, others = sums([])
    assert not total.any() and others == (0.0, 0.0, 0)
