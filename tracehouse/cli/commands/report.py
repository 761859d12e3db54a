"""The command `tracehouse report`, and what it and `tracehouse run` print of a report."""

import textwrap
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import click

from assets.common.storage import open_warehouse, report_path, write_whole
from assets.pages.index import index_path, read_summary
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_option, print_json
from tracehouse.cli.parameters.settings import TIME, part_options, take_part
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.jobs import raise_failures
from tracehouse.text.tables import TableColumn, fitted_table, folded, terminal_width
from traces.catalogue.catalogue import load_catalogue

PIPE_WIDTH = 110
"""Of sentences that go to a file or a pipe."""
PRINTED_COLUMNS = (
    TableColumn("mean wait"),
    TableColumn("change"),
    TableColumn("verdict", right=False),
    TableColumn("scheduler", right=False),
)
"""Columns of the best schedulers. The last one may be long."""
LABEL_WIDTH = 11


@click.command()
@source_argument("Only this source; repeat for more. Default: all that have jobs.", several=True)
@part_options("Report on", TIME)
@json_option
@plain_errors
def report(names: tuple[str, ...], as_json: bool, **asked: Any) -> None:
    """Write the HTML reports again, and print what they say in short. Without SOURCE: of all in the catalogue that have jobs.

    With a period, a page of its own is written beside them, of the jobs that were submitted then.
    """
    from pipelines.running import run_job

    with open_warehouse().read() as connection:
        loaded = [row[0] for row in connection.execute("SELECT DISTINCT source FROM core.jobs ORDER BY 1").fetchall()]
    catalogue = load_catalogue()
    for name in names:
        catalogue.source(name)
        if name not in loaded:
            raise ValueError(f"source {name!r} has no jobs yet: `tracehouse run {name}`")
    chosen = list(names) or [name for name in loaded if name in catalogue.sources]
    for name in loaded if not names else ():
        if name not in catalogue.sources:
            click.echo(
                f"left out: {name}, which is in no catalogue. Forget its jobs with `tracehouse remove {name}`", err=True
            )
    if not chosen:
        raise ValueError("no source of the catalogue has jobs yet: `tracehouse run`")
    part = take_part(asked, TIME)
    if part:
        written, failures = [], {}
        for name in chosen:
            try:
                written.append(_report_period(name, part))
            except ValueError as error:
                failures[name] = f"{name}: {error}"
        if written or as_json:
            print_reports(written, as_json)
        raise_failures(failures)
        return
    failures = run_job("report", chosen)
    done = [name for name in chosen if name not in failures]
    if done or as_json:
        print_reports(done, as_json)
    raise_failures(failures)


def print_reports(names: list[str], as_json: bool) -> None:
    """Prints the answers of reports that were written, for people or as JSON."""
    if as_json:
        print_json(report_values(names))
    else:
        print_results(names)


def report_values(names: list[str]) -> dict[str, Any]:
    """Where the reports are, and their head figures. names: of reports, such as larch or larch@2026-03."""
    return {
        "sources": [_values_of_report(name) for name in names],
        "all_sources": index_path(),
        "warehouse": open_warehouse().name,
    }


def _values_of_report(name: str) -> dict[str, Any]:
    source, _, period = name.partition("@")
    summary = read_summary(name) or {}
    names = ("submitted", "jobs", "grade", "headline", "sentences", "note")
    grade = summary.get("grade")
    return (
        {"source": source, "period": period or None, "report": report_path(name)}
        | {key: summary.get(key) for key in names}
        | {"grade": None if grade == "none" else grade, "schedulers": _scheduler_values(summary.get("schedulers"))}
        | (summary.get("figures") or {})
    )


def _scheduler_values(table: dict[str, Any] | None) -> list[dict[str, str]]:
    """The rows of the table of schedulers, as the report writes their cells."""
    return [] if table is None else [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def _report_period(name: str, part: dict[str, str]) -> str:
    """Writes the report of a period of a source. Returns what its file is called."""
    from assets.pages.index import write_index
    from assets.pages.period import period_of
    from assets.pages.render import render_report
    from assets.replaying.running.scored_part import PartOptions

    warehouse, created = open_warehouse(), datetime.now(UTC)
    period = period_of(warehouse, name, PartOptions(**part))
    called = f"{name}@{period.name}"  # no source can be called so
    write_whole(report_path(called), render_report(warehouse, name, created, period).encode())
    write_index(created)
    return called


def print_answer(name: str, happened_too: bool = True) -> None:
    """What the report of a source says, in at most 25 lines of a usual terminal. happened_too: else what the log says is left out."""
    summary = read_summary(name)
    if summary is None:
        return
    width = terminal_width() or PIPE_WIDTH
    click.secho(f"\n{name}", bold=True)
    for label, text in [*(summary["happened"] if happened_too else []), *summary["changes"]]:
        print_line(label, text, width)
    if summary["best"]:
        click.echo(folded(f"  {summary['best']['about']}", width))
        for line in fitted_table(PRINTED_COLUMNS, summary["best"]["rows"], width, "  "):
            click.echo(line)
    if summary["note"]:
        print_line("Learning", summary["note"], width)


def print_line(label: str, text: str, width: int, beside: bool = False) -> None:
    """A line with its label, folded below itself. beside: on standard error, because results are JSON."""
    rest = textwrap.wrap(text, max(width - LABEL_WIDTH, 40), break_on_hyphens=False)
    for number, part in enumerate(rest):
        click.echo(f"{'' if number else '  ' + label:<{LABEL_WIDTH}}{part}", err=beside)


def print_results(names: list[str], shown: Collection[str] = ()) -> None:
    """The answers of the sources, and where results lie. shown: sources of which the first lines were printed before."""
    for name in names:
        print_answer(name, name not in shown)
    click.echo(f"\nwarehouse    {open_warehouse().name}")
    for name in names:
        click.echo(f"report       {report_path(name)}")
    click.echo(f"all sources  {index_path()}")
    first = names[0].partition("@")[0]
    click.echo(f"\nNext: tracehouse why {first}  |  tracehouse who {first}  |  make ui  |  tracehouse ingest YOUR_LOG")
    click.echo("What the words mean, and your own log in an hour: docs/start/tutorial.md, docs/guides/one-hour.md")
