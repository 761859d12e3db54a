"""Running jobs from the command line: the same jobs and records as the UI's, with one line a step."""

import fcntl
import os
import shutil
from pathlib import Path
from typing import Any

import click
import dagster as dg
import yaml
from dagster._core.errors import DagsterAssetCheckFailedError  # not exported, and what a blocking check raises

from pipelines.automation import register_sources
from pipelines.definitions import defs
from pipelines.processes import close_dead_runs, this_process
from traces.catalogue.places import PROJECT, home
from traces.catalogue.sources import CatalogueError
from traces.common.log import LogError
from warehouse import WarehouseError

EXPECTED_ERRORS = (CatalogueError, LogError, WarehouseError, ValueError)
"""Errors whose message tells the user what to do; anything else is a fault of tracehouse and keeps its traceback."""


def dagster_instance() -> dg.DagsterInstance:
    """The Dagster instance of `home()`; writes its settings there on first use."""
    settings = home() / "dagster.yaml"
    if not settings.exists():
        home().mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / "dagster.yaml", settings)
    os.environ["DAGSTER_HOME"] = str(home())
    with (home() / ".dagster-setup.lock").open("w") as lock:
        # two first runs at once would both create Dagster's tables, and one would fail
        fcntl.flock(lock, fcntl.LOCK_EX)
        instance = dg.DagsterInstance.get()
        instance.get_runs_count()
        instance.get_dynamic_partitions("sources")
        instance.all_instigator_state()
        return instance


def run_job(
    job: str, sources: list[str], run_config: dict[str, Any] | None = None, partitions: str = "sources"
) -> dict[str, str]:
    """Runs a job for each source in turn; one that fails does not keep the others from running.

    partitions: what the names are, "sources" or "vasp". Returns what went wrong by source, empty when all is well.
    """

    failures: dict[str, str] = {}
    with dagster_instance() as instance:
        register_sources(instance, sources, partitions)
        closed = close_dead_runs(instance)
        if closed:
            click.echo(f"{closed} run(s) of processes that died were closed as failed", err=True)
        for source in sources:
            click.secho(f"{source}: {job}", bold=True, err=True)
            config = dict(run_config or {}) | {"loggers": {"steps": {"config": {}}}}
            try:
                result = defs.resolve_job_def(job).execute_in_process(
                    run_config=config,
                    instance=instance,
                    partition_key=source,
                    tags=this_process(),
                    raise_on_error=True,
                )
            except dg.DagsterInvalidConfigError as error:
                raise ValueError(f"the run configuration does not fit the job {job!r}: {error}") from None
            except DagsterAssetCheckFailedError as error:
                failures[source] = str(error).splitlines()[0]
            except EXPECTED_ERRORS as error:
                failures[source] = str(error)
            else:
                if not result.success:
                    failures[source] = f"run {result.run_id} failed; the UI (`make ui`) shows why"
            if source in failures and len(sources) > 1:
                click.secho(f"  {failures[source]}", fg="red", err=True)
    return failures


def read_config(path: Path | None) -> dict[str, Any]:
    """Run configuration from a YAML file, {} without one. Raises ValueError, naming the file."""
    if path is None:
        return {}
    try:
        config = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(
            f"{path}: expected a mapping such as `ops: {{policies__scheduling_policy: {{config: {{epochs: 5}}}}}}`"
        )
    return config
