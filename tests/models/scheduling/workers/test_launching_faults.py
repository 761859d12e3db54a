"""Workers, torchrun and the process that trains are killed, stopped and interrupted: nothing is left, and nothing is lost."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from models.scheduling.learning.training import EpochReport, TrainedPolicy
from models.scheduling.options import WorkerOptions
from models.scheduling.workers.decentralised_ppo import WorkerTask, train_by_ddppo
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.launching import read_progress, run_here, train_on_workers
from models.scheduling.workers.task_folder import CHECKPOINT
from tests.models.scheduling.workers.processes import QUICK, processes_of, same, send, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")


@pytest.fixture(scope="module")
def long_task(task: WorkerTask) -> WorkerTask:
    """Epochs enough for three faults, each long enough for a fault in its middle."""
    return replace(task, options=QUICK.model_copy(update={"epochs": 24, "trajectories": 120}))


@pytest.fixture(scope="module")
def undisturbed(long_task: WorkerTask) -> TrainedPolicy:
    return train_by_ddppo(LoneWorker(), long_task)


def test_lost_workers_start_again(long_task: WorkerTask, undisturbed: TrainedPolicy, tmp_path: Path) -> None:
    task = replace(long_task, workers=WorkerOptions(workers=2, restarts=2))
    victims = [1, 0]
    epochs: list[int] = []

    def kill_one(report: EpochReport) -> None:
        epochs.append(report.epoch)
        if victims and report.epoch in (3, 9):
            send(tmp_path, victims.pop(0), signal.SIGKILL)

    assert same(train_on_workers(tmp_path, task, kill_one), undisturbed)
    assert not victims and epochs == list(range(1, 25))
    assert processes_of(tmp_path) == {}


def test_no_process_is_left_and_no_epoch_is_lost(
    long_task: WorkerTask, undisturbed: TrainedPolicy, tmp_path: Path
) -> None:
    task = replace(long_task, workers=WorkerOptions(workers=2, restarts=0, timeout_s=3))

    def reported() -> int:
        return len(read_progress(tmp_path))

    def resume_in_the_end() -> None:
        """Once torchrun asks the suspended worker to end, so that it never goes on: torchrun would wait 30 s and then kill it."""
        (suspended,) = (pid for pid, of_worker in processes_of(tmp_path).items() if of_worker == 1)
        wait_until(lambda: is_asked_to_end(suspended), 60)
        os.kill(suspended, signal.SIGCONT)

    def train_until(epoch: int, rank: int | None, number: signal.Signals) -> str:
        def disturb(report: EpochReport) -> None:
            if report.epoch == epoch:
                send(tmp_path, rank, number)
                if number == signal.SIGSTOP:
                    threading.Thread(target=resume_in_the_end).start()

        with pytest.raises(RuntimeError) as raised:
            train_on_workers(tmp_path, task, disturb)
        return str(raised.value)

    began = time.monotonic()
    said = train_until(2, 1, signal.SIGSTOP)
    assert time.monotonic() - began < 40
    assert "worker 0: another worker has ended, or has not answered for 3 s)" in said and "\n" not in said
    assert processes_of(tmp_path) == {}

    said = train_until(reported() + 2, None, signal.SIGKILL)
    assert "ended with -9" in said and "the same command goes on" in said
    wait_until(lambda: processes_of(tmp_path) == {}, 5)

    for number in (signal.SIGINT, signal.SIGKILL):  # of the process that trains
        before = reported()
        trainer = multiprocessing.get_context("fork").Process(target=train_on_workers, args=(tmp_path, task))
        trainer.start()
        wait_until(lambda before=before: reported() > before, 60)
        assert trainer.pid is not None and sorted(processes_of(tmp_path).values(), key=str) == [0, 1, None]
        os.kill(trainer.pid, number)
        trainer.join(20)
        assert trainer.exitcode not in (0, None)
        wait_until(lambda: processes_of(tmp_path) == {}, 5)

    assert 4 < reported() < 24
    assert same(train_by_ddppo(LoneWorker(), long_task, checkpoint=tmp_path / CHECKPOINT), undisturbed)


def is_asked_to_end(process: int) -> bool:
    """Whether SIGTERM waits for a suspended process."""
    status = (Path("/proc") / str(process) / "status").read_text()
    waiting = int(status.partition("ShdPnd:")[2].split()[0], 16)
    return bool(waiting >> (signal.SIGTERM - 1) & 1)


def test_a_full_disk_ends_all_workers(task: WorkerTask, tmp_path: Path) -> None:
    """Files that may not grow behave as a full disk does, and need no privileges."""
    starts = []

    def run_limited(command: object, folder: Path, each_time: object) -> None:
        starts.append(command)
        run_here(["bash", "-c", 'ulimit -f 8; exec "$0" "$@"', *command], folder, each_time)  # type: ignore[misc, arg-type]

    task = replace(task, workers=WorkerOptions(workers=2))
    with pytest.raises(OSError, match=f"{tmp_path / CHECKPOINT}"):
        train_on_workers(tmp_path, task, run_command=run_limited)
    assert "start again" not in (tmp_path / "workers.log").read_text()


def test_a_checkpoint_that_cannot_be_used_is_refused_at_once(task: WorkerTask, tmp_path: Path) -> None:
    def never(*arguments: object) -> None:
        raise AssertionError("workers were started")

    train_by_ddppo(LoneWorker(), replace(task, seed=6), checkpoint=tmp_path / CHECKPOINT)
    for said in ("other jobs, options or seed: remove it", "not a checkpoint that training can continue from"):
        with pytest.raises(ValueError, match=said) as raised:
            train_on_workers(tmp_path, task, run_command=never)
        assert str(raised.value).startswith(str(tmp_path / CHECKPOINT))
        content = (tmp_path / CHECKPOINT).read_bytes()
        (tmp_path / CHECKPOINT).write_bytes(content[: len(content) // 2])
    shutil.rmtree(tmp_path)
