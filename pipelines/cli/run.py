"""The commands `tracehouse run`, `tracehouse report` and `tracehouse ui`."""

import errno
import json
import socket
import sys
from pathlib import Path

import click
from click.core import ParameterSource

from assets.common.storage import open_warehouse, report_path
from models.scheduling.options import STARTED_FROM
from pipelines.cli.errors import plain_errors, raise_failures
from pipelines.cli.parameters.names import complete_assets
from pipelines.cli.parameters.sources import source_argument
from traces.catalogue.catalogue import Catalogue, load_catalogue
from traces.catalogue.places import inbox

JOBS_OF_SOURCES = (
    *("ingest", "train", "predict", "evaluate", "replay_runs", "population", "ddppo", "ddppo_transfer"),
    *("experiments", "topology", "everything"),
)
"""All but topology are of a source."""


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
    """Materialize the pipeline, raw log to report, and print the verdicts on policies. Without SOURCE: of all sources."""
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
@source_argument("Only this source; repeat for more. Default: all evaluated.", several=True)
@plain_errors
def report(names: tuple[str, ...]) -> None:
    """Write the HTML reports again and say where they are. Without SOURCE: of all evaluated."""
    from pipelines.running import run_job

    with open_warehouse().read() as connection:
        evaluated = [
            row[0] for row in connection.execute("SELECT DISTINCT source FROM marts.leaderboard ORDER BY 1").fetchall()
        ]
    for name in names:
        load_catalogue().source(name)
        if name not in evaluated:
            raise ValueError(f"source {name!r} has not been evaluated yet: `tracehouse run {name}`")
    chosen = list(names) or evaluated
    if not chosen:
        raise ValueError("no source has been evaluated yet: `tracehouse run`")
    failures = run_job("report", chosen)
    for name in chosen:
        if name not in failures:
            click.echo(report_path(name))
    raise_failures(failures)


def _print_verdicts(name: str, judged: list[tuple]) -> None:
    """A line for each policy over one replay of the whole log, those that are worth adopting first."""
    click.echo(
        f"\n{name}: one replay of the whole log, over its later {judged[0][-1]:,} jobs, each over FCFS with EASY (below 1 is better)"
    )
    click.echo("rank  policy       run times    slowdown  mean wait   p99 wait  wait by work  wide jobs  verdict")
    for rank, policy, estimates, *ratios, verdict, _ in judged:
        cells = [f"{ratio:.2f}" if ratio is not None else "" for ratio in ratios]
        click.echo(
            f"{rank if rank else '':>4}  {policy:<12} {estimates:<10} {cells[0]:>10} {cells[1]:>10} {cells[2]:>10} "
            f"{cells[3]:>13} {cells[4]:>10}  {verdict}"
        )


def _print_results(names: list[str]) -> None:
    """The verdicts on each source, whether anything was learned, and where results lie."""
    warehouse = open_warehouse()
    for name in names:
        with warehouse.read() as connection:
            judged = connection.execute(
                "SELECT b.rank, policy, estimates, s.bounded_slowdown_ratio, s.wait_ratio, s.p99_wait_ratio, s.area_wait_ratio, "
                "s.wide_wait_ratio, s.verdict, s.jobs FROM marts.leaderboard AS b "
                "INNER JOIN replay.period_scores AS s USING (source, policy, estimates, backfill) "
                "WHERE source = ? ORDER BY b.rank, policy, estimates",
                [name],
            ).fetchall()
            champion = connection.execute(
                "SELECT best_epoch, parameters FROM policies.learned_policies WHERE source = ? AND champion AND learns = 'order'",
                [name],
            ).fetchone()
        _print_verdicts(name, judged)
        start = STARTED_FROM.get(json.loads(champion[1]).get("start")) if champion and champion[0] == 0 else None
        if start:
            click.echo(f"nothing was learned: the learned policy is what training started from ({start})")
    click.echo(f"\nwarehouse  {warehouse.path}")
    for name in names:
        click.echo(f"report     {report_path(name)}")
    click.echo('\nNext: tracehouse sql "FROM marts.leaderboard"  |  make ui  |  tracehouse ingest YOUR_LOG --name mine')


def _check_port(host: str, port: int) -> None:
    """Raises ValueError, with a port that is free, where nobody can listen there."""
    try:
        _listen(host, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise ValueError(
                f"{host}:{port}: cannot be listened on ({error.strerror}): give another --host or --port"
            ) from None
        free = next((other for other in range(port + 1, min(port + 100, 65_536)) if _is_free(host, other)), None)
        advice = f"--port {free} is free" if free else "give another --port"
        raise ValueError(f"port {port} of {host} is in use, perhaps by another `tracehouse ui`: {advice}") from None


def _listen(host: str, port: int) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that has just ended does not count
        listener.bind(address)
        listener.listen()


def _is_free(host: str, port: int) -> bool:
    try:
        _listen(host, port)
    except OSError:
        return False
    return True


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", "-p", type=click.IntRange(1, 65_535), default=3000, show_default=True)
@plain_errors
def ui(host: str, port: int) -> None:
    """Open the Dagster UI on this project (offline, no telemetry): assets, runs, schedule, inbox sensor."""
    import os

    from pipelines.automation import declared_sources, register_sources
    from pipelines.processes import close_dead_runs
    from pipelines.running import dagster_instance

    catalogue = load_catalogue()  # a fault in the catalogue is an error here, and not a line in a server's log
    _check_port(host, port)
    with dagster_instance() as instance:
        register_sources(instance, declared_sources(catalogue))
        register_sources(instance, list(catalogue.vasp), "vasp")
        close_dead_runs(instance)
    inbox().mkdir(exist_ok=True)
    dagster = str(Path(sys.executable).with_name("dagster"))
    click.echo(f"http://{host}:{port} (stop with Ctrl-C). Drop logs into {inbox()}", err=True)
    os.execv(dagster, [dagster, "dev", "-m", "pipelines.definitions", "-h", host, "-p", str(port)])
