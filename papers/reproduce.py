"""The command `tracehouse reproduce`: the tables of all papers by name, from assets and from studies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from assets.common.storage import data_folder, open_warehouse
from papers import ddppo, deep_back_filling, neural_annealing, rlscheduler, rlschert, schedinspector
from papers.paper_tables import CHECKPOINTS, LOGS_FOLDER, PaperStep, PaperTable
from simulator.jobs.words import unknown_word
from tracehouse.cli.commands.ingest import ingest
from tracehouse.cli.commands.sql import table_text
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.jobs import raise_failures
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.catalogue import inbox_name, load_catalogue
from traces.catalogue.places import PROJECT
from warehouse import NoWarehouse, first_row

PAPER_TABLES = {
    table.name: table
    for paper in (rlscheduler, schedinspector, deep_back_filling, rlschert, neural_annealing, ddppo)
    for table in paper.TABLES
}


def _complete_tables(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=PAPER_TABLES[name].shows) for name in PAPER_TABLES if name.startswith(begun)]


@click.command()
@click.argument("table", required=False, shell_complete=_complete_tables)
@click.argument("names", nargs=-1, metavar="[SOURCE]...", shell_complete=complete_sources)
@click.option(
    "--log",
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="A log that becomes a source first, as by `tracehouse ingest`.",
)
@click.option(
    "--logs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="The folder of the archive's logs, for tables that choose their jobs themselves.",
)
@click.option("--again", is_flag=True, help="Make again what was made before.")
@plain_errors
def reproduce(table: str | None, names: tuple[str, ...], log: Path | None, logs: Path | None, again: bool) -> None:
    """Make a table of a paper by its name, and print it. Without TABLE, list them all with the time that each takes.

    What is made is kept as it goes. After an interruption, the same command goes on where the list says. Tables of logs need SOURCE or
    --log FILE, and some that choose their jobs themselves need --logs FOLDER. docs/results/papers.md says what the papers published.

    \b
    tracehouse reproduce table5 --log HPC2N-2002-2.2-cln.swf.gz
    """
    if table is None:
        click.echo(listing(terminal_width()))
        return
    if table not in PAPER_TABLES:
        raise ValueError(unknown_word("table", table, PAPER_TABLES))
    wanted = PAPER_TABLES[table]
    click.echo(folded(description(wanted), terminal_width(of_errors=True)), err=True)
    if wanted.study:
        if names or log is not None:
            raise ValueError(f"{table} takes no SOURCE and no --log: it chooses its jobs itself")
        print_study(wanted, logs, again)
        return
    if logs is not None:
        raise ValueError(f"{table} takes no --logs: give --log FILE, or the name of a source")
    sources = _sources(wanted, names, log)
    make_steps(wanted, sources, again)
    for source in sources:
        with open_warehouse().read() as connection:
            rows = connection.sql(wanted.query, params={"source": source}).pl()
        click.echo(f"\n{wanted.shows} ({wanted.paper}), {source}\n{table_text(rows, terminal_width())}", nl=False)


def listing(width: int | None) -> str:
    """All tables with paper, expected time, what makes them, and where that goes on after an interruption."""
    indent = max(map(len, PAPER_TABLES)) + 2
    lines = []
    for table in PAPER_TABLES.values():
        lines.append(folded(f"{table.name:<{indent}}{table.shows} ({table.paper})", width, indent))
        how = f"{table.expected}; made by {table.made_by}; interrupted, it goes on {table.goes_on}"
        lines.append(folded(" " * indent + how, width, 0))
    words = (
        "Times are for two cores, all seeds, and one log where a table is of a log. Make one: tracehouse reproduce NAME [SOURCE]... "
        "[--log FILE]"
    )
    return "\n".join([*lines, "", folded(words, width)])


def description(table: PaperTable) -> str:
    """What is said before the work."""
    return (
        f"{table.name}: {table.shows} ({table.paper})\nexpected time: {table.expected}; made by {table.made_by}\n"
        f"interrupted, it goes on {table.goes_on}"
    )


def _sources(table: PaperTable, names: tuple[str, ...], log: Path | None) -> list[str]:
    """The sources that it is made for. Raises ValueError where none is named, or where it is of folders of VASP runs."""
    catalogue = load_catalogue()
    if table.partitions == "vasp":
        if log is not None:
            raise ValueError(f"{table.name} is of a folder of VASP runs: leave --log out")
        return [catalogue.vasp_source(name).name for name in names] or list(catalogue.vasp)
    sources = [catalogue.source(name).name for name in names]
    if log is not None:
        context = click.get_current_context()
        of_ingest: dict[str, Any] = {parameter.name: None for parameter in ingest.params if parameter.name is not None}
        context.invoke(
            ingest,
            **of_ingest | {"path": log, "keep_names": False, "replace": False, "new_key": False, "as_json": False},
        )
        sources.append(inbox_name(log))
    if not sources:
        raise ValueError(f"{table.name} is of a log: give --log FILE, or the name of a source")
    return sources


def make_steps(table: PaperTable, sources: list[str], again: bool) -> None:
    """Runs the steps of a table for each source. What was made before is left out, unless `again`."""
    for step in table.steps:
        for source in sources:
            is_last = step is table.steps[-1]
            if _is_made(step, source) and not (again and (is_last or not step.with_needed)):
                click.echo(
                    f"{source}: {step.asset} {_settings(step)}was made before{'' if not is_last else ' (--again makes it again)'}",
                    err=True,
                )
                continue
            _run_step(step, source, str(table.partitions))


def _is_made(step: PaperStep, source: str) -> bool:
    with suppress(NoWarehouse), open_warehouse().read() as connection:
        counted = first_row(connection, step.made.replace("$source", "?"), [source])
        return counted is not None and counted[0] > 0
    return False


def _run_step(step: PaperStep, source: str, partitions: str) -> None:
    from pipelines.running import run_job, select_assets

    if not step.with_needed and partitions == "sources" and not _has_jobs(source):
        raise_failures(run_job("ingest", [source]))
    selected = select_assets([f"+{step.asset}" if step.with_needed else step.asset])
    config = {"ops": {step.asset.replace("/", "__"): {"config": step.config}}} if step.config else {}
    label = f"{step.asset} {_settings(step)}".strip()
    raise_failures(run_job(label, [source], config, partitions, selected.keys))


def _settings(step: PaperStep) -> str:
    return "".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, list) else value} "
        for name, value in step.config.items()
    )


def _has_jobs(source: str) -> bool:
    with suppress(NoWarehouse), open_warehouse().read() as connection:
        return first_row(connection, "SELECT 1 FROM core.jobs WHERE source = ? LIMIT 1", [source]) is not None
    return False


def print_study(table: PaperTable, logs: Path | None, again: bool) -> None:
    """Prints what a study does, from the file of an earlier run if there is one. Each line is kept as it comes. logs: the archive's."""
    folder = data_folder() / "reproduced"
    file, part = folder / f"{table.name}.md", folder / f"{table.name}.part"
    if file.exists() and not again:
        click.echo(f"made before, in {file} (--again makes it again)", err=True)
        click.echo(file.read_text(), nl=False)
        return
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [str(folder / f"{table.name}-checkpoints") if word == CHECKPOINTS else word for word in table.study]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"} | ({LOGS_FOLDER: str(logs.resolve())} if logs else {})
    with part.open("w") as kept:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=PROJECT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                kept.write(line)
                kept.flush()
                click.echo(line, nl=False)
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise KeyboardInterrupt(
                f"what was printed is in {part}; the same command goes on {table.goes_on}"
            ) from None
    if process.wait() != 0:
        raise ValueError(f"{table.made_by} ended with status {process.returncode}; what it printed is in {part}")
    part.replace(file)
    click.echo(f"kept in {file}", err=True)
