"""Windows are dealt to workers, and one that is late leaves the rest of its own."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.options import WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.rollouts import is_to_stop, roll_out, share_of
from models.scheduling.workers.worker_learner import WorkerLearner
from simulator.agents.trajectories import Trajectories
from tests.models.scheduling.workers.quick import QUICK, same
from tests.models.scheduling.workers.threads import on_threads


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_shares_are_the_whole_whoever_replays_them(size: int, task: WorkerTask) -> None:
    drawn = task.lessons.windows.taken(np.arange(5))
    whole = share_of(0, 1, drawn, 3, 9)
    assert len(np.unique(whole.seeds)) == 15
    shares = [share_of(rank, size, drawn, 3, 9) for rank in range(size)]
    family = np.concatenate([share.family for share in shares])
    assert sorted(family) == list(range(5))
    for name in ("seeds", "first"):
        parts = [share.seeds if name == "seeds" else share.drawn.first for share in shares]
        wanted = whole.seeds if name == "seeds" else drawn.first
        assert np.array_equal(np.concatenate(parts), wanted[family])
    assert list(shares[0].first(1).family) == [0] and len(shares[0].first(1).drawn) == 1


def test_the_rule_by_which_a_worker_stops() -> None:
    class Ten(LoneWorker):
        size = 10

        def finished(self, iteration: str) -> int:
            return 7 if iteration == "late" else 6

    assert is_to_stop(Ten(), "late", 0.25, 0.6)
    assert not is_to_stop(Ten(), "late", 0.24, 0.6)  # too little done
    assert not is_to_stop(Ten(), "early", 0.9, 0.6)  # as many as the share, and no more


@pytest.mark.parametrize(("done", "reached"), [(None, 5), (2, 2), (0, 0), (9, 5)])
def test_a_rollout_ends_where_an_earlier_one_did(done: int | None, reached: int, task: WorkerTask) -> None:
    learner = WorkerLearner(LoneWorker(), task.arena, task.options, 3, None)
    weights, inputs = learner.weights(), len(learner.layout.inputs)
    share = share_of(0, 1, task.lessons.windows.taken(np.arange(5)), 2, 9)

    def replay(windows: Windows, seeds: Any) -> Trajectories:
        return task.arena.sample(weights, windows, seeds)

    ours, trajectories = roll_out(LoneWorker(), "1", share, replay, 1.0, done, inputs)
    assert list(ours.family) == list(range(reached)) and len(trajectories.start) == 2 * reached
    if reached:
        chunks, _ = roll_out(LoneWorker(), "1", share.first(reached), replay, 0.5, None, inputs)
        expected = replay(share.drawn.taken(np.repeat(np.arange(reached), 2)), share.seeds[:reached].ravel())
        assert np.array_equal(trajectories.start, expected.start) and list(chunks.family) == list(range(reached))


def test_a_slow_worker_is_preempted_and_repeated(task: WorkerTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of four takes four times as long for each window."""
    own, sample = threading.local(), Arena.sample

    def slow_sample(self: Arena, weights: Any, windows: Windows, *rest: Any) -> Trajectories:
        time.sleep(getattr(own, "delay_s", 0.0))
        return sample(self, weights, windows, *rest)

    monkeypatch.setattr(Arena, "sample", slow_sample)
    options = QUICK.model_copy(update={"trajectories": 128})
    task = replace(task, options=options, workers=WorkerOptions(workers=4, sync_fraction=0.6))

    def work(workers: Any) -> Any:
        own.delay_s = 0.08 if workers.rank == 2 else 0.02
        return train_by_ddppo(workers, task)

    preempted = on_threads(4, work)[0]
    done = preempted.parameters["families_done"]
    assert set(done) == {"1", "2", "3"}  # every epoch
    assert all(2 <= of_workers[2] < 8 for of_workers in done.values())
    repeated = replace(task, workers=WorkerOptions(workers=4), repeated=done)
    assert same(on_threads(4, lambda workers: train_by_ddppo(workers, repeated))[0], preempted)
