"""The command `tracehouse app`."""

from __future__ import annotations

import secrets

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.sources import complete_sources


@click.command()
@click.argument("source", shell_complete=complete_sources)
@click.option("--port", "-p", type=click.IntRange(1, 65_535), default=3100, show_default=True)
@plain_errors
def app(source: str, port: int) -> None:
    """Open a page of what-if questions on this machine: sliders for a few settings of SOURCE, and the answer beside them.

    Where the source's own Slurm or PBS replays, they are lines of its configuration: weights, backfilling, limits, nodes. Each figure of an
    answer has its grade, and who pays is said. The page is on 127.0.0.1 alone, and asks for the token in the address that is printed.
    """
    from tracehouse.app.server import HOST, serve
    from tracehouse.cli.commands.ui import check_port
    from traces.catalogue.catalogue import load_catalogue

    name, token = load_catalogue().source(source).name, secrets.token_urlsafe(16)
    check_port(HOST, port)
    click.echo(f"http://{HOST}:{port}/?token={token} (stop with Ctrl-C)", err=True)
    serve(name, port, token)
