"""The command `tracehouse ui`."""

import errno
import os
import socket
import sys
from pathlib import Path

import click

from pipelines.web.guard import HOSTS_VARIABLE, AllowedNames
from tracehouse.cli.errors import plain_errors
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.places import inbox

EVERY_ADDRESS = ("0.0.0.0", "::")
"""To listen on. Browsers use another one."""


def check_port(host: str, port: int) -> None:
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
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", "-p", type=click.IntRange(1, 65_535), default=3000, show_default=True)
@click.option(
    "--allow-host",
    "allowed",
    metavar="NAME",
    multiple=True,
    help="Another name under which browsers open the UI, such as that of a proxy. Repeat for more.",
)
@click.option(
    "--plug-ins",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder whose policies (FILE.py:NAME) runs of the UI may use. Without it they use none.",
)
@plain_errors
def ui(host: str, port: int, allowed: tuple[str, ...], plug_ins: Path | None) -> None:
    """Open the Dagster UI on this project (offline, no telemetry): assets, runs, schedule, inbox sensor."""
    from pipelines.automation import declared_sources
    from pipelines.nights import register_sources
    from pipelines.processes import close_dead_runs
    from pipelines.running import dagster_instance
    from simulator.policies.plugins import FOLDER_VARIABLE

    catalogue = load_catalogue()  # a fault in the catalogue is an error here, and not a line in a server's log
    names = [*allowed, os.environ.get(HOSTS_VARIABLE, "")]
    if host not in EVERY_ADDRESS:
        names.append(f"[{host}]" if ":" in host else host)
    # no process of the UI takes a folder of the home, such as its warehouse/, for a package of that name
    environment = os.environ | {"PYTHONSAFEPATH": "1"}
    environment[HOSTS_VARIABLE] = ",".join(sorted(AllowedNames.parse(",".join(names)).given))
    if plug_ins is not None:
        environment[FOLDER_VARIABLE] = str(plug_ins.resolve())
    check_port(host, port)
    with dagster_instance() as instance:
        register_sources(instance, declared_sources(catalogue))
        register_sources(instance, list(catalogue.vasp), "vasp")
        close_dead_runs(instance)
    inbox().mkdir(exist_ok=True)
    click.echo(
        f"starting: in some seconds it is on http://{host}:{port} (stop with Ctrl-C). Drop logs into {inbox()}",
        err=True,
    )
    if host in EVERY_ADDRESS and not environment[HOSTS_VARIABLE]:
        click.echo("other machines get no answer until --allow-host names this one as they call it", err=True)
    os.execve(sys.executable, [sys.executable, "-m", "pipelines.web.services", host, str(port)], environment)
