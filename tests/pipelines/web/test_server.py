"""Dagster's own web server is started with the guard in front of it."""

from __future__ import annotations

import pytest
from dagster_webserver import cli

from pipelines.web import server
from pipelines.web.guard import Guard
from pipelines.web.headers import HOSTS_VARIABLE


def test_the_server_makes_a_guarded_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOSTS_VARIABLE, "ui.example.org")
    monkeypatch.setattr(server, "create_app_from_workspace_process_context", lambda *_, **__: "dagster")
    monkeypatch.setattr(
        cli, "create_app_from_workspace_process_context", server.create_app_from_workspace_process_context
    )
    monkeypatch.setattr(cli, "main", lambda: None)
    server.serve_ui()
    guard = cli.create_app_from_workspace_process_context()  # type: ignore[call-arg]
    assert isinstance(guard, Guard)
    assert guard.application == "dagster" and guard.names.given == {"ui.example.org"}


def test_a_dagster_that_makes_it_elsewhere_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "create_app_from_workspace_process_context", None)
    with pytest.raises(AssertionError):
        server.serve_ui()
