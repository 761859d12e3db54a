"""The command `tracehouse what-if`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pipelines.terminal import printable
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import print_json
from tracehouse.cli.parameters.paths import FileToWrite, FolderToWrite
from tracehouse.cli.parameters.settings import part_options, take_part
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.text.tables import terminal_width
from tracehouse.text.what_if_text import what_if_text
from traces.catalogue.catalogue import load_catalogue


@click.command("what-if")
@click.argument("scenarios", type=click.Path(path_type=Path), metavar="SCENARIOS|SOURCE")
@click.option(
    "--source", "-s", shell_complete=complete_sources, help="A source or the path of a log. Default: that of the file."
)
@click.option(
    "--cluster",
    metavar="NAME",
    help="Base: the scheduler of this cluster's configuration, or an order under its limits (clusters/NAME.toml).",
)
@click.option(
    "--set",
    "edits",
    multiple=True,
    metavar="KEY=VALUE",
    help="What one scenario changes: a key of the file such as procs=+10%, or a line of the configuration of the source's Slurm or PBS. "
    "May be given several times.",
)
@click.option(
    "--change",
    multiple=True,
    type=click.Path(exists=True),
    metavar="FILE|DIR",
    help="New configuration: slurm.conf, a sacctmgr dump, what qmgr prints, or all. What it does not say stays.",
)
@part_options()
@click.option(
    "--out",
    type=FolderToWrite(),
    metavar="FOLDER",
    help="Write scenarios, groups and jobs as tables there.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["csv", "parquet"]),
    default="csv",
    show_default=True,
    help="Of the tables in --out.",
)
@click.option("--html", type=FileToWrite(), metavar="FILE", help="Write a page to mail: one file, nothing to load.")
@click.option(
    "--top",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Accounts, sizes and queues that are printed for each scenario, of those whose waits grow and shrink most.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: scenarios and groups.")
@plain_errors
def what_if_command(
    scenarios: Path,
    source: str | None,
    cluster: str | None,
    edits: tuple[str, ...],
    change: tuple[str, ...],
    out: Path | None,
    file_format: str,
    html: Path | None,
    top: int,
    as_json: bool,
    **others: Any,
) -> None:
    """Answer what-if questions: replay the scenarios of a TOML file, and compare each with what runs today. With --set or --change it
    is one scenario of a SOURCE, of all that these change.

    Waits are printed in hours, with the change against the base, a verdict, and whose waits grow and shrink most. The first line says
    what the base is, and why. A scenario that fails has a row that says why, and the others are answered. Only if all fail the command
    does. docs/guides/what-if.md shows every key of the file. Without [base] the source's own Slurm or PBS decides, on its own nodes.

    \b
    [base]
    policy = "FCFS"
    [scenarios."10 % more processors"]
    procs = "+10%"
    [scenarios."EASY with predicted times"]
    backfill = "easy"
    estimates = "predicted"
    """
    from assets.replaying.scenarios.scenario_file import changes_of_lines
    from tracehouse.scenarios import CHANGED, what_if

    asked: Path | dict[str, dict[str, Any]] = scenarios
    if edits or change:
        if source is not None:
            raise click.UsageError("with --set or --change the source stands alone: leave --source out")
        source, asked = str(scenarios), {CHANGED: changes_of_lines(edits, change)}
    elif not scenarios.is_file() and str(scenarios) in load_catalogue(may_be_missing=True).sources:
        raise click.UsageError(
            f"{scenarios} is a source: say what changes with --set KEY=VALUE or --change FILE, or give a file of scenarios and "
            f"--source {scenarios}"
        )
    answer = what_if(asked, source, cluster=cluster, **take_part(others))
    if as_json:
        print_json(answer.summary)
    else:
        click.echo(printable(what_if_text(answer.results, terminal_width(), top)))
    paths = [] if out is None else answer.write(out, file_format)
    if html is not None:
        answer.write_page(html)
        paths.append(html)
    for path in paths:
        click.echo(f"wrote {path}", err=True)
