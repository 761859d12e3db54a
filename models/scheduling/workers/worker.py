"""What each worker process does: it reads the task from its folder, connects to the others, and trains."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from models.scheduling.learning.training import EpochReport
from models.scheduling.workers.decentralised_ppo import train_by_ddppo
from models.scheduling.workers.groups import WorkersLost, connected_workers
from models.scheduling.workers.population import train_population
from models.scheduling.workers.task_folder import CHECKPOINT, FAILURE, HEARTBEAT, PROGRESS, read_task

HEARTBEAT_LIMIT_S = 60.0
"""How long the heartbeat of a run may stay away: file systems of networks may show it late."""
HEARTBEAT_POLL_S = 1.0
_PARENT_DEATH = 1
"""PR_SET_PDEATHSIG of Linux' prctl(2)."""


def work(folder: Path, on_epoch: Callable[[EpochReport], None] = lambda report: None) -> None:
    """Trains as one of the workers that torchrun, or Ray Train, has started. Worker 0 leaves the checkpoint in the folder.

    on_epoch: called by worker 0 after every epoch, also for those before a restart. What no restart can mend is written into the
    folder, and ends all workers. Raises WorkersLost where another worker is lost, so that all are started again.
    """
    task = read_task(folder)
    train = train_by_ddppo if task.population is None else train_population
    if (folder / FAILURE).exists():
        return

    def report_epoch(report: EpochReport) -> None:
        with (folder / PROGRESS).open("a") as file:
            file.write(json.dumps(asdict(report)) + "\n")
        on_epoch(report)

    try:
        with connected_workers(task.workers.timeout_s) as workers:
            try:
                if workers.rank == 0:
                    (folder / PROGRESS).unlink(missing_ok=True)
                train(workers, task, report_epoch, folder / CHECKPOINT)
            except WorkersLost:
                raise
            except (ValueError, OSError, RuntimeError) as error:  # before the others notice that this worker ends
                note_failure(folder, error)
    except WorkersLost as error:
        if not (folder / FAILURE).exists():  # another worker ended because it cannot go on
            print(f"{error}; all workers start again from the last epoch", file=sys.stderr)
            raise


def note_failure(folder: Path, error: Exception) -> None:
    """Leaves word in the folder of what no restart can mend: an empty file where the disk has no room for a word."""
    kind = next(kind for kind in (OSError, ValueError, RuntimeError) if isinstance(error, kind))
    text = f"{folder}: {error}" if kind is OSError and getattr(error, "filename", None) is None else str(error)
    with suppress(OSError):
        (folder / FAILURE).write_text(json.dumps({"error": text, "kind": kind.__name__}))


def raise_failure(folder: Path) -> None:
    """Raises what `note_failure` has noted, if anything: ValueError, OSError or RuntimeError."""
    try:
        text = (folder / FAILURE).read_text()
    except FileNotFoundError:
        return
    if not text:
        raise OSError(f"{folder}: workers cannot write there, since the disk is full: make room, and train again")
    noted = json.loads(text)
    raise {"OSError": OSError, "ValueError": ValueError, "RuntimeError": RuntimeError}[noted["kind"]](noted["error"])


def die_with_parent() -> None:
    """Ends this process when the one that started it ends, however that happens. Linux only; elsewhere it does nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)


def die_with_run(folder: Path, token: str) -> None:
    """Ends this process when the run of that name, on another machine, ends: its heartbeat stops, or is that of another run."""

    def watch() -> None:
        file, last, since = folder / HEARTBEAT, "", time.monotonic()
        while time.monotonic() - since < HEARTBEAT_LIMIT_S:
            with suppress(OSError):
                text = file.read_text() if file.exists() else "none"
                if text and text.split()[0] != token:
                    break
                if text not in ("", last):  # empty: it is just being written
                    last, since = text, time.monotonic()
            time.sleep(HEARTBEAT_POLL_S)
        else:  # workers that torchrun starts in place of these need not wait so long
            file.unlink(missing_ok=True)
        print("the run that has started the workers has ended, and they end with it", file=sys.stderr, flush=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
