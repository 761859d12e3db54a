"""The commands `tracehouse run` and `tracehouse report`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from assets.common.storage import open_warehouse, report_path, write_whole
from assets.report.index import index_path, read_summary
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.names import complete_assets
from tracehouse.cli.parameters.settings import TIME, part_options, take_part
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.jobs import raise_failures
from tracehouse.text.tables import TableColumn, fitted_table, folded, terminal_width
from traces.catalogue.catalogue import Catalogue, load_catalogue

JOBS_OF_SOURCES = (
    *(
        "ingest",
        "train",
        "predict",
        "evaluate",
        "replay_runs",
        "prediction_search",
        "population",
        "ddppo",
        "ddppo_transfer",
    ),
    *("experiments", "topology", "everything"),
)
"""All but topology are of a source."""
PIPE_WIDTH = 110
"""Of sentences that go to a file or a pipe."""
PRINTED_COLUMNS = (
    TableColumn("mean wait"),
    TableColumn("change"),
    TableColumn("started within 1 h", last=1),
    TableColumn("grade", last=2),
    TableColumn("random orders as good", last=3),
    TableColumn("verdict"),
    TableColumn("scheduler", right=False),
)
"""Columns of the comparison of schedulers that are printed. The last one may be long."""


@click.command()
@source_argument("Only this source; repeat for more. Default: all.", several=True)
@click.option(
    "--job",
    type=click.Choice(JOBS_OF_SOURCES),
    default="everything",
    show_default=True,
    help="Part of the pipeline to run.",
)
@click.option(
    "--select",
    "selections",
    metavar="ASSETS",
    multiple=True,
    shell_complete=complete_assets,
    help="Only these assets, in Dagster's language: marts/report, +marts/report for all that it needs, group:policies. Repeat for more.",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="YAML file with Dagster run configuration (ops: ...), as in the UI's launchpad.",
)
@plain_errors
def run(names: tuple[str, ...], job: str, selections: tuple[str, ...], config: Path | None) -> None:
    """Materialize the pipeline, raw log to report, and print what the reports say in short. Without SOURCE: of all sources."""
    from pipelines.running import read_config, run_job

    catalogue = load_catalogue()
    if selections:
        run_selection(catalogue, names, selections, config)
        return
    if job == "topology":
        if names:
            raise ValueError("the job topology generates its jobs and is of no source: leave SOURCE out")
        raise_failures(run_job(job, [job], read_config(config), partitions=None))
        return
    chosen = [catalogue.source(name).name for name in names] or list(catalogue.sources)
    failures = run_job(job, chosen, read_config(config))
    done = [name for name in chosen if name not in failures]
    if done and job in ("evaluate", "everything"):
        _print_results(done)
    raise_failures(failures)


def run_selection(
    catalogue: Catalogue, names: tuple[str, ...], selections: tuple[str, ...], config: Path | None
) -> None:
    """Runs assets for sources, or for folders of VASP runs, if that is what they are of. Raises ValueError for a --job beside them."""
    from pipelines.running import read_config, run_job, select_assets

    if click.get_current_context().get_parameter_source("job") == ParameterSource.COMMANDLINE:
        raise ValueError("--select and --job exclude each other: leave one of them out")
    assets = select_assets(selections)
    if assets.partitions is None and names:
        raise ValueError(f"{' '.join(selections)}: of no source, leave SOURCE out")
    if assets.partitions == "vasp":
        chosen = [catalogue.vasp_source(name).name for name in names] or list(catalogue.vasp)
    elif assets.partitions == "sources":
        chosen = [catalogue.source(name).name for name in names] or list(catalogue.sources)
    else:
        chosen = ["selection"]
    raise_failures(run_job("selection", chosen, read_config(config), assets.partitions, assets.keys))


@click.command()
@source_argument("Only this source; repeat for more. Default: all that have jobs.", several=True)
@part_options("Report on", TIME)
@plain_errors
def report(names: tuple[str, ...], **asked: Any) -> None:
    """Write the HTML reports again, and print what they say in short. Without SOURCE: of all that have jobs.

    With a period, a page of its own is written beside them, of the jobs that were submitted then.
    """
    from pipelines.running import run_job

    with open_warehouse().read() as connection:
        loaded = [row[0] for row in connection.execute("SELECT DISTINCT source FROM core.jobs ORDER BY 1").fetchall()]
    for name in names:
        load_catalogue().source(name)
        if name not in loaded:
            raise ValueError(f"source {name!r} has no jobs yet: `tracehouse run {name}`")
    chosen = list(names) or loaded
    if not chosen:
        raise ValueError("no source has jobs yet: `tracehouse run`")
    part = take_part(asked, TIME)
    if part:
        written, failures = [], {}
        for name in chosen:
            try:
                written.append(_report_period(name, part))
            except ValueError as error:
                failures[name] = f"{name}: {error}"
        if written:
            _print_results(written)
        raise_failures(failures)
        return
    failures = run_job("report", chosen)
    done = [name for name in chosen if name not in failures]
    if done:
        _print_results(done)
    raise_failures(failures)


def _report_period(name: str, part: dict[str, str]) -> str:
    """Writes the report of a period of a source. Returns what its file is called."""
    from assets.replay.scored_part import PartOptions
    from assets.report.index import write_index
    from assets.report.period import period_of
    from assets.report.render import render_report

    warehouse, created = open_warehouse(), datetime.now(UTC)
    period = period_of(warehouse, name, PartOptions(**part))
    called = f"{name}@{period.name}"  # no source can be called so
    write_whole(report_path(called), render_report(warehouse, name, created, period).encode())
    write_index(created)
    return called


def _print_summaries(names: list[str]) -> None:
    """What the report of each source says in short: sentences, and the schedulers in hours."""
    width = terminal_width()
    for name in names:
        summary = read_summary(name)
        if summary is None:
            continue
        click.echo(f"\n{name}")
        for sentence in summary["sentences"]:
            click.echo(folded(f"  {sentence}", width or PIPE_WIDTH))
        if summary["schedulers"]:
            click.echo(f"\n  {summary['schedulers'].get('about', '')}".rstrip())
            _print_schedulers(summary["schedulers"], width)
        if summary["note"]:
            click.echo(folded(f"\n  {summary['note']}", width or PIPE_WIDTH))


def _print_schedulers(table: dict[str, Any], width: int | None) -> None:
    """The columns of PRINTED_COLUMNS, and then the name of the scheduler, which may be long."""
    places = [table["columns"].index(column.title) for column in PRINTED_COLUMNS]
    rows = [[row[k] for k in places] for row in table["rows"]]
    for line in fitted_table(PRINTED_COLUMNS, rows, width, "  "):
        click.echo(line)


def _print_results(names: list[str]) -> None:
    """The summaries of the sources, and where results lie."""
    _print_summaries(names)
    click.echo(f"\nwarehouse    {open_warehouse().name}")
    for name in names:
        click.echo(f"report       {report_path(name)}")
    click.echo(f"all sources  {index_path()}")
    click.echo('\nNext: tracehouse sql "FROM marts.leaderboard"  |  make ui  |  tracehouse ingest YOUR_LOG --name mine')
