"""The command `tracehouse what-if`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.writing.outputs import write_output
from assets.what_if.scenarios.scenario_file import ScenarioFile, read_scenarios
from assets.what_if.scored_part import PartOptions
from pipelines.terminal import printable
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.paths import FileToWrite, FolderToWrite
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.cli.parts import part_options, take_part
from tracehouse.cli.scenarios.what_if_text import what_if_text
from tracehouse.cli.tables import terminal_width

if TYPE_CHECKING:
    from assets.what_if.scenarios.results import ScenarioResults

TIME_PARTS = ("period", "begin", "end")
"""Parts of time: one that is given on the command line replaces those of the file."""


@click.command("what-if")
@click.argument("scenarios", type=click.Path(path_type=Path))
@click.option(
    "--source", "-s", shell_complete=complete_sources, help="A source or the path of a log. Default: that of the file."
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
    out: Path | None,
    file_format: str,
    html: Path | None,
    top: int,
    as_json: bool,
    **others: Any,
) -> None:
    """Answer what-if questions: replay the scenarios of a TOML file, and compare each with what runs today.

    Waits are printed in hours, with the change against the base, a verdict, and whose waits grow and shrink most. The first line says
    what the base is, and why. A scenario that fails has a row that says why, and the others are answered. Only if all fail the command
    does. docs/guides/what-if.md shows every key of the file.

    \b
    [scenarios."10 % more processors"]
    procs = "+10%"
    [scenarios."EASY with predicted times"]
    backfill = "easy"
    estimates = "predicted"
    """
    from assets.what_if.scenarios.planning import plan_scenarios
    from assets.what_if.scenarios.results import replay_scenarios
    from tracehouse.cli.replaying import say_if_slow, warn_of_peak

    file = read_scenarios(scenarios)
    part = merged_part(file, take_part(others))
    with say_if_slow("reading the jobs"):
        plan = plan_scenarios(file, source, part)
    warn_of_peak(plan.trace.cluster_procs, plan.trace.cluster_procs_from)
    results = replay_scenarios(plan)
    if as_json:
        click.echo(json.dumps(results.summary()))
    else:
        click.echo(printable(what_if_text(results, terminal_width(), top)))
    for path in _written(results, out, file_format, html):
        click.echo(f"wrote {path}", err=True)


def merged_part(file: ScenarioFile, given: dict[str, str]) -> PartOptions:
    """What is scored: what is given on the command line, and else what the file says."""
    of_file = file.part.model_dump(exclude_none=True)
    if any(name in given for name in TIME_PARTS):
        of_file = {name: value for name, value in of_file.items() if name not in TIME_PARTS}
    return PartOptions(**of_file | given)


def _written(results: ScenarioResults, out: Path | None, file_format: str, html: Path | None) -> list[Path]:
    paths = results.write(out, file_format) if out is not None else []
    if html is not None:
        from assets.report.scenario_page import scenario_page

        write_output(html, scenario_page(results).encode())
        paths.append(html)
    return paths
