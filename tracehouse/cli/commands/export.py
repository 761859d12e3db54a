"""The command `tracehouse export`: jobs of a source, or of a saved run, as a file for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assets.common.storage import open_warehouse
from assets.common.writing.outputs import refuse_binary_on_terminal
from assets.replaying.running.scored_part import PartOptions
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.paths import FileToWrite
from tracehouse.cli.parameters.settings import part_options, take_part
from tracehouse.cli.parameters.sources import source_argument
from traces.catalogue.catalogue import load_catalogue

SUFFIXES = {".swf": "swf", ".swf.gz": "swf", ".parquet": "parquet", ".csv": "evalys"}
"""Endings of a file's name, and the formats that they stand for."""
EXPORT_FORMATS = ("swf", "parquet", "evalys")


def format_of(path: Path) -> str:
    """The format that the name of a file asks for. Raises ValueError where it asks for none."""
    name = path.name.lower()
    for suffix, file_format in SUFFIXES.items():
        if name.endswith(suffix):
            return file_format
    raise ValueError(
        f"{path}: its name tells no format: let it end in {', '.join(SUFFIXES)}, or give --format {', '.join(EXPORT_FORMATS)}"
    )


@click.command()
@source_argument()
@click.argument("file", type=FileToWrite())
@click.option(
    "--format",
    "file_format",
    type=click.Choice(EXPORT_FORMATS),
    help="Format of FILE. Default: by its ending, .swf, .swf.gz, .parquet, or .csv for Evalys.",
)
@click.option("--run", metavar="NAME", help="Export the schedule of this saved run, and not the one that was logged.")
@part_options("Export")
@plain_errors
def export(source: str, file: Path, file_format: str | None, run: str | None, **part: Any) -> None:
    """Write the jobs of a source to FILE: SWF, Parquet, or the CSV that Evalys and Batsim use.

    SWF that is read back gives the same jobs. Users, groups, executables and queues become numbers, as that format wants. Parquet has
    every column of core.jobs. The CSV has the jobs that ran, with processors that are made up: the lowest idle ones.
    """
    from assets.sharing.job_files import export_jobs

    name = load_catalogue().source(source).name
    chosen = file_format or format_of(file)
    if chosen == "parquet":
        refuse_binary_on_terminal("parquet", file)
    done = export_jobs(open_warehouse(), name, file, chosen, PartOptions(**take_part(part)), run)
    text = f"wrote {done.jobs:,} jobs to {file}" + (f" ({done.words})" if done.words else "")
    if done.left_out:
        text += f"; {done.left_out:,} that never ran, or whose times are unknown, are left out"
    click.echo(text, err=True)
