"""Tests of models/scheduling/workers: rollouts, groups, worker_learner."""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.evolution import flatten
from models.scheduling.learning.kernel_pass import ClippedLoss, recorded_choices
from models.scheduling.options import WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker, WorkersLost, connected_workers
from models.scheduling.workers.rollouts import EPOCHS_AHEAD, Beginnings, is_to_stop, roll_out, share_of
from models.scheduling.workers.worker_learner import GRID, Lesson, WorkerLearner, add_window_gradients, rounded
from simulator.agents.trajectories import Trajectories
from simulator.policies.network import KernelWeights
from tests.models.scheduling.workers.processes import QUICK, on_threads, same

# beginnings: Windows begin with the backlogs of one replay, in every epoch or in many at once.


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


# groups: Workers add up and count, and notice when another one is lost; with real processes in test_launching*.py.


def test_one_worker_alone() -> None:
    worker = LoneWorker()
    values = np.array([1.0, 2.0])
    assert np.array_equal(worker.add(values), values) and worker.share("it") == "it"
    assert worker.finished("1") == 0
    worker.finish("1")
    assert (worker.finished("1"), worker.finished("2")) == (1, 0)


def test_threads_keep_the_same_promises() -> None:
    def meet(workers: Any) -> tuple[float, str, int]:
        total = workers.add(np.array([2.0**workers.rank]))[0]
        shared = workers.share(f"of {workers.rank}")
        workers.finish("1")
        workers.add(np.zeros(1))
        return total, shared, workers.finished("1")

    assert on_threads(3, meet) == [(7.0, "of 0", 3)] * 3


def _meet(rank: int, port: int, answers: Any) -> None:
    """Worker 1 ends without a word after the first sums."""
    os.environ.update(
        RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="localhost", MASTER_PORT=str(port)
    )
    with connected_workers(20.0) as workers:
        total = workers.add(np.array([0.1, 1e300]) * (rank + 1))
        shared = workers.share(f"of {rank}")
        workers.finish("a")
        workers.add(np.zeros(1))
        answers.put((workers.rank, workers.size, total.tolist(), shared, workers.finished("a"), workers.finished("b")))
        workers.add(np.zeros(1))
        if rank == 1:
            os._exit(1)
        began = time.monotonic()
        try:
            workers.add(np.zeros(1))
        except WorkersLost as error:
            answers.put((str(error), time.monotonic() - began < 10))


def test_processes_add_share_count_and_notice_a_loss() -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    processes = [context.Process(target=_meet, args=(rank, port, answers)) for rank in (0, 1)]
    for process in processes:
        process.start()
    said = [answers.get() for _ in range(3)]
    for process in processes:
        process.join(20)
    sums = np.array([0.1, 1e300]) + np.array([0.2, 2e300])
    assert sorted(said[:2]) == [(rank, 2, sums.tolist(), "of 0", 2, 0) for rank in (0, 1)]
    assert said[2] == ("worker 0: another worker has ended, or has not answered for 20 s", True)


def test_workers_that_nobody_has_connected_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(WorkersLost, match="worker 1: the others do not answer"), connected_workers(0.5):
        pass


# rollouts: Windows are dealt to workers, and one that is late leaves the rest of its own.


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


# window_gradients: Derivatives window by window add up to those of one pass, in any order to the same bits.


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


# worker_learner: Learners of several workers take the same steps; against one learner in test_decentralised_ppo.py.

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
