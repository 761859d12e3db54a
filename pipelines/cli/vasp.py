"""The commands `tracehouse vasp ...`: folders of VASP runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.storage import open_warehouse
from pipelines.cli.errors import load_declared, plain_errors, raise_failures
from traces.catalogue.catalogue import inbox_name, load_catalogue
from traces.catalogue.editing import add_vasp_source, refuse_another
from traces.catalogue.vasp import VaspSource
from warehouse import first_row

if TYPE_CHECKING:
    import polars as pl


@click.group()
def vasp() -> None:
    """VASP run folders: what ran, how far running jobs are, and how long they still need."""


@vasp.command("sources")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array instead of a table.")
@plain_errors
def vasp_sources(as_json: bool) -> None:
    """List the folders of VASP runs in the catalogue."""
    listed = list(load_catalogue().vasp.values())
    if as_json:
        click.echo(json.dumps([_row_of(source) for source in listed], indent=1))
        return
    width = max((len(source.name) for source in listed), default=4)
    for source in listed:
        click.echo(f"{source.name:<{width}}  {source.description or source.path or 'synthetic'}")
    click.echo("\nAdd one: tracehouse vasp ingest PATH --name NAME", err=True)


def _row_of(source: VaspSource) -> dict[str, Any]:
    return {
        "name": source.name,
        "path": str(source.path) if source.path else None,
        "time_zone": source.time_zone,
        "accounting": source.accounting or None,
        "description": source.description,
        "declared_at": source.declared_at,
    }


@vasp.command("ingest")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the folder in the catalogue; default: its own name.")
@click.option("--time-zone", help='Time zone of the cluster, such as "Europe/Berlin"; default: the catalogue\'s.')
@click.option("--accounting", help="The source whose jobs these runs are part of.")
@click.option("--replace", is_flag=True, help="Forget the runs of another folder that has this name.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def vasp_ingest(
    path: Path, name: str | None, time_zone: str | None, accounting: str | None, replace: bool, as_json: bool
) -> None:
    """Add a folder that holds VASP run folders, at any depth, and read it; again: read what is new or has grown."""
    name = name or inbox_name(path.resolve())
    if not replace:
        refuse_another("vasp", name, path)
    config = {"ops": {"raw__vasp_runs": {"config": {"replace": replace}}}}
    former = add_vasp_source(name, path, time_zone, accounting, replace)
    load_declared("vasp_ingest", name, former, config, "vasp")
    summary = _ingest_summary(name)
    if as_json:
        click.echo(json.dumps(summary))
        return
    click.echo(_ingest_text(summary))
    click.echo(f"\nNext: tracehouse vasp run --source {name}", err=True)


def _ingest_summary(name: str) -> dict[str, Any]:
    """What became of the folders of a source: what `tracehouse vasp ingest --json` prints."""
    with open_warehouse().read() as connection:

        def counts(column: str, table: str) -> dict[str, int]:
            query = f"SELECT {column}, count(*) FROM {table} WHERE source = ? GROUP BY ALL ORDER BY ALL"
            return dict(connection.execute(query, [name]).fetchall())

        outcomes = counts("outcome", "raw.vasp_folders")
        states, reasons = counts("state", "raw.vasp_runs"), counts("reason", "raw.vasp_rejects")
    accepted, rejected = outcomes.get("accepted", 0), outcomes.get("rejected", 0)
    return {
        "source": name,
        "folders": accepted + rejected,
        "accepted": accepted,
        "rejected": rejected,
        "runs_by_state": states,
        "rejects_by_reason": reasons,
    }


def _ingest_text(summary: dict[str, Any]) -> str:
    lines = [f"folders   {summary['folders']:,}", f"accepted  {summary['accepted']:,}"]
    lines += [f"          {runs:>9,}  {state}" for state, runs in summary["runs_by_state"].items()]
    lines.append(f"rejected  {summary['rejected']:,}")
    lines += [f"          {count:>9,}  {reason}" for reason, count in summary["rejects_by_reason"].items()]
    return "\n".join(lines)


@vasp.command("run")
@click.option("--source", "-s", "names", multiple=True, help="Only this folder of runs; repeat for more. Default: all.")
@click.option(
    "--job",
    type=click.Choice(["vasp_ingest", "vasp_watch", "vasp", "rlschert"]),
    default="vasp",
    show_default=True,
    help="vasp_ingest: read; vasp_watch: also predict; vasp: also train and judge; rlschert: schedulers.",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="YAML file with Dagster run configuration (ops: ...), as in the UI's launchpad.",
)
@plain_errors
def vasp_run(names: tuple[str, ...], job: str, config: Path | None) -> None:
    """Read run folders, train and judge predictors of remaining time, and predict what is running."""
    from pipelines.running import read_config, run_job

    catalogue = load_catalogue()
    chosen = [catalogue.vasp_source(name).name for name in names] or list(catalogue.vasp)
    raise_failures(run_job(job, chosen, read_config(config), partitions="vasp"))
    for name in chosen:
        click.echo(f"\nNext: tracehouse vasp remaining {name}", err=True)


@vasp.command("remaining")
@click.argument("source")
@click.option(
    "--all", "everything", is_flag=True, help="Also runs that ended without finishing: what they would have needed."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, times in seconds.")
@plain_errors
def vasp_remaining(source: str, everything: bool, as_json: bool) -> None:
    """Print how long running VASP jobs still need, with the range that eight of ten ends fall into."""
    name = load_catalogue().vasp_source(source).name
    rows = _remaining_times(name)
    rows = rows if everything else rows.filter(state="running")
    if as_json:
        click.echo(rows.write_json())
    elif rows.is_empty():
        click.echo(f"no run of {name} is {'without an end' if everything else 'running'}")
    else:
        click.echo(_remaining_text(rows))


def _remaining_times(source: str) -> pl.DataFrame:
    """Rows of predictions.remaining_times, shortest first. Raises ValueError before there is a model."""
    with open_warehouse().read() as connection:
        rows = connection.sql(
            "SELECT * FROM predictions.remaining_times WHERE source = $source ORDER BY remaining_p50_s, folder",
            params={"source": source},
        ).pl()
        models = first_row(
            connection, "SELECT count(*) FROM predictions.remaining_time_models WHERE source = ?", [source]
        )
    if models == (0,):
        raise ValueError(f"nothing predicted for {source!r} yet: `tracehouse vasp run --source {source}`")
    return rows


def _remaining_text(rows: pl.DataFrame) -> str:
    lines = [f"{'used':>10} {'remaining':>10} {'10 %':>10} {'90 %':>10}  {'steps':>6}  {'state':<13} folder"]
    for row in rows.iter_rows(named=True):
        times = (_hours(row[c]) for c in ("used_s", "remaining_p50_s", "remaining_p10_s", "remaining_p90_s"))
        shown = " ".join(f"{text:>10}" for text in times)
        lines.append(f"{shown}  {row['electronic_steps']:>6}  {row['state']:<13} {row['folder']}")
    return "\n".join(lines)


def _hours(seconds: float) -> str:
    """H:MM:SS."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
