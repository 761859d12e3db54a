"""What starts workers; with faults in test_launching_faults.py."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from models.scheduling.learning.training import EpochReport, TrainedPolicy
from models.scheduling.options import WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.launching import (
    OnWorkers,
    command_of,
    forget,
    read_progress,
    run_here,
    stop,
    task_folder_of,
    train_on_workers,
)
from models.scheduling.workers.task_folder import CHECKPOINT, PROGRESS, read_task
from tests.models.scheduling.workers.processes import QUICK, processes_of, same


@pytest.mark.launchers
def test_four_workers_of_torchrun_learn_what_one_learns(task: WorkerTask, alone: TrainedPolicy, tmp_path: Path) -> None:
    reports: list[EpochReport] = []
    task = replace(task, workers=WorkerOptions(workers=4))
    assert same(train_on_workers(tmp_path, task, reports.append), alone)
    assert reports == alone.curve and processes_of(tmp_path) == {}


def train_at_once(command: Sequence[str], folder: Path, each_time: Callable[[], None]) -> None:
    """In place of processes: what a lone worker leaves in the folder."""
    with (folder / PROGRESS).open("w") as file:
        lone = train_by_ddppo(LoneWorker(), read_task(folder), checkpoint=folder / CHECKPOINT)
        for report in lone.curve:
            file.write(f"{report.__dict__}\n".replace("'", '"').replace("None", "null"))
            file.flush()
            each_time()
        file.write('{"epoch": 4, ')  # half of a line


def test_epochs_are_reported_once_as_they_end(task: WorkerTask, alone: TrainedPolicy, tmp_path: Path) -> None:
    reports: list[EpochReport] = []
    assert same(train_on_workers(tmp_path, task, reports.append, run_command=train_at_once), alone)
    assert reports == read_progress(tmp_path) == alone.curve


def test_workers_that_end_without_a_policy(task: WorkerTask, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended without a policy"):
        train_on_workers(tmp_path, task, run_command=lambda *arguments: None)


def test_commands(tmp_path: Path) -> None:
    three, worker = WorkerOptions(workers=3, restarts=1), ["-m", "pipelines.worker", str(tmp_path)]
    here = command_of(tmp_path, three)
    assert here[:4] == [sys.executable, "-m", "torch.distributed.run", "--standalone"] and here[-3:] == worker
    assert "--nproc-per-node=3" in here and "--max-restarts=1" in here
    many = "srun torchrun --nnodes 4 --rdzv-id 'a b'"
    assert command_of(tmp_path, three, many) == shlex.split(many) + worker
    assert command_of(tmp_path, three.model_copy(update={"launcher": "ray"})) == [sys.executable, *worker]


def test_a_command_that_fails_says_what_a_worker_said_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    times: list[int] = []
    run_here(
        ["bash", "-c", "sleep 0.3; test $OMP_NUM_THREADS$OF = 1it"], tmp_path, lambda: times.append(1), {"OF": "it"}
    )
    assert times
    talk = "echo 'x worker 1: gone; all' >&2; echo more; exit 7"
    with pytest.raises(RuntimeError, match=r"\(worker 1: gone\).*the same command goes on"):
        run_here(["bash", "-c", talk], tmp_path, lambda: None)
    with pytest.raises(RuntimeError, match="false ended with 1"):
        run_here(["false"], tmp_path, lambda: None)


def test_a_child_that_does_not_listen_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.scheduling.workers.launching.STOP_S", 0.2)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"1\n"
    stop(child)
    assert child.returncode == -signal.SIGKILL


def test_a_training_of_the_pipeline(task: WorkerTask, alone: TrainedPolicy, tmp_path: Path) -> None:
    learn, checkpoint = OnWorkers(WorkerOptions(), run_command=train_at_once), tmp_path / "policy"
    assert same(learn(task.arena, task.lessons, task.options, task.seed, checkpoint=checkpoint), alone)
    assert (task_folder_of(checkpoint) / CHECKPOINT).exists()
    forget(checkpoint)
    assert os.listdir(tmp_path) == []  # noqa: PTH208
    assert same(learn(task.arena, task.lessons, task.options, task.seed), alone)
    idle = replace(learn, workers=WorkerOptions(workers=9))
    with pytest.raises(ValueError, match="9 workers share 6 families"):
        idle(task.arena, task.lessons, QUICK, 5)
