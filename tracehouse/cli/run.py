"""The commands `tracehouse run` and `tracehouse report`."""

import textwrap
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from assets.common.progress import say_if_slow
from assets.common.storage import open_warehouse, report_path, write_whole
from assets.report.index import index_path, read_summary
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.names import complete_assets
from tracehouse.cli.parameters.settings import TIME, part_options, take_part
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.jobs import raise_failures
from tracehouse.text.tables import TableColumn, fitted_table, folded, terminal_width
from traces.catalogue.catalogue import Catalogue, load_catalogue
from traces.catalogue.clusters import load_found, rule_counts

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
    TableColumn("verdict", right=False),
    TableColumn("scheduler", right=False),
)
"""Columns of the best schedulers. The last one may be long."""
LABEL_WIDTH = 11


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
    from assets.replay.running.loading import is_loaded
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
    new = [] if job != "everything" or config is not None else [name for name in chosen if not is_loaded(name)]
    failures = _first_looks(catalogue, new)
    failures |= run_job(job, [name for name in chosen if name not in failures], read_config(config))
    done = [name for name in chosen if name not in failures]
    if done and job in ("evaluate", "everything"):
        _print_results(done, new)
    raise_failures(failures)


def _first_looks(catalogue: Catalogue, names: list[str]) -> dict[str, str]:
    """Reads logs that are new, and prints what they say before anything is trained or replayed. Returns what went wrong by source.

    The rules that a bundled log shows are made part of its cluster at once. Of another log that is for its owner to decide."""
    from assets.report.render import first_answer
    from pipelines.running import run_job
    from tracehouse.identifying.log_rules import adopt_rules, identify_cluster

    failures = run_job("ingest", names) if names else {}
    for name in (name for name in names if name not in failures):
        if "site" in catalogue.source(name).generator and load_found(name) is None:
            with say_if_slow(f"looking for rules of {name} that no file names"):
                identify_cluster(name)
            seen = load_found(name)
            if seen is not None and rule_counts(seen)[1]:
                adopt_rules(name)
        click.secho(f"\n{name}", bold=True)
        for label, text in first_answer(open_warehouse(), name):
            print_line(label, text, terminal_width() or PIPE_WIDTH)
        click.echo()
    return failures


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
    from assets.replay.running.scored_part import PartOptions
    from assets.report.index import write_index
    from assets.report.period import period_of
    from assets.report.render import render_report

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


def print_line(label: str, text: str, width: int) -> None:
    """A line with its label, folded below itself."""
    rest = textwrap.wrap(text, max(width - LABEL_WIDTH, 40), break_on_hyphens=False)
    for number, part in enumerate(rest):
        click.echo(f"{'' if number else '  ' + label:<{LABEL_WIDTH}}{part}")


def _print_results(names: list[str], shown: Collection[str] = ()) -> None:
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
