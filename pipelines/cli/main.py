"""The command line, `tracehouse`: all commands."""

import click

from pipelines.cli.logs import export, health, ingest, pseudonym, sources
from pipelines.cli.models import models, rollback
from pipelines.cli.query import sql
from pipelines.cli.replay import compare, replay
from pipelines.cli.run import report, run
from pipelines.cli.train import distil, train
from pipelines.cli.ui import ui
from pipelines.cli.vasp import vasp
from pipelines.cli.wait import wait, walltime


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="tracehouse")
def main() -> None:
    """Batch cluster logs into one DuckDB warehouse: run-time predictions, learned scheduling policies, replays.

    Start with `tracehouse run` (the bundled sources, raw log to report), then `tracehouse sql "FROM marts.leaderboard"`.
    """


COMMANDS = (
    sources,
    run,
    ingest,
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
    wait,
    walltime,
    models,
    rollback,
    vasp,
)
for command in COMMANDS:
    main.add_command(command)

if __name__ == "__main__":
    main()
