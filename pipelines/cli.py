"""The command line, `tracehouse`."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from pipelines.cli_models import models, rollback
from pipelines.cli_replay import compare, replay
from pipelines.cli_train import distil, train
from pipelines.cli_vasp import vasp
from pipelines.cli_wait import wait, walltime
from pipelines.errors import plain_errors, raise_failures
from sql import load as sql_text
from traces.catalogue import (
    FORMATS,
    add_source,
    load_catalogue,
    local_catalogue_path,
    pseudonym_key_path,
    remove_source,
)
from traces.pseudonyms import KINDS
from warehouse import first_row


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="tracehouse")
def main() -> None:
    """Batch cluster logs into one DuckDB warehouse: run-time predictions, learned scheduling policies, replays.

    Start with `tracehouse run` (the bundled sources, raw log to report), then `tracehouse sql "FROM marts.leaderboard"`.
    """


main.add_command(train)
main.add_command(distil)
main.add_command(replay)
main.add_command(compare)
main.add_command(wait)
main.add_command(walltime)
main.add_command(models)
main.add_command(rollback)
main.add_command(vasp)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array instead of a table.")
@plain_errors
def sources(as_json: bool) -> None:
    """List the sources of the catalogue."""
    found = list(load_catalogue().sources.values())
    if as_json:
        rows = [
            {"name": s.name, "format": s.format, "path": str(s.path) if s.path else None, "procs": s.procs,
             "time_zone": s.time_zone, "description": s.description, "declared_at": s.declared_at}
            for s in found
        ]  # fmt: skip
        click.echo(json.dumps(rows, indent=1))
        return
    width = max((len(source.name) for source in found), default=4)
    for source in found:
        where = str(source.path) if source.path else "generated"
        procs = f"{source.procs} procs" if source.procs else "procs from the log"
        click.echo(f"{source.name:<{width}}  {source.format:<4}  {procs:<18}  {source.description or where}")
    click.echo(f"\nAdd one: tracehouse ingest PATH --name NAME (written to {local_catalogue_path()})", err=True)


@main.command()
@click.option("--source", "-s", "names", multiple=True, help="Only this source; repeat for more. Default: all.")
@click.option("--job", type=click.Choice(["ingest", "train", "predict", "evaluate", "replay_runs", "experiments", "everything"]),
              default="everything", show_default=True, help="Part of the pipeline to run.")  # fmt: skip
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="YAML file with Dagster run configuration (ops: ...), as in the UI's launchpad.")  # fmt: skip
@plain_errors
def run(names: tuple[str, ...], job: str, config: Path | None) -> None:
    """Materialize the pipeline, raw log to report, and print the leaderboard."""
    from pipelines.running import read_config, run_job

    catalogue = load_catalogue()
    chosen = [catalogue.source(name).name for name in names] or list(catalogue.sources)
    failures = run_job(job, chosen, read_config(config))
    done = [name for name in chosen if name not in failures]
    if done and job in ("evaluate", "everything"):
        _print_leaderboards(done)
    raise_failures(failures)


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "log_format", type=click.Choice(FORMATS), help="Format of the log; found out if not given.")
@click.option("--name", help="Name of the source; default: the file's name.")
@click.option("--procs", type=click.IntRange(min=1), help="Processors of the cluster; default: from the log.")
@click.option("--time-zone", help='Time zone of the cluster, such as "Europe/Berlin"; default: the catalogue\'s.')
@click.option("--keep-names", is_flag=True, help="Keep users, groups, accounts, projects and job names as they are, instead of "
              "pseudonyms.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def ingest(
    path: Path,
    log_format: str | None,
    name: str | None,
    procs: int | None,
    time_zone: str | None,
    keep_names: bool,
    as_json: bool,
) -> None:
    """Add a log (a file, or a folder of files) as a source and load it; running it again reads what is new.

    Names in PBS and Slurm logs become pseudonyms; `tracehouse pseudonym` finds a name's.
    """
    from assets.storage import open_warehouse
    from pipelines.replaying import warn_of_peak
    from pipelines.running import run_job
    from traces.catalogue import inbox_name
    from traces.formats import guess_format

    name = name or inbox_name(path)
    log_format = log_format or guess_format(path)
    replaced = add_source(name, path, log_format, procs, time_zone, keep_names)
    loaded = False
    try:
        raise_failures(run_job("ingest", [name]))
        loaded = True
    finally:
        if not loaded:  # a log that cannot be loaded leaves the catalogue as it was
            remove_source(name, replaced)
    with open_warehouse().read() as connection:
        totals = first_row(
            connection,
            "SELECT lines, accepted, kept, ignored, rejected FROM marts.ingest_summary WHERE source = ?",
            [name],
        )
        reasons = connection.execute(
            "SELECT outcome, reason, sum(lines)::BIGINT FROM raw.line_counts WHERE source = ? AND outcome <> 'accepted' "
            "GROUP BY ALL HAVING sum(lines) > 0 ORDER BY ALL",
            [name],
        ).fetchall()
        cluster = first_row(
            connection, "SELECT cluster_procs, cluster_procs_from FROM core.sources WHERE source = ?", [name]
        )
    assert totals is not None and cluster is not None
    counts = dict(zip(("lines", "accepted", "kept", "ignored", "rejected"), totals, strict=True))
    by_reason = {
        outcome: {reason: lines for kind, reason, lines in reasons if kind == outcome}
        for outcome in ("kept", "ignored", "rejected")
    }
    if as_json:
        told = {"source": name} | counts | {f"{outcome}_by_reason": reasons for outcome, reasons in by_reason.items()}
        click.echo(json.dumps(told | {"cluster_procs": cluster[0], "cluster_procs_from": cluster[1]}))
        return
    click.echo(f"source    {name} ({cluster[0]} processors, from the {cluster[1]})")
    click.echo(f"lines     {counts['lines']:,}\naccepted  {counts['accepted']:,}")
    for outcome in ("kept", "ignored", "rejected"):
        click.echo(f"{outcome:<9} {counts[outcome]:,}")
        for reason, lines in by_reason[outcome].items():
            click.echo(f"          {lines:>9,}  {reason}")
    warn_of_peak(*cluster)
    click.echo(f"\nNext: tracehouse run --source {name}", err=True)


@main.command()
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with what each finding means.")
@plain_errors
def health(source: str, as_json: bool) -> None:
    """Print what looks wrong in the log of a source that is in the warehouse, worst first."""
    from assets.storage import open_warehouse

    source = load_catalogue().source(source).name
    with open_warehouse().read() as connection:
        found = connection.sql(sql_text("marts.health_report"), params={"source": source}).pl().to_dicts()
    if not found:
        raise ValueError(f"no report on source {source!r} yet: `tracehouse run --source {source} --job ingest`")
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for row in found:
        share = f" ({row['share']:.2%})" if row["found"] and row["share"] is not None else ""
        click.echo(f"{row['found']:>12,} {row['unit']:<10} {row['finding']}{share}")
        if row["found"]:
            click.echo("".join(f"{'':>24}{text}\n" for text in (row["meaning"], row["example"]) if text), nl=False)


@main.command()
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("names", nargs=-1, required=True)
@plain_errors
def pseudonym(kind: str, names: tuple[str, ...]) -> None:
    """Print the pseudonym of every name; `-` reads names from standard input, one a line.

    To find who is behind a pseudonym, give all names: getent passwd | cut -d: -f1 | tracehouse pseudonym user -
    """
    from traces import pseudonyms

    path = pseudonym_key_path()
    if not path.exists():
        raise click.ClickException(f"{path}: no key yet; the first PBS or Slurm log that is loaded makes one")
    key = pseudonyms.read_key(path)
    given = [name for word in names for name in (sys.stdin.read().split("\n") if word == "-" else [word]) if name]
    for name in given:
        click.echo(f"{pseudonyms.pseudonym(key, kind, name)}\t{name}")


@main.command()
@click.argument("source")
@click.argument("file", type=click.Path(dir_okay=False, writable=True, path_type=Path))
@click.option("--format", "log_format", type=click.Choice(["swf"]), default="swf", show_default=True)
@plain_errors
def export(source: str, file: Path, log_format: str) -> None:
    """Write all jobs of a source to FILE in the Standard Workload Format; gzipped if its name ends in .gz.

    Reading the file back gives the same jobs. Users, groups, executables and queues become numbers, as the format wants.
    """
    from assets.export import export_swf
    from assets.storage import open_warehouse

    jobs = export_swf(open_warehouse(), load_catalogue().source(source).name, file)
    click.echo(f"wrote {jobs:,} jobs to {file}", err=True)


@main.command()
@click.argument("query")
@click.option("--format", "output_format", type=click.Choice(["table", "csv", "json", "parquet"]), default="table",
              show_default=True)  # fmt: skip
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="File to write; default: print.")
@plain_errors
def sql(query: str, output_format: str, output: Path | None) -> None:
    """Run a read-only SQL query over the warehouse. `DESCRIBE core.jobs` and `FROM duckdb_columns()` teach."""
    import duckdb
    import polars as pl

    from assets.storage import open_warehouse

    if output_format == "parquet" and output is None and sys.stdout.isatty():
        raise click.ClickException("parquet is binary: give --output FILE, or send it into a file or a pipe")
    with open_warehouse().read() as connection:
        try:
            rows = _rows_of(connection.sql(query), output_format)
        except (duckdb.Error, pl.exceptions.PolarsError) as error:
            raise click.ClickException(f"SQL: {error}") from None
    target: Any = output if output is not None else sys.stdout.buffer
    if output_format == "parquet":
        rows.write_parquet(target)
        return
    if output_format == "csv":
        text = rows.write_csv()
    elif output_format == "json":
        text = rows.write_json() + "\n"
    else:
        with pl.Config(
            tbl_rows=200,
            tbl_cols=60,
            tbl_width_chars=220,
            fmt_str_lengths=200,
            thousands_separator=True,
            tbl_hide_dataframe_shape=True,
            tbl_hide_column_data_types=True,
        ):
            text = f"{rows}\n({rows.height} row{'' if rows.height == 1 else 's'})\n"
    if output is not None:
        output.write_text(text)
    else:
        click.echo(text, nl=False)


@main.command()
@click.option(
    "--source", "-s", "names", multiple=True, help="Only this source; repeat for more. Default: all evaluated."
)
@plain_errors
def report(names: tuple[str, ...]) -> None:
    """Write the HTML reports again and say where they are."""
    from assets.storage import open_warehouse, report_path
    from pipelines.running import run_job

    with open_warehouse().read() as connection:
        evaluated = [
            row[0] for row in connection.execute("SELECT DISTINCT source FROM marts.leaderboard ORDER BY 1").fetchall()
        ]
    for name in names:
        load_catalogue().source(name)
        if name not in evaluated:
            raise ValueError(f"source {name!r} has not been evaluated yet: `tracehouse run --source {name}`")
    chosen = list(names) or evaluated
    if not chosen:
        raise ValueError("no source has been evaluated yet: `tracehouse run`")
    failures = run_job("report", chosen)
    for name in chosen:
        if name not in failures:
            click.echo(report_path(name))
    raise_failures(failures)


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", "-p", default=3000, show_default=True)
@plain_errors
def ui(host: str, port: int) -> None:
    """Open the Dagster UI on this project (offline, no telemetry): assets, runs, schedule, inbox sensor."""
    import os

    from pipelines.automation import register_sources
    from pipelines.processes import close_dead_runs
    from pipelines.running import dagster_instance
    from traces.catalogue import inbox

    catalogue = load_catalogue()  # a fault in the catalogue is told here rather than in a server's log
    with dagster_instance() as instance:
        register_sources(instance, list(catalogue.sources))
        register_sources(instance, list(catalogue.vasp), "vasp")
        close_dead_runs(instance)
    inbox().mkdir(exist_ok=True)
    dagster = str(Path(sys.executable).with_name("dagster"))
    click.echo(f"http://{host}:{port} (stop with Ctrl-C); drop logs into {inbox()}", err=True)
    os.execv(dagster, [dagster, "dev", "-m", "pipelines.definitions", "-h", host, "-p", str(port)])


def _rows_of(relation: Any, output_format: str) -> Any:
    """Rows of a DuckDB relation (None for a statement without any) as a frame that the output format can hold."""
    import polars as pl

    if relation is None:
        return pl.DataFrame()
    as_text: tuple[str, ...] = ("interval", "bit", "time with time zone")
    if output_format == "csv":
        as_text += ("list", "struct", "map", "array", "union")
    columns = []
    for name, kind in zip(relation.columns, relation.types, strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        columns.append(f"CAST({quoted} AS VARCHAR) AS {quoted}" if kind.id in as_text else quoted)
    rows = relation.project(", ".join(columns)).pl()
    if output_format == "json":  # sums are 128-bit numbers, which would be written as text
        wide = [name for name, kind in rows.schema.items() if kind == pl.Int128 or kind == pl.Decimal(38, 0)]
        for name in wide:
            narrow = rows[name].cast(pl.Int64, strict=False)
            fits = narrow.null_count() == rows[name].null_count()
            rows = rows.with_columns(narrow if fits else rows[name].cast(pl.Float64))
    return rows


def _print_leaderboards(names: list[str]) -> None:
    from assets.storage import open_warehouse, report_path

    warehouse = open_warehouse()
    for name in names:
        with warehouse.read() as connection:
            rows = connection.execute(
                "SELECT rank, policy, estimates, average_bounded_slowdown, bounded_slowdown_low, bounded_slowdown_high, "
                "average_wait_s, minus_saf, minus_saf_low, minus_saf_high, windows "
                "FROM marts.leaderboard WHERE source = ? ORDER BY rank",
                [name],
            ).fetchall()
        click.echo()
        click.secho(f"{name}: average bounded slowdown on {rows[0][-1]} unseen windows, EASY backfilling", bold=True)
        click.echo("rank  policy   run times    slowdown  95 % interval        wait, s   minus SAF  95 % interval")
        for rank, policy, estimates, mean, low, high, wait_s, minus, minus_low, minus_high, _ in rows:
            interval = "too few windows" if low is None else f"{low:.2f} to {high:.2f}"
            minus_interval = "" if minus_low is None else f"{minus_low:+.2f} to {minus_high:+.2f}"
            click.echo(
                f"{rank:>4}  {policy:<8} {estimates:<10} {mean:>10.2f}  {interval:<19} {wait_s:>8,.0f}  "
                f"{minus:>+10.2f}  {minus_interval}"
            )
    click.echo(f"\nwarehouse  {warehouse.path}")
    for name in names:
        click.echo(f"report     {report_path(name)}")
    click.echo('\nNext: tracehouse sql "FROM marts.leaderboard"  |  make ui  |  tracehouse ingest YOUR_LOG --name mine')


if __name__ == "__main__":
    main()
