"""The command `tracehouse ui`."""

import sys
from pathlib import Path

import click

from pipelines.cli.errors import plain_errors
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.places import inbox


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", "-p", default=3000, show_default=True)
@plain_errors
def ui(host: str, port: int) -> None:
    """Open the Dagster UI on this project (offline, no telemetry): assets, runs, schedule, inbox sensor."""
    import os

    from pipelines.automation import register_sources
    from pipelines.processes import close_dead_runs
    from pipelines.running import dagster_instance

    catalogue = load_catalogue()  # a fault in the catalogue is told here rather than in a server's log
    with dagster_instance() as instance:
        register_sources(instance, list(catalogue.sources))
        register_sources(instance, list(catalogue.vasp), "vasp")
        close_dead_runs(instance)
    inbox().mkdir(exist_ok=True)
    dagster = str(Path(sys.executable).with_name("dagster"))
    click.echo(f"http://{host}:{port} (stop with Ctrl-C); drop logs into {inbox()}", err=True)
    os.execv(dagster, [dagster, "dev", "-m", "pipelines.definitions", "-h", host, "-p", str(port)])
