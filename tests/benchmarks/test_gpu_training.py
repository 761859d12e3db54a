"""What is timed on a GPU is the same training: torch's derivatives are those of compiled code."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import gpu_training
from benchmarks.gpu_training import RecordedTensors, TorchLearner, epoch_costs
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.kernel_pass import ClippedLoss, recorded_choices
from models.scheduling.learning.training import Lessons
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.task_folder import write_task
from models.scheduling.workers.window_gradients import add_window_gradients
from models.scheduling.workers.worker_learner import WorkerLearner
from simulator.jobs.jobs import jobs_from_log
from tests.models.scheduling.workers.quick import QUICK
from traces.synthetic.workload import WorkloadOptions, generate_workload


@pytest.fixture(scope="module")
def task() -> WorkerTask:
    first = np.arange(0, 400, 7)
    lessons = Lessons(Windows(first, 48), Windows(first[:0], 48), Windows(np.array([450, 500]), 48))
    rows = generate_workload(WorkloadOptions(jobs=600, procs=32, seed=3, offered_load=1.0))
    names = ("submit_s", "runtime_s", "procs", "requested_walltime_s")
    jobs = jobs_from_log(*(rows[name].to_numpy() for name in names))
    return WorkerTask(Arena(jobs, 32, parse_goal("bsld"), threads=1), lessons, QUICK, 5)


def test_derivatives_are_those_of_compiled_code(task: WorkerTask, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, windows = ClippedLoss(0.2, 0.01), np.arange(9)
    learner = WorkerLearner(LoneWorker(), task.arena, task.options, 3, None)
    trajectories = task.arena.sample(learner.weights(), task.lessons.windows.taken(windows), 4)
    for parameter in learner.network.parameters():  # so that some ratios are clipped
        parameter.data *= 1.3
    advantage = np.random.default_rng(2).normal(size=trajectories.decisions).astype(np.float32)
    shared = learner._gradients
    total = np.zeros(len(shared.flat))
    divergence, spread, _ = add_window_gradients(
        recorded_choices(trajectories), trajectories.first_decision, windows, advantage, loss, shared.weights,
        (shared.gradients, shared.flat), total,
    )  # fmt: skip
    monkeypatch.setattr(gpu_training, "MOST_DECISIONS", 50)  # several passes
    twin = type(learner.network)(len(learner.layout.inputs))
    twin.load_state_dict(learner.network.state_dict())
    everyone = np.arange(trajectories.decisions)
    flat, moved, entropy = RecordedTensors(trajectories, "cpu").derivatives(twin, everyone, advantage, loss)
    assert divergence > 0 and np.abs(flat - total).max() < 1e-5 * np.abs(total).max()
    assert (moved, entropy) == pytest.approx((divergence, spread), rel=1e-4)


def test_epochs_by_torch_are_those_of_the_training(task: WorkerTask) -> None:
    ours, theirs = (epoch_costs(task, learner) for learner in (WorkerLearner, TorchLearner))
    assert ours.decisions == pytest.approx(theirs.decisions, rel=0.2)
    assert all(0 < costs.steps_s < costs.epoch_s and costs.steps >= 1 for costs in (ours, theirs))


def test_a_folder_of_workers_is_enough(
    task: WorkerTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tmp_path, task)
    monkeypatch.setattr(sys, "argv", ["gpu_training", str(tmp_path), "--epochs", "2"])
    gpu_training.main()
    said = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in said if line.startswith(("compiled", "torch"))][:2] == ["compiled", "torch"]


@pytest.mark.parametrize("asked", [("--epochs", "1"), ("--trajectories", "10")])
def test_epochs_that_cannot_be_timed_are_refused(
    asked: tuple[str, ...],
    task: WorkerTask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_task(tmp_path, task)
    monkeypatch.setattr(sys, "argv", ["gpu_training", str(tmp_path), *asked])
    with pytest.raises(SystemExit):
        gpu_training.main()
    assert "expected at least 2 epochs, and windows in multiples of 4" in capsys.readouterr().err
