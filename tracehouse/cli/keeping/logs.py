"""The commands about sources and their logs: `sources`, `ingest`, `health`, `pseudonym`."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from assets.common.storage import open_warehouse, pseudonym_key
from sql import load as sql_text
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.ingesting import OUTCOMES, source_row
from tracehouse.ingesting import ingest as ingest_log
from tracehouse.text.tables import folded, terminal_width
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.places import local_catalogue_path, pseudonym_key_path
from traces.catalogue.sources import FORMATS, LARGEST_CLUSTER
from traces.common import pseudonyms
from traces.common.pseudonyms import PSEUDONYM_KINDS


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array instead of a table.")
@plain_errors
def sources(as_json: bool) -> None:
    """List the sources of the catalogue."""
    listed = list(load_catalogue().sources.values())
    if as_json:
        click.echo(json.dumps([source_row(source) for source in listed], indent=1))
        return
    width = max((len(source.name) for source in listed), default=4)
    for source in listed:
        where = str(source.path) if source.path else "generated"
        procs = f"{source.procs} procs" if source.procs else "procs from the log"
        line = f"{source.name:<{width}}  {source.format:<4}  {procs:<18}  {source.description or where}"
        click.echo(folded(line, terminal_width(), width + 2))
    hint = f"\nAdd one: tracehouse ingest PATH --name NAME (written to {local_catalogue_path()})"
    click.echo(folded(hint, terminal_width(of_errors=True)), err=True)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "log_format", type=click.Choice(FORMATS), help="Format of the log. Default: it is guessed.")
@click.option("--name", help="Name of the source. Default: the file's name.")
@click.option(
    "--procs", type=click.IntRange(1, LARGEST_CLUSTER), help="Processors of the cluster. Default: from the log."
)
@click.option("--time-zone", help='Time zone of the cluster, such as "Europe/Berlin". Default: the catalogue\'s.')
@click.option(
    "--columns", help="Columns of a Slurm log without a header line, in order, such as JobID,User,Submit,Start,End."
)
@click.option(
    "--keep-names",
    is_flag=True,
    help="Keep users, groups, accounts, projects and job names as they are, instead of pseudonyms.",
)
@click.option("--replace", is_flag=True, help="Forget the jobs of another log that has this name.")
@click.option("--new-key", is_flag=True, help="Take a new key of pseudonyms, because that of the warehouse is lost.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def ingest(path: Path, name: str | None, as_json: bool, **settings: Any) -> None:
    """Add a log (a file, or a folder of files) as a source and load it. Running it again reads what is new.

    Of an archive of `tracehouse collect`, the configuration becomes the source's cluster.

    Names in PBS and Slurm logs become pseudonyms. `tracehouse pseudonym` prints the pseudonym of a name.
    """
    from tracehouse.replaying import warn_of_peak

    summary = ingest_log(path, name, **settings)
    if as_json:
        click.echo(json.dumps(summary))
        return
    click.echo(_ingest_text(summary))
    warn_of_peak(summary["cluster_procs"], summary["cluster_procs_from"])
    click.echo(f"\nNext: tracehouse run {summary['source']}", err=True)


def _ingest_text(summary: dict[str, Any]) -> str:
    lines = [
        f"source    {summary['source']} ({summary['cluster_procs']} processors, from the {summary['cluster_procs_from']})",
        f"lines     {summary['lines']:,}",
        f"accepted  {summary['accepted']:,}",
    ]
    lines += [f"          {count:>9,}  no job of its own: {why}" for why, count in summary["repeats_by_reason"].items()]
    for outcome in OUTCOMES:
        lines.append(f"{outcome:<9} {summary[outcome]:,}")
        lines += [f"          {count:>9,}  {reason}" for reason, count in summary[f"{outcome}_by_reason"].items()]
    lines += summary.get("cluster_lines", [])
    if summary["unknown_columns"]:
        lines.append(f"columns that sacct does not have, not read: {', '.join(summary['unknown_columns'])}")
    return "\n".join(lines)


@click.command()
@click.argument("source", shell_complete=complete_sources)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with what each finding means.")
@plain_errors
def health(source: str, as_json: bool) -> None:
    """Print what looks wrong in the log of a source that is in the warehouse, worst first."""
    source = load_catalogue().source(source).name
    with open_warehouse().read() as connection:
        findings = connection.sql(sql_text("marts.health_report"), params={"source": source}).pl().to_dicts()
    if not findings:
        raise ValueError(f"no report on source {source!r} yet: `tracehouse run {source} --job ingest`")
    if as_json:
        click.echo(json.dumps(findings, indent=1))
        return
    width = terminal_width()
    for row in findings:
        share = f" ({row['share']:.2%})" if row["found"] and row["share"] is not None else ""
        click.echo(folded(f"{row['found']:>12,} {row['unit']:<10} {row['finding']}{share}", width, 12))
        for text in (row["meaning"], row["example"]) if row["found"] else ():
            if text:
                click.echo(folded(f"{'':>24}{text}", width, 0))


@click.command()
@click.argument("kind", type=click.Choice(list(PSEUDONYM_KINDS)))
@click.argument("names", nargs=-1, required=True)
@plain_errors
def pseudonym(kind: str, names: tuple[str, ...]) -> None:
    """Print the pseudonym of every name. `-` reads names from standard input, one a line.

    To find out whose pseudonym it is, give all names: `getent passwd | cut -d: -f1 | tracehouse pseudonym user -`
    """
    path = pseudonym_key_path()
    if not path.exists():
        raise click.ClickException(f"{path}: no key yet. The first PBS or Slurm log that is loaded makes one")
    key = pseudonym_key(open_warehouse())
    given = [name for word in names for name in (sys.stdin.read().split("\n") if word == "-" else [word]) if name]
    for name in given:
        click.echo(f"{pseudonyms.pseudonym_of(key, kind, name)}\t{name}")
