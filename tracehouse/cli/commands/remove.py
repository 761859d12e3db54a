"""The command `tracehouse remove`."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from assets.common.storage import open_warehouse, pseudonym_key
from assets.common.writing.locks import alone_on, declares
from assets.pages.index import index_path, write_index
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.jobs import run_or_fail
from traces.catalogue.catalogue import Catalogue, load_catalogue
from traces.catalogue.clusters import cluster_path, found_path
from traces.catalogue.editing import remove_source
from traces.catalogue.places import inbox, local_catalogue_path
from warehouse import NoWarehouse


@click.command()
@click.argument("source", shell_complete=complete_sources)
@click.option(
    "--with-history",
    is_flag=True,
    help="Also what cannot be computed again: trained models and what was decided on them.",
)
@click.option("--gone", is_flag=True, help="Only the jobs of log files that do not exist any more.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@plain_errors
def remove(source: str, with_history: bool, gone: bool, yes: bool) -> None:
    """Remove a source, or a folder of VASP runs, from the warehouse and the catalogue. Your logs stay where they are.

    This also cleans up what an ingest left that failed, and takes the runs of the source out of the UI.
    """
    if gone and with_history:
        raise click.UsageError("--gone and --with-history exclude each other: --gone keeps the source and its history")
    catalogue = load_catalogue()
    if gone:
        _remove_gone(catalogue, source, yes)
    else:
        _remove_whole(catalogue, source, with_history, yes)


def _remove_gone(catalogue: Catalogue, name: str, yes: bool) -> None:
    from assets.ingest.reading import reader_of
    from assets.ingest.removal import gone_files, remove_gone_files
    from assets.ingest.zones import default_zone

    warehouse, entry = open_warehouse(), catalogue.source(name)
    zone = default_zone(warehouse, catalogue, entry)
    reader = reader_of(entry, zone.name, lambda: pseudonym_key(warehouse))
    jobs = gone_files(warehouse, reader)
    if not jobs:
        click.echo(f"all files that {name} was read from are there", err=True)
        return
    for file, count in jobs.items():
        click.echo(f"{count:>12,} jobs of {file}", err=True)
    _ask(f"Remove the jobs of these files, which are gone, from {name}?", yes)
    with declares(name):
        remove_gone_files(warehouse, reader)
        run_or_fail("ingest", [name])
    click.echo(f"removed {sum(jobs.values()):,} jobs of {len(jobs):,} files", err=True)


def _remove_whole(catalogue: Catalogue, name: str, with_history: bool, yes: bool) -> None:
    from assets.ingest.removal import HISTORIES, remove_source_data, source_files, source_rows
    from pipelines.forgetting import forget_partition
    from pipelines.running import has_partition

    is_vasp = name in catalogue.vasp and name not in catalogue.sources
    partitions = "vasp" if is_vasp else "sources"
    warehouse = open_warehouse()
    rows: dict[str, int] = {}
    shares_files = False
    with suppress(NoWarehouse), warehouse.read() as connection:
        rows, shares_files = source_rows(connection, name, is_vasp), bool(source_rows(connection, name, not is_vasp))
    is_declared = name in (catalogue.vasp if is_vasp else catalogue.sources)
    if not rows and not is_declared and not has_partition(name, partitions):
        catalogue.source(name)  # raises an error that lists the names there are
    kept = 0 if with_history else sum(rows.get(table, 0) for table in HISTORIES)
    click.echo(f"rows      {sum(rows.values()) - kept:,} in {len(rows)} tables", err=True)
    for path in [] if shares_files else source_files(name, with_history or not kept):
        click.echo(f"file      {path}", err=True)
    if kept:
        click.echo(f"kept      {kept:,} rows of its history, and its models (--with-history removes them)", err=True)
    _ask(f"Remove {name}?", yes)
    with declares(name), alone_on(name):
        catalogue = load_catalogue()  # as those have left it who were waited for
        is_declared = name in (catalogue.vasp if is_vasp else catalogue.sources)
        if rows or warehouse.exists():
            remove_source_data(warehouse, name, with_history, is_vasp)
            if index_path().exists():
                write_index(datetime.now(UTC))
        forget_partition(name, partitions)
        kept_clusters = [] if is_vasp or not is_declared else _own_clusters(catalogue, name)
        declared_at = (catalogue.vasp if is_vasp else catalogue.sources)[name].declared_at if is_declared else ""
        if declared_at.startswith(f"{local_catalogue_path()}:"):
            remove_source(name, "", partitions)
            declared_at = ""
    click.echo(f"removed {name}", err=True)
    for path in kept_clusters:
        click.echo(f"kept {path}, which describes its cluster: delete it where no other log is of it", err=True)
    if declared_at.startswith(str(inbox())):
        click.echo(f"{declared_at} is in the inbox: take it out, or it becomes a source again", err=True)
    elif declared_at:
        click.echo(f"it is declared in {declared_at}: take it out there, or the next run loads it again", err=True)


def _own_clusters(catalogue: Catalogue, name: str) -> list[Path]:
    """Files of the clusters of a source that no other source names."""
    others = {cluster for each in catalogue.sources.values() if each.name != name for cluster in each.cluster}
    paths = [cluster_path(each) for each in catalogue.sources[name].cluster if each not in others]
    return [path for path in (*paths, found_path(name)) if path.exists()]


def _ask(question: str, yes: bool) -> None:
    """Ends the command unless the user agrees."""
    if not yes:
        click.confirm(question, abort=True, err=True)
