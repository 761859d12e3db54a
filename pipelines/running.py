"""Running jobs from the command line: the same jobs and records as the UI's, with one line a step."""

import logging
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import click
import dagster as dg

from pipelines.automation import register_sources
from traces.catalogue import PROJECT, home

PROCESS_TAG = "tracehouse/process"


def dagster_instance() -> dg.DagsterInstance:
    """The Dagster instance of `home()`; writes its settings there on first use."""
    settings = home() / "dagster.yaml"
    if not settings.exists():
        home().mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / "dagster.yaml", settings)
    os.environ["DAGSTER_HOME"] = str(home())
    return dg.DagsterInstance.get()


def run_job(job: str, sources: list[str], run_config: dict[str, Any] | None = None) -> None:
    """Runs a job for each source in turn. Raises what the failing step raised, or click.ClickException for a failed check."""
    from pipelines.definitions import defs

    with dagster_instance() as instance:
        register_sources(instance, sources)
        close_dead_runs(instance)
        for source in sources:
            click.secho(f"{source}: {job}", bold=True, err=True)
            config = dict(run_config or {})
            config["loggers"] = {"steps": {"config": {}}}
            result = defs.resolve_job_def(job).execute_in_process(
                run_config=config,
                instance=instance,
                partition_key=source,
                tags={PROCESS_TAG: _this_process()},
                raise_on_error=True,
            )
            if not result.success:
                raise click.ClickException(f"{source}: run {result.run_id} failed; `make ui` shows why")


def close_dead_runs(instance: dg.DagsterInstance) -> int:
    """Marks runs whose process is gone (killed, say) as failed and gives back their places in the pool; returns how many."""
    unfinished = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.NOT_STARTED]
    dead = 0
    for run in instance.get_runs(filters=dg.RunsFilter(statuses=unfinished)):
        process = run.tags.get(PROCESS_TAG)
        if process is None or _is_alive(process):
            continue
        instance.report_run_failed(run, f"its process ({process}) ended without finishing the run")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
        dead += 1
    if dead:
        click.echo(f"{dead} run(s) of processes that died were closed as failed", err=True)
    return dead


@dg.logger(config_schema={}, description="One line per finished step, warnings and failed checks, on standard error")
def step_logger(_context: dg.InitLoggerContext) -> logging.Logger:
    logger = logging.getLogger("tracehouse.steps")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.handlers = [_StepHandler()]
    return logger


class _StepHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.started: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        meta = getattr(record, "dagster_meta", {})
        event = meta.get("dagster_event")
        if event is None:
            if record.levelno >= logging.WARNING:
                click.secho(f"  ! {meta.get('orig_message', record.getMessage())}", fg="yellow", err=True)
            return
        step = str(event.step_key)
        kind = event.event_type_value
        if kind == "STEP_START":
            self.started[step] = time.monotonic()
        elif kind == "STEP_SUCCESS" and "." not in step:
            seconds = time.monotonic() - self.started.get(step, time.monotonic())
            if not step.startswith(_CHECK_PREFIXES):
                click.echo(f"  {step.replace('__', '/'):<36} {seconds:6.1f} s", err=True)
        elif kind == "ASSET_CHECK_EVALUATION":
            check = event.event_specific_data
            if not check.passed:
                click.secho(f"  check {check.check_name} FAILED: {check.description}", fg="red", err=True)


_CHECK_PREFIXES = ("raw__log_", "core__jobs_", "features__job_features_", "predictions__runtime_predictions_",
                   "replay__evaluation_")  # fmt: skip


def _this_process() -> str:
    return f"{os.getpid()}-{_started_at(os.getpid())}"


def _is_alive(process: str) -> bool:
    pid, _, started = process.partition("-")
    return _started_at(int(pid)) == started


def _started_at(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty when there is no such process (Linux)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        if sys.platform == "linux":
            return ""
        try:
            os.kill(pid, 0)
        except OSError:
            return ""
        return "running"
