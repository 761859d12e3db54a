"""The command line, `tracehouse`: all commands."""

import click

from assets.common.storage import open_warehouse
from pipelines.cli.backup import backup, restore
from pipelines.cli.errors import plain_errors
from pipelines.cli.learning.distil import distil
from pipelines.cli.learning.train import train
from pipelines.cli.logs import export, health, ingest, pseudonym, sources
from pipelines.cli.models import models, rollback
from pipelines.cli.place import place
from pipelines.cli.query import sql
from pipelines.cli.remove import remove
from pipelines.cli.replay import compare, replay
from pipelines.cli.run import report, run, ui
from pipelines.cli.scenarios.what_if import what_if_command
from pipelines.cli.vasp import vasp
from pipelines.cli.wait import wait, walltime
from pipelines.terminal import printable_output
from warehouse import confined


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="tracehouse")
@click.pass_context
@plain_errors
def main(context: click.Context) -> None:
    """Batch cluster logs into one DuckDB warehouse: run-time predictions, learned scheduling policies, replays.

    Start with `tracehouse run` (the bundled sources, raw log to report), then `tracehouse sql "FROM marts.leaderboard"`.
    """
    context.with_resource(printable_output())
    context.with_resource(confined())
    open_warehouse().settle()


COMMANDS = (
    sources,
    run,
    ingest,
    remove,
    health,
    pseudonym,
    export,
    sql,
    report,
    ui,
    train,
    distil,
    replay,
    compare,
    what_if_command,
    place,
    wait,
    walltime,
    models,
    rollback,
    backup,
    restore,
    vasp,
)
for command in COMMANDS:
    main.add_command(command)

if __name__ == "__main__":
    main()
