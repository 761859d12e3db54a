"""Workers add up and count, and notice when another one is lost; with real processes in test_launching*.py."""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
from typing import Any

import numpy as np
import pytest

from models.scheduling.workers.groups import LoneWorker, WorkersLost, connected_workers
from tests.models.scheduling.workers.threads import on_threads


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
