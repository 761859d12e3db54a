"""What each worker process does: it reads the task from its folder, connects to the others, and trains."""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from models.scheduling.learning.training import EpochReport
from models.scheduling.workers.decentralised_ppo import train_by_ddppo
from models.scheduling.workers.groups import WorkersLost, connected_workers
from models.scheduling.workers.population import train_population
from models.scheduling.workers.task_folder import CHECKPOINT, FAILURE, PROGRESS, read_task

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
            if workers.rank == 0:
                (folder / PROGRESS).unlink(missing_ok=True)
            train(workers, task, report_epoch, folder / CHECKPOINT)
    except WorkersLost as error:
        if not (folder / FAILURE).exists():  # another worker ended because it cannot go on
            print(f"{error}; all workers start again from the last epoch", file=sys.stderr)
            raise
    except (ValueError, OSError) as error:
        (folder / FAILURE).write_text(json.dumps({"error": str(error), "kind": type(error).__name__}))


def die_with_parent() -> None:
    """Ends this process when the one that started it ends, however that happens. Linux only; elsewhere it does nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
