"""Processes of a training: those whose command names its folder."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


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
