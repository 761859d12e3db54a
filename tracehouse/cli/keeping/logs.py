"""The commands about sources and their logs: `sources`, `ingest`, `health`, `pseudonym`."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from assets.common.storage import open_warehouse, pseudonym_key
from assets.common.writing.locks import declares
from sql import load as sql_text
from tracehouse.cli.errors import load_declared, plain_errors
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.cli.tables import folded, terminal_width
from traces.catalogue.catalogue import inbox_name, load_catalogue
from traces.catalogue.editing import add_source, declared_source, refuse_another
from traces.catalogue.places import local_catalogue_path, pseudonym_key_path
from traces.catalogue.sources import FORMATS, LARGEST_CLUSTER, Source
from traces.common import pseudonyms
from traces.common.log import file_name, log_files
from traces.common.pseudonyms import PSEUDONYM_KINDS
from warehouse import NoWarehouse, first_row

OUTCOMES = ("kept", "ignored", "rejected")
"""The possible outcomes of a line that is not a job. Each has a reason."""
CLUSTER_FACTS = ("cluster_procs", "cluster_procs_from", "time_zone", "time_zone_from")
LINE_COUNTS = ("lines", "accepted", *OUTCOMES)


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


def source_row(source: Source) -> dict[str, Any]:
    """What is listed of a source: its declaration, with paths as text. None where it leaves the answer to the log."""
    return {
        "name": source.name,
        "format": source.format,
        "path": str(source.path) if source.path else None,
        "procs": source.procs,
        "time_zone": source.time_zone,
        "description": source.description,
        "declared_at": source.declared_at,
    }


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
def ingest(
    path: Path,
    log_format: str | None,
    name: str | None,
    procs: int | None,
    time_zone: str | None,
    columns: str | None,
    keep_names: bool,
    replace: bool,
    new_key: bool,
    as_json: bool,
) -> None:
    """Add a log (a file, or a folder of files) as a source and load it. Running it again reads what is new.

    Names in PBS and Slurm logs become pseudonyms. `tracehouse pseudonym` prints the pseudonym of a name.
    """
    from tracehouse.cli.replaying import warn_of_peak

    name = name or inbox_name(path)
    with declares(name):
        if not replace:
            refuse_another("sources", name, path)  # before the format is guessed, which may say less
            _refuse_stored(name, path)
        log_format = format_to_read(name, path, log_format, columns)
        former = add_source(name, path, log_format, procs, time_zone, keep_names, columns, replace)
        config = {"replace": replace, "new_key": new_key}
        load_declared("ingest", name, former, {"ops": {"raw__log": {"config": config}}})
    summary = _ingest_summary(name)
    if as_json:
        click.echo(json.dumps(summary))
        return
    click.echo(_ingest_text(summary))
    warn_of_peak(summary["cluster_procs"], summary["cluster_procs_from"])
    click.echo(f"\nNext: tracehouse run {name}", err=True)


def _refuse_stored(name: str, path: Path) -> None:
    """Raises ValueError where the warehouse has jobs of other logs under a name that is no longer in any catalogue."""
    if name in load_catalogue(may_be_missing=True).sources:
        return
    with suppress(NoWarehouse), open_warehouse().read() as connection:
        rows = connection.execute("SELECT file FROM raw.log_files WHERE source = ? ORDER BY file", [name]).fetchall()
        stored = [file for (file,) in rows]
        if stored and not {file_name(file) for file in log_files(path)} & set(stored):
            raise ValueError(
                f"{name!r} is in no catalogue, but the warehouse has its jobs, from {', '.join(stored[:3])}"
                f"{' and others' if stored[3:] else ''}, and no such file is in {path}. Choose another --name, or give "
                "--replace to forget its jobs"
            )


def format_to_read(name: str, path: Path, log_format: str | None, columns: str | None) -> str:
    """The format of a log: as the user says, else as the catalogue has it, else as the log looks. Prints which files look odd.

    Raises ValueError for columns of another format than Slurm's, LogError where the format is not clear from the log."""
    from traces.formats import look_at_log

    previous = declared_source(name)
    if previous is not None and previous.path == path.resolve():
        log_format = log_format or previous.format
    if columns and log_format not in (None, "slurm"):
        raise ValueError(f"--columns names the columns of a Slurm log, and the format of this one is {log_format}")
    if log_format or columns:
        return log_format or "slurm"
    look = look_at_log(path)
    for odd in look.odd[:5]:
        said = odd.few or odd.otherwise
        kind = f" ({said})" if said else ""
        text = f"{odd.path}: looks odd among {look.format} logs{kind}: other than {look.format} lines will be rejected"
        click.secho(f"  ! {text}", fg="yellow", err=True)
    return look.format


def _ingest_summary(name: str) -> dict[str, Any]:
    """The outcome of the lines of a source, and the size of its cluster, as `tracehouse ingest --json` prints them."""
    from assets.ingest.raw_log import unknown_columns

    with open_warehouse().read() as connection:
        totals = first_row(
            connection,
            f"SELECT {', '.join(LINE_COUNTS)} FROM marts.ingest_summary WHERE source = ?",
            [name],
        )
        reasons = connection.execute(
            "SELECT outcome, reason, sum(lines)::BIGINT FROM raw.line_counts WHERE source = ? AND outcome <> 'accepted' "
            "GROUP BY ALL HAVING sum(lines) > 0 ORDER BY ALL",
            [name],
        ).fetchall()
        repeats = connection.execute(
            "SELECT coalesce(reason, 'replaced by a later record'), count(*) FROM core.repeats WHERE source = ? "
            "GROUP BY ALL ORDER BY ALL",
            [name],
        ).fetchall()
        cluster = first_row(
            connection,
            f"SELECT {', '.join(CLUSTER_FACTS)} FROM core.sources WHERE source = ?",
            [name],
        )
        unknown = unknown_columns(connection, name)
    assert totals is not None and cluster is not None
    by_reason: dict[str, Any] = {
        f"{outcome}_by_reason": {reason: lines for of_reason, reason, lines in reasons if of_reason == outcome}
        for outcome in OUTCOMES
    }
    by_reason |= {"unknown_columns": unknown}
    summary = {"source": name} | dict(zip(LINE_COUNTS, totals, strict=True)) | by_reason
    summary["repeats_by_reason"] = dict(repeats)
    return summary | dict(zip(CLUSTER_FACTS, cluster, strict=True))


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
