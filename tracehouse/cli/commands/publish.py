"""The command `tracehouse publish`: a read-only copy of the warehouse for dashboards."""

from __future__ import annotations

from pathlib import Path

import click

from assets.sharing.readers_copy import refresh_readers
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.paths import FileToWrite
from traces.catalogue.catalogue import Readers, load_catalogue


@click.command()
@click.argument("file", type=FileToWrite(), required=False)
@plain_errors
def publish(file: Path | None) -> None:
    """Write a read-only copy of the warehouse to FILE, for Grafana, Metabase and other readers. They never block a run.

    Without FILE: write what the table [readers] of the catalogue names, as each run does at its end. The copy appears whole or not at all.
    It has all results, and no lines of logs.
    """
    readers = load_catalogue().readers if file is None else Readers(copy=file)
    if readers == Readers():
        raise ValueError(
            'the catalogue names no place: give FILE, or write copy = "FILE" below [readers] in the catalogue'
        )
    for path in refresh_readers(readers):
        click.echo(f"wrote {path}", err=True)
