"""A worker alone in its folder; several in test_launching*.py."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from models.scheduling.learning.training import EpochReport, TrainedPolicy
from models.scheduling.workers import worker
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.groups import WorkersLost
from models.scheduling.workers.launching import read_progress, result_of
from models.scheduling.workers.task_folder import CHECKPOINT, FAILURE, HEARTBEAT, write_task
from models.scheduling.workers.worker import die_with_run, note_failure, raise_failure, work
from tests.models.scheduling.workers.processes import QUICK, same


@pytest.fixture(autouse=True)
def _the_only_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", os.environ.get("GLOO_SOCKET_IFNAME", "lo"))


def test_a_worker_leaves_policy_and_progress_in_the_folder(
    task: WorkerTask, alone: TrainedPolicy, tmp_path: Path
) -> None:
    write_task(tmp_path, task)
    reports: list[EpochReport] = []
    work(tmp_path, reports.append)
    assert same(result_of(tmp_path, task), alone)
    assert reports == read_progress(tmp_path) == alone.curve


@pytest.mark.parametrize("kind", [ValueError, OSError])
def test_what_no_restart_mends_is_noted(kind: type[Exception], task: WorkerTask, tmp_path: Path) -> None:
    if kind is ValueError:
        task = replace(task, options=QUICK.model_copy(update={"policy_rate": 1e38, "kl_limit": 1e300}))
    write_task(tmp_path, task)
    if kind is OSError:
        (tmp_path / CHECKPOINT).mkdir()
    work(tmp_path)
    with pytest.raises(kind, match="lower policy_rate" if kind is ValueError else CHECKPOINT):
        raise_failure(tmp_path)
    work(tmp_path)  # does nothing more
    assert not read_progress(tmp_path)


def test_a_lost_worker_ends_the_others_unless_it_said_why(
    task: WorkerTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tmp_path, task)

    def lose(*arguments: object) -> None:
        raise WorkersLost("worker 0: gone")

    monkeypatch.setattr(worker, "train_by_ddppo", lose)
    with pytest.raises(WorkersLost, match="gone"):
        work(tmp_path)
    assert capsys.readouterr().err == "worker 0: gone; all workers start again from the last epoch\n"
    monkeypatch.setattr(worker, "train_by_ddppo", lambda *_: note_failure(tmp_path, ValueError("x")) or lose())
    work(tmp_path)


def test_errors_that_name_no_file_name_the_folder(tmp_path: Path) -> None:
    raise_failure(tmp_path)  # nothing is noted
    note_failure(tmp_path, OSError(28, "No space left on device"))
    with pytest.raises(OSError, match=rf"{tmp_path}: \[Errno 28\] No space left"):
        raise_failure(tmp_path)
    assert json.loads((tmp_path / FAILURE).read_text())["kind"] == "OSError"
    (tmp_path / FAILURE).write_text("")  # as a full disk leaves it
    with pytest.raises(OSError, match="make room"):
        raise_failure(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is of Linux")
def test_a_process_dies_with_its_parent() -> None:
    child = "from models.scheduling.workers.worker import die_with_parent as d; d(); print('on', flush=True); input()"
    parent = (
        f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {child!r}], stdin=subprocess.PIPE); "
        "print(p.pid, flush=True); p.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert process.stdout.readline() == "on\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 5
        while _runs(pid):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("how", ["silent", "another", "gone"])
def test_a_worker_dies_with_the_run_of_another_machine(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    monkeypatch.setattr(os, "_exit", lambda code: ended.set())
    monkeypatch.setattr(worker, "HEARTBEAT_POLL_S", 0.01)
    monkeypatch.setattr(worker, "HEARTBEAT_LIMIT_S", 2.0)
    file = tmp_path / HEARTBEAT
    file.write_text("")
    die_with_run(tmp_path, "mine")
    for beat in range(5):
        file.write_text("" if beat in (0, 3) else f"mine {beat}")  # empty: it is just being written
        assert not ended.wait(0.1)
    if how == "another":
        file.write_text("theirs 0")
    if how == "gone":
        file.unlink()
    assert ended.wait(30)
    assert file.exists() == (how == "another")
