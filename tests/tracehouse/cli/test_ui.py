"""`tracehouse ui` starts Dagster's own server in its place, on a home where every source is a partition."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pipelines.web.headers import HOSTS_VARIABLE
from simulator.policies.plugins import FOLDER_VARIABLE
from tests.pipelines.command_line import call, fail


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that took the place of this process."""
    commands: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: commands.append(arguments))
    for name in (HOSTS_VARIABLE, FOLDER_VARIABLE):
        monkeypatch.setenv(name, "")  # so that it is undone
    return commands


def test_the_server_takes_over(catalogue: Path, started: list[list[str]]) -> None:
    result = call("ui", "--port", "4000")
    assert result.exit_code == 0, result.stderr
    assert started[0][1:] == ["-m", "pipelines.web.services", "127.0.0.1", "4000"]
    assert result.stderr.startswith("http://127.0.0.1:4000")
    assert (catalogue.parent / "inbox").is_dir()
    assert os.environ[HOSTS_VARIABLE] == "127.0.0.1" and os.environ[FOLDER_VARIABLE] == ""


def test_names_and_plug_ins_reach_the_server(catalogue: Path, started: list[list[str]]) -> None:
    folder = catalogue.parent
    result = call("ui", "--host", "0.0.0.0", "--port", "4000", "--allow-host", "ui.example.org", "--plug-ins", folder)
    assert result.exit_code == 0, result.stderr
    assert os.environ[HOSTS_VARIABLE] == "ui.example.org" and os.environ[FOLDER_VARIABLE] == str(folder)
    os.environ[HOSTS_VARIABLE] = ""
    assert "until --allow-host names this one" in call("ui", "--host", "0.0.0.0", "--port", "4000").stderr
    assert "is no name of a host" in fail("ui", "--allow-host", "*")


def test_a_busy_port_ends_in_a_sentence(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("the server was started"))
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        message = fail("ui", "--port", str(port))
    assert message.startswith(f"port {port} of 127.0.0.1 is in use, perhaps by another `tracehouse ui`: --port ")
    assert message.endswith(" is free\n") and len(message.splitlines()) == 1


def test_an_address_that_is_not_of_this_machine(catalogue: Path) -> None:
    assert "cannot be listened on" in fail("ui", "--host", "192.0.2.1", "--port", "4001")
    assert "cannot be listened on" in fail("ui", "--host", "no.such.host.invalid", "--port", "4001")
