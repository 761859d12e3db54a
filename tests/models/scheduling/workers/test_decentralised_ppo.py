"""Decentralised PPO: however many workers there are, they learn what one would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from models.scheduling.learning.evolution import flatten
from models.scheduling.learning.ppo import Learner, train_by_ppo
from models.scheduling.learning.training import EpochReport
from models.scheduling.options import PAPER_PPO, PPOOptions, WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.rollouts import share_of
from models.scheduling.workers.worker_learner import Lesson, WorkerLearner
from simulator.agents.trajectories import join_trajectories
from tests.models.scheduling.workers.quick import QUICK, same
from tests.models.scheduling.workers.threads import on_threads

CRITIC = QUICK.model_copy(update={"baseline": "critic", "siblings": 1, "reward": "waiting", "horizon_s": 20_000.0})
CRITIC = CRITIC.model_copy(update={"critic_layers": [64, 32, 8]})
"""Sgambati et al. 2025, Table 1."""
PARTS = QUICK.model_copy(update={"minibatch": 400})


@pytest.mark.parametrize("options", [QUICK, CRITIC], ids=["siblings", "critic"])
def test_one_worker_learns_what_ppo_learns(options: PPOOptions, task: WorkerTask) -> None:
    """At the paper's rate. Where a derivative is next to nothing Adam makes a step of rounding errors, and theirs differ."""
    options = options.model_copy(update={"epochs": 1, "passes": 2, "policy_rate": PAPER_PPO.policy_rate})
    alone = train_by_ppo(task.arena, task.lessons, options, task.seed)
    ours = train_by_ddppo(LoneWorker(), replace(task, options=options))
    change, size = flatten(ours.weights) - flatten(alone.weights), flatten(alone.weights)
    assert np.linalg.norm(change) <= 1e-5 * np.linalg.norm(size)
    (report,), (expected,) = ours.curve, alone.curve
    assert (report.phase, report.decisions, report.updates) == (expected.phase, expected.decisions, expected.updates)
    assert report.sampled_cost == pytest.approx(expected.sampled_cost, rel=1e-9)
    assert report.entropy == pytest.approx(expected.entropy, rel=1e-6)
    assert report.validation_cost == pytest.approx(expected.validation_cost, rel=1e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("done", [None, (5, 1, 0, 2)], ids=["all families", "unequal and empty shares"])
def test_the_gradient_of_many_workers_is_that_of_one_pass(
    size: int, done: tuple[int, ...] | None, task: WorkerTask
) -> None:
    """Against kernel_pass.ppo_pass over all decisions at once, as PPO takes it."""
    families = task.lessons.windows.taken(np.arange(0, 40, 5))
    rewards_of_all = np.random.default_rng(1).normal(size=(len(families), 3))
    options = QUICK.model_copy(update={"siblings": 3, "passes": 1, "policy_rate": 1e-9})

    def gradient(workers: Any) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        learner = WorkerLearner(workers, task.arena, options, 3, None)
        learner.load_state(workers.share(learner.to_state()))
        share = share_of(workers.rank, workers.size, families, 3, 9)
        if done is not None:
            share = share.first(done[workers.rank])
        windows = share.drawn.taken(np.repeat(np.arange(len(share.family)), 3))
        parts = [task.arena.sample(learner.weights(), windows, share.seeds.ravel())] if len(windows) else []
        trajectories = join_trajectories(parts, len(learner.layout.inputs), windows.jobs)
        lesson = Lesson(share.family, len(families), trajectories, rewards_of_all[share.family].ravel())
        learner.update_together(lesson, np.random.default_rng(0))
        return share.family, learner._gradients.flat

    of_workers = on_threads(size, gradient)
    family = np.sort(np.concatenate([families_done for families_done, _ in of_workers]))
    learner = Learner(task.arena, options, 3, None)
    learner.load_state(WorkerLearner(LoneWorker(), task.arena, options, 3, None).to_state())
    whole = share_of(0, 1, families, 3, 9)
    windows, seeds = families.taken(np.repeat(family, 3)), whole.seeds[family].ravel()
    learner.update(
        task.arena.sample(learner.weights(), windows, seeds), rewards_of_all[family].ravel(), np.random.default_rng(0)
    )
    expected = learner._gradients.flat
    for _, ours in of_workers:
        assert np.linalg.norm(ours - expected) <= 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("options", [QUICK, CRITIC, PARTS], ids=["siblings", "critic", "minibatches"])
def test_many_workers_learn_what_one_learns(size: int, options: PPOOptions, task: WorkerTask) -> None:
    """Seven workers share six families: one of them has nothing to replay."""
    task = replace(task, options=options)
    alone = train_by_ddppo(LoneWorker(), task)
    together = on_threads(size, lambda workers: train_by_ddppo(workers, task))
    assert all(same(policy, alone) for policy in together)


def test_training_goes_on_from_its_checkpoint_on_other_workers(task: WorkerTask, tmp_path: Path) -> None:
    whole = train_by_ddppo(LoneWorker(), task)
    checkpoint = tmp_path / "checkpoint"

    def interrupted(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_by_ddppo(LoneWorker(), task, interrupted, checkpoint)
    reports: list[EpochReport] = []
    resumed = on_threads(2, lambda workers: train_by_ddppo(workers, task, reports.append, checkpoint))
    assert same(resumed[0], whole)
    assert [report.epoch for report in reports] == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"half a checkpo", "not a checkpoint that training can continue from"), (None, "other jobs, options or seed")],
    ids=["half written", "of other options"],
)
def test_another_checkpoint_is_refused(content: bytes | None, said: str, task: WorkerTask, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    if content is None:
        train_by_ddppo(LoneWorker(), replace(task, seed=6), checkpoint=checkpoint)
    else:
        checkpoint.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        train_by_ddppo(LoneWorker(), task, checkpoint=checkpoint)


def test_a_preempted_training_is_repeated_exactly(task: WorkerTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that finish in an order that hangs on the machine leave windows out; their log says which."""
    options = QUICK.model_copy(update={"trajectories": 128, "epochs": 2})
    task = replace(task, options=options, workers=WorkerOptions(workers=4, sync_fraction=0.6))
    late = {"rank": 3, "asked": 0}

    def work(workers: Any) -> Any:
        if workers.rank == late["rank"]:  # it begins when all others have finished
            finished = workers.finished

            def slow(iteration: str) -> int:
                while finished(iteration) < 3:
                    pass
                return finished(iteration)

            workers.finished = slow
        else:
            workers.finished = lambda iteration: 0
        return train_by_ddppo(workers, task)

    preempted = on_threads(4, work)[0]
    done = preempted.parameters["families_done"]
    assert {epoch: of_workers[:3] for epoch, of_workers in done.items()} == {"1": [8, 8, 8], "2": [8, 8, 8]}
    assert all(of_workers[3] == 2 for of_workers in done.values())  # a quarter of its eight families
    repeated = replace(
        task,
        workers=WorkerOptions(workers=4),
        repeated=done,
    )
    again = on_threads(4, lambda workers: train_by_ddppo(workers, repeated))[0]
    assert same(again, preempted)
    assert again.parameters["families_done"] == done


def test_training_that_diverges_says_so_at_all_workers(task: WorkerTask) -> None:
    wild = replace(task, options=QUICK.model_copy(update={"policy_rate": 1e38, "kl_limit": 1e300}))
    with pytest.raises(ValueError, match="lower policy_rate"):
        on_threads(2, lambda workers: train_by_ddppo(workers, wild))


def test_backlogs_of_another_policy_do_not_hang_on_the_workers(task: WorkerTask) -> None:
    """Those of windows that choose, too: on an empty cluster the same start costs something else."""
    task = replace(task, workers=WorkerOptions(backlog_policy="SAF"), options=QUICK.model_copy(update={"epochs": 18}))
    alone = train_by_ddppo(LoneWorker(), task)
    together = on_threads(3, lambda workers: train_by_ddppo(workers, task))[0]
    assert same(together, alone)
    empty = train_by_ddppo(LoneWorker(), replace(task, workers=WorkerOptions()))
    assert not same(alone, empty) and alone.curve[0].validation_cost != empty.curve[0].validation_cost
