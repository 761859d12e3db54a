"""Windows begin with the backlogs of one replay, in every epoch or in many at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.workers.beginnings import EPOCHS_AHEAD, Beginnings
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.worker_learner import WorkerLearner
from simulator.policies.network import KernelWeights


@pytest.fixture(scope="module")
def weights(task: WorkerTask) -> KernelWeights:
    return WorkerLearner(LoneWorker(), task.arena, task.options, 3, None).weights()


def drawn(task: WorkerTask, epoch: int) -> Windows:
    return task.lessons.windows.some(np.random.default_rng(epoch), 4)


def same_states(ours: Windows, theirs: Windows) -> bool:
    assert ours.backlogs is not None and theirs.backlogs is not None
    return np.array_equal(ours.first, theirs.first) and str(ours.backlogs) == str(theirs.backlogs)


def test_one_replay_of_another_policy_lasts_for_many_epochs(
    task: WorkerTask, weights: KernelWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    replays = []
    keep = Arena.with_backlogs
    monkeypatch.setattr(Arena, "with_backlogs", lambda *arguments: replays.append(1) or keep(*arguments))
    beginnings = Beginnings(task.arena, task.lessons, "SAF", lambda epoch: drawn(task, epoch))
    for epoch in range(1, EPOCHS_AHEAD + 2):
        own = drawn(task, epoch)
        begun = beginnings.of(epoch, own, weights)
        assert same_states(begun, keep(task.arena, "SAF", own, 20))
    assert len(replays) == 2


def test_backlogs_of_the_learning_policy_are_its_own(task: WorkerTask, weights: KernelWeights) -> None:
    own = drawn(task, 1)
    begun = Beginnings(task.arena, task.lessons, None, lambda epoch: drawn(task, epoch)).of(1, own, weights)
    assert same_states(begun, task.lessons.begun(task.arena, own, weights))
    empty = Beginnings(task.arena, replace(task.lessons, after=None), "SAF", lambda epoch: drawn(task, epoch))
    assert empty.of(1, own, weights).backlogs is None


def test_workers_share_the_windows_that_choose(task: WorkerTask, weights: KernelWeights) -> None:
    class Second(LoneWorker):
        rank, size = 1, 2

    def of(workers: LoneWorker, lessons: object, policy: str | None = "SAF") -> Windows:
        beginnings = Beginnings(task.arena, lessons, policy, lambda epoch: drawn(task, epoch))  # type: ignore[arg-type]
        return beginnings.of_validation(workers, weights)

    assert list(of(Second(), task.lessons).first) == [500]
    assert of(Second(), task.lessons).backlogs is not None and of(Second(), task.lessons, None).backlogs is None
    continuous = replace(task.lessons, validation=Windows.blocks(400, 500, 2))
    assert len(of(Second(), continuous)) == 0 and len(of(LoneWorker(), continuous)) == 2
