"""Machines that share a Dagster instance on PostgreSQL, as processes of this one: a web server, a daemon, and code locations.

Each machine has a home of its own. Where TRACEHOUSE_WAREHOUSE names a warehouse, all of them share that one, and else each has a file.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg
import pytest
import yaml
from dagster_graphql import DagsterGraphQLClient

from pipelines.processes import PROCESS_TAG
from pipelines.running import REPOSITORY
from tests.deploy.postgres import Postgres
from tests.rules import PROJECT

SETTINGS = PROJECT / "docs" / "deploy" / "dagster.yaml"
PATIENCE_S = 300.0
"""Not what anything takes, but what a machine that others keep busy may need."""
_Thing = TypeVar("_Thing")


def eventually(look: Callable[[], _Thing | None], what: str) -> _Thing:
    """What `look` gives once it gives something. Raises AssertionError after PATIENCE_S."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        thing = look()
        if thing:
            return thing
        time.sleep(0.05)
    raise AssertionError(f"not after {PATIENCE_S:.0f} s: {what}")


@dataclass
class Machines:
    """names: of the code locations. instance: what all of them share."""

    folder: Path
    names: list[str]
    instance: dg.DagsterInstance
    client: DagsterGraphQLClient

    def home(self, name: str) -> Path:
        """The home of a machine."""
        return self.folder / name

    def launch(self, job: str, machine: str, source: str) -> str:
        """Starts a job for a source on a machine, as the UI does. Returns the run's id."""
        return self.client.submit_job_execution(
            job,
            repository_location_name=machine,
            repository_name=REPOSITORY.partition("@")[0],
            tags={"dagster/partition": source},
        )

    def status(self, run_id: str) -> dg.DagsterRunStatus:
        """The present status of a run."""
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run.status

    def kill_at(self, run_id: str, step: str) -> None:
        """Ends the process of a run with SIGKILL, as soon as it is at that step."""

        def begun() -> bool:
            events = self.instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_START)
            return any(entry.step_key == step for entry in events)

        eventually(begun, f"run {run_id} begins {step}")
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        os.kill(int(run.tags[PROCESS_TAG].partition("-")[0]), signal.SIGKILL)

    def wait_for(self, run_id: str, status: dg.DagsterRunStatus) -> None:
        """Until a run has the status."""
        eventually(lambda: self.status(run_id) == status, f"run {run_id} becomes {status.value}")

    def repeated(self, run_id: str) -> dg.DagsterRun:
        """The run that repeats another, once it has succeeded."""

        def look() -> dg.DagsterRun | None:
            runs = self.instance.get_runs(dg.RunsFilter(tags={"dagster/root_run_id": run_id}))
            return next((run for run in runs if run.status == dg.DagsterRunStatus.SUCCESS), None)

        return eventually(look, f"run {run_id} is repeated")


@contextmanager
def running_machines(folder: Path, postgres: Postgres, catalogues: dict[str, str]) -> Iterator[Machines]:
    """A code location for each machine, and a daemon and a web server for all of them. catalogues: by machine, its `sources.toml`."""
    ports = {name: _free_port() for name in (*catalogues, "web")}
    servers = [
        {"grpc_server": {"host": "127.0.0.1", "port": ports[name], "location_name": name}} for name in catalogues
    ]
    centre = folder / "centre"
    centre.mkdir()
    shutil.copy(SETTINGS, centre / "dagster.yaml")
    (centre / "workspace.yaml").write_text(yaml.safe_dump({"load_from": servers}))
    environment = os.environ | _instance_environment(folder, postgres) | {"DAGSTER_HOME": str(centre)}
    with ExitStack() as stack:
        for name, catalogue in catalogues.items():
            home = folder / name
            home.mkdir()
            (home / "sources.toml").write_text(catalogue)
            own = {"TRACEHOUSE_HOME": str(home), "TRACEHOUSE_SOURCES": str(home / "sources.toml")}
            own |= {"TRACEHOUSE_EXECUTOR": "in_process"}
            words = ["api", "grpc", "-m", "pipelines.definitions", "-h", "127.0.0.1", "-p", str(ports[name])]
            stack.enter_context(_server("dagster", words, folder / f"{name}.log", environment | own))
        for name in catalogues:
            eventually(lambda port=ports[name]: _answers(port), f"the code location {name} answers")  # type: ignore[misc]
        workspace = ["-w", str(centre / "workspace.yaml")]
        web = ["-h", "127.0.0.1", "-p", str(ports["web"]), *workspace]
        stack.enter_context(_server("python", ["-m", "pipelines.web.server", *web], folder / "web.log", environment))
        eventually(lambda: _answers(ports["web"]), "the web server answers")
        stack.enter_context(_server("dagster-daemon", ["run", *workspace], folder / "daemon.log", environment))
        instance = stack.enter_context(_instance(centre, environment))
        client = DagsterGraphQLClient("127.0.0.1", port_number=ports["web"])
        yield Machines(folder, list(catalogues), instance, client)


@contextmanager
def _instance(centre: Path, environment: dict[str, str]) -> Iterator[dg.DagsterInstance]:
    with pytest.MonkeyPatch.context() as patch:
        for name in environment.keys() - os.environ.keys():
            patch.setenv(name, environment[name])
        with dg.DagsterInstance.from_config(str(centre)) as instance:
            yield instance


def _instance_environment(folder: Path, postgres: Postgres) -> dict[str, str]:
    """What docs/deploy/dagster.yaml reads."""
    server = postgres.environment
    return {
        "DAGSTER_PG_HOST": server["PGHOST"],
        "DAGSTER_PG_PORT": server["PGPORT"],
        "DAGSTER_PG_DB": "postgres",
        "DAGSTER_PG_USER": server["PGUSER"],
        "DAGSTER_PG_PASSWORD": server["PGPASSWORD"],
        "DAGSTER_ARTIFACTS": str(folder / "artifacts"),
    }


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _server(program: str, arguments: list[str], log: Path, environment: dict[str, str]) -> Iterator[None]:
    """A process, with all that it starts, until the end."""
    command: list[Any] = [Path(sys.executable).with_name(program), *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=PROJECT, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
