"""The command `tracehouse metrics`: the last results for Prometheus."""

from __future__ import annotations

from pathlib import Path

import click

from assets.common.storage import open_warehouse
from assets.common.writing.outputs import write_output
from assets.sharing.metrics_text import metrics_text, metrics_values
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_option, json_text
from tracehouse.cli.parameters.paths import FileToWrite
from tracehouse.cli.parameters.sources import source_argument


@click.command("metrics")
@source_argument("Only this source; repeat for more. Default: all of the warehouse.", several=True)
@click.option("--out", type=FileToWrite(), metavar="FILE.prom", help="File to write. Default: print.")
@json_option
@plain_errors
def print_metrics(names: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Print the last results of sources in the text format of Prometheus. Without SOURCE: of all in the warehouse.

    Waits of the last month that a later one follows, in all and by queue, use of the cluster, rejected lines, error and drift of the
    run-time model, and the grade of replays. With --out, node_exporter's textfile collector reads them: name the file like
    tracehouse.prom.
    """
    sources = list(dict.fromkeys(names))
    warehouse = open_warehouse()
    text = (
        f"{json_text({'sources': metrics_values(warehouse, sources)})}\n"
        if as_json
        else metrics_text(warehouse, sources)
    )
    if out is None:
        click.echo(text, nl=False)
    else:
        write_output(out, text.encode())
        click.echo(f"wrote {out}", err=True)
