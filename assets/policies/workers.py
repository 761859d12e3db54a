"""Workers that an asset starts: a process beside the run, which reports to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import dagster as dg

WORKER_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
"""What workers of one machine get unless something else is set: one thread each, and no detour over a network."""


def through_pipes(context: dg.AssetExecutionContext) -> Callable[[Sequence[str], Path, Callable[[], None]], None]:
    """Runs workers' commands, as models.scheduling.workers.launching takes it: Dagster Pipes shows what worker 0 reports in the run."""

    def run_command(command: Sequence[str], folder: Path, each_time: Callable[[], None]) -> None:
        dg.PipesSubprocessClient().run(context=context, command=list(command), env=WORKER_ENVIRONMENT | os.environ)

    return run_command
