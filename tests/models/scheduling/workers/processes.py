"""Processes of a training: those whose command names its folder.

A small training, and what makes two of them the same.

Workers that are threads of one process: what they compute is what processes compute, and no time goes into starting them.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from models.scheduling.learning.evolution import flatten
from models.scheduling.learning.training import TrainedPolicy
from models.scheduling.options import PPOOptions
from models.scheduling.workers.worker_learner import WorkerLearner


def processes_of(folder: Path) -> dict[int, int | None]:
    """Process number -> number of the worker, None for torchrun."""
    processes: dict[int, int | None] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:  # it has just ended
            continue
        if str(folder).encode() in command:
            ranks = [line[5:] for line in environment.split(b"\0") if line.startswith(b"RANK=")]
            processes[int(entry.name)] = int(ranks[0]) if ranks else None
    return processes


def send(folder: Path, rank: int | None, number: signal.Signals) -> None:
    """Sends a signal to a worker, or to torchrun (None)."""
    (process,) = (pid for pid, of_worker in processes_of(folder).items() if of_worker == rank)
    os.kill(process, number)


def wait_until(holds: Callable[[], bool], within_s: float) -> None:
    """Fails where it does not hold in time."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# --- quick


QUICK = PPOOptions(epochs=3, filtered_epochs=1, trajectories=24, minibatch=0)


def same(ours: TrainedPolicy, theirs: TrainedPolicy) -> bool:
    """Whether weights and curves are the same bits."""
    return ours.curve == theirs.curve and np.array_equal(flatten(ours.weights), flatten(theirs.weights))


# --- threads


class ThreadWorkers:
    """One of several threads; see models.scheduling.workers.groups.Workers."""

    def __init__(
        self, rank: int, size: int, barrier: threading.Barrier, slots: list[Any], counts: dict[str, int]
    ) -> None:
        self.rank, self.size = rank, size
        self._barrier, self._slots, self._counts = barrier, slots, counts

    def _exchange(self, value: Any) -> list[Any]:
        self._slots[self.rank] = value
        self._barrier.wait()
        values = list(self._slots)
        self._barrier.wait()
        return values

    def add(self, values: Any) -> Any:
        return np.sum(self._exchange(values), axis=0)

    def share(self, value: Any) -> Any:
        return deepcopy(self._exchange(value)[0])

    def finish(self, iteration: str) -> None:
        self._counts[iteration] = self._counts.get(iteration, 0) + 1

    def finished(self, iteration: str) -> int:
        return self._counts.get(iteration, 0)


_ONE_AT_A_TIME = threading.Lock()
_BEGIN = WorkerLearner.__init__


def _begin_alone(learner: WorkerLearner, *arguments: Any) -> None:
    """Threads share torch's random numbers, and processes do not."""
    with _ONE_AT_A_TIME:
        _BEGIN(learner, *arguments)


def on_threads(size: int, work: Callable[[ThreadWorkers], Any]) -> list[Any]:
    """What each of so many workers returns. Raises what the first of them raised."""
    barrier, slots, counts = threading.Barrier(size, timeout=60), [None] * size, {}

    def guarded(rank: int) -> Any:
        try:
            return work(ThreadWorkers(rank, size, barrier, slots, counts))
        except BaseException:
            barrier.abort()
            raise

    with patch.object(WorkerLearner, "__init__", _begin_alone), ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(guarded, rank) for rank in range(size)]
        errors = [error for error in (future.exception() for future in futures) if error is not None]
        for error in errors:
            if not isinstance(error, threading.BrokenBarrierError):
                raise error
        return [future.result() for future in futures]
