"""The commands `tracehouse vasp ...`: folders of VASP runs."""

import json
from pathlib import Path

import click

from assets.common.storage import open_warehouse
from pipelines.cli.errors import plain_errors, raise_failures
from traces.catalogue.catalogue import inbox_name, load_catalogue
from traces.catalogue.editing import add_vasp_source, remove_source


@click.group()
def vasp() -> None:
    """VASP run folders: what ran, how far running jobs are, and how long they still need."""


@vasp.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array instead of a table.")
@plain_errors
def sources(as_json: bool) -> None:
    """List the folders of VASP runs in the catalogue."""

    found = list(load_catalogue().vasp.values())
    if as_json:
        rows = [
            {"name": s.name, "path": str(s.path) if s.path else None, "time_zone": s.time_zone,
             "accounting": s.accounting or None, "description": s.description, "declared_at": s.declared_at}
            for s in found
        ]  # fmt: skip
        click.echo(json.dumps(rows, indent=1))
        return
    width = max((len(source.name) for source in found), default=4)
    for source in found:
        click.echo(f"{source.name:<{width}}  {source.description or source.path or 'synthetic'}")
    click.echo("\nAdd one: tracehouse vasp ingest PATH --name NAME", err=True)


@vasp.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the folder in the catalogue; default: its own name.")
@click.option("--time-zone", help='Time zone of the cluster, such as "Europe/Berlin"; default: the catalogue\'s.')
@click.option("--accounting", help="The source whose jobs these runs are part of.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def ingest(path: Path, name: str | None, time_zone: str | None, accounting: str | None, as_json: bool) -> None:
    """Add a folder that holds VASP run folders, at any depth, and read it; again: read what is new or has grown."""
    from pipelines.running import run_job

    name = name or inbox_name(path.resolve())
    replaced = add_vasp_source(name, path, time_zone, accounting)
    loaded = False
    try:
        raise_failures(run_job("vasp_ingest", [name], partitions="vasp"))
        loaded = True
    finally:
        if not loaded:  # a folder that cannot be read leaves the catalogue as it was
            remove_source(name, replaced, "vasp")
    with open_warehouse().read() as connection:
        outcomes = dict(
            connection.execute(
                "SELECT outcome, count(*) FROM raw.vasp_folders WHERE source = ? GROUP BY ALL", [name]
            ).fetchall()
        )
        states = dict(
            connection.execute(
                "SELECT state, count(*) FROM raw.vasp_runs WHERE source = ? GROUP BY ALL ORDER BY ALL", [name]
            ).fetchall()
        )
        reasons = dict(
            connection.execute(
                "SELECT reason, count(*) FROM raw.vasp_rejects WHERE source = ? GROUP BY ALL ORDER BY ALL", [name]
            ).fetchall()
        )
    accepted, rejected = outcomes.get("accepted", 0), outcomes.get("rejected", 0)
    if as_json:
        told = {"source": name, "folders": accepted + rejected, "accepted": accepted, "rejected": rejected}
        click.echo(json.dumps(told | {"runs_by_state": states, "rejects_by_reason": reasons}))
        return
    click.echo(f"folders   {accepted + rejected:,}\naccepted  {accepted:,}")
    for state, runs in states.items():
        click.echo(f"          {runs:>9,}  {state}")
    click.echo(f"rejected  {rejected:,}")
    for reason, count in reasons.items():
        click.echo(f"          {count:>9,}  {reason}")
    click.echo(f"\nNext: tracehouse vasp run --source {name}", err=True)


@vasp.command()
@click.option("--source", "-s", "names", multiple=True, help="Only this folder of runs; repeat for more. Default: all.")
@click.option("--job", type=click.Choice(["vasp_ingest", "vasp_watch", "vasp", "rlschert"]), default="vasp", show_default=True,
              help="vasp_ingest: read; vasp_watch: also predict; vasp: also train and judge; rlschert: schedulers.")  # fmt: skip
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="YAML file with Dagster run configuration (ops: ...), as in the UI's launchpad.")  # fmt: skip
@plain_errors
def run(names: tuple[str, ...], job: str, config: Path | None) -> None:
    """Read run folders, train and judge predictors of remaining time, and predict what is running."""
    from pipelines.running import read_config, run_job

    catalogue = load_catalogue()
    chosen = [catalogue.vasp_source(name).name for name in names] or list(catalogue.vasp)
    raise_failures(run_job(job, chosen, read_config(config), partitions="vasp"))
    for name in chosen:
        click.echo(f"\nNext: tracehouse vasp remaining {name}", err=True)


@vasp.command()
@click.argument("source")
@click.option(
    "--all", "everything", is_flag=True, help="Also runs that ended without finishing: what they would have needed."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, times in seconds.")
@plain_errors
def remaining(source: str, everything: bool, as_json: bool) -> None:
    """Print how long running VASP jobs still need, with the range that eight of ten ends fall into."""

    name = load_catalogue().vasp_source(source).name
    with open_warehouse().read() as connection:
        rows = connection.sql(
            "SELECT * FROM predictions.remaining_times WHERE source = $source ORDER BY remaining_p50_s, folder",
            params={"source": name},
        ).pl()
        predictors = connection.execute(
            "SELECT count(*) FROM predictions.remaining_time_models WHERE source = ?", [name]
        ).fetchall()
    if not predictors[0][0]:
        raise ValueError(f"nothing predicted for {name!r} yet: `tracehouse vasp run --source {name}`")
    rows = rows if everything else rows.filter(state="running")
    if as_json:
        click.echo(rows.write_json())
        return
    if rows.is_empty():
        click.echo(f"no run of {name} is {'without an end' if everything else 'running'}")
        return
    click.echo(f"{'used':>10} {'remaining':>10} {'10 %':>10} {'90 %':>10}  {'steps':>6}  {'state':<13} folder")
    for row in rows.iter_rows(named=True):
        times = (_hours(row[c]) for c in ("used_s", "remaining_p50_s", "remaining_p10_s", "remaining_p90_s"))
        shown = " ".join(f"{text:>10}" for text in times)
        click.echo(f"{shown}  {row['electronic_steps']:>6}  {row['state']:<13} {row['folder']}")


def _hours(seconds: float) -> str:
    """H:MM:SS."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
