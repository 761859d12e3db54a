"""`tracehouse ui` starts Dagster's own server in its place, on a home where every source is a partition."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.pipelines.command_line import call, fail


def test_the_server_takes_over(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.append(arguments))
    result = call("ui", "--port", "4000")
    assert result.exit_code == 0, result.stderr
    assert started[0][1:] == ["dev", "-m", "pipelines.definitions", "-h", "127.0.0.1", "-p", "4000"]
    assert result.stderr.startswith("http://127.0.0.1:4000")
    assert (catalogue.parent / "inbox").is_dir()


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
