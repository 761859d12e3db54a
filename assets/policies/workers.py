"""Workers that an asset starts: processes beside the run, which report to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import dagster as dg

from models.scheduling.workers.launching import run_here


def through_pipes(context: dg.AssetExecutionContext) -> Callable[[Sequence[str], Path, Callable[[], None]], None]:
    """Runs workers' commands, as models.scheduling.workers.launching takes it: Dagster Pipes shows what worker 0 reports in the run.

    They end with the process of the run, however it ends.
    """

    def run_command(command: Sequence[str], folder: Path, each_time: Callable[[], None]) -> None:
        injector, reader = dg.PipesTempFileContextInjector(), dg.PipesTempFileMessageReader()
        with dg.open_pipes_session(context, injector, reader) as session:
            run_here(command, folder, each_time, session.get_bootstrap_env_vars())

    return run_command
