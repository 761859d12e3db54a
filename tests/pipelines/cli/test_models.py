"""`tracehouse models` and `rollback` before there is a model; with models: test_automation_nightly.py."""

from __future__ import annotations

from pathlib import Path

from tests.pipelines.command_line import fail


def test_a_source_without_models(loaded: tuple[Path, str]) -> None:
    for command in ("models", "rollback"):
        assert "source 'mine' has no run-time model yet" in fail(command, "--source", "mine")
        assert "unknown source 'nowhere'" in fail(command, "--source", "nowhere")


def test_a_version_is_a_number(loaded: tuple[Path, str]) -> None:
    assert "'first' is not a valid integer" in fail("rollback", "--source", "mine", "--to", "first")
