"""Assets that start workers, with one worker in this process instead: tests/models/scheduling/workers starts real ones."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.worker import work


def one_worker_here(patch: pytest.MonkeyPatch) -> None:
    def here(command: Any, folder: Path, each_time: Any) -> None:
        work(folder)

    patch.setattr("models.scheduling.workers.worker.connected_workers", lambda timeout: nullcontext(LoneWorker()))
    patch.setattr("assets.policies.workers.through_pipes", lambda context: here)
