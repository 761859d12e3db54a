"""`tracehouse ui` starts Dagster's own server in its place, on a home where every source is a partition."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.pipelines.command_line import call


def test_the_server_takes_over(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.append(arguments))
    result = call("ui", "--port", "4000")
    assert result.exit_code == 0, result.stderr
    assert started[0][1:] == ["dev", "-m", "pipelines.definitions", "-h", "127.0.0.1", "-p", "4000"]
    assert result.stderr.startswith("http://127.0.0.1:4000")
    assert (catalogue.parent / "inbox").is_dir()
