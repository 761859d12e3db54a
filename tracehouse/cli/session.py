"""What every command does before its own work."""

from __future__ import annotations

import click

from assets.common.storage import open_warehouse
from pipelines.terminal import printable_output
from tracehouse.cli.errors import plain_errors
from warehouse import confined


@plain_errors
def begin_session(context: click.Context) -> None:
    """Until the command ends, nothing that is printed steers the terminal and no view reaches other files. Finishes what a killed
    restore has left."""
    context.with_resource(printable_output())
    context.with_resource(confined())
    open_warehouse().settle()
