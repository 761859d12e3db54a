"""`tracehouse models` and `rollback` before there is a model; with models: test_automation_nightly.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from tests.pipelines.command_line import fail, use_home


def test_a_source_without_models(loaded: tuple[Path, str]) -> None:
    for command in ("models", "rollback"):
        assert "source 'mine' has no run-time model yet" in fail(command, "mine")
        assert "unknown source 'nowhere'" in fail(command, "nowhere")


def test_a_version_is_a_number(loaded: tuple[Path, str]) -> None:
    assert "'first' is not a valid integer" in fail("rollback", "mine", "--to", "first")


def test_a_view_of_somebody_else_reads_no_file(
    loaded: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warehouse from elsewhere may have views of its own, which a command would run."""
    shutil.copytree(loaded[0].parent, tmp_path / "home")
    use_home(monkeypatch, tmp_path / "home")
    (tmp_path / "secret").write_text("the key")
    with open_warehouse().write() as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW predictions.model_history AS SELECT 'mine' AS source, 1 AS event, content AS champion "
            f"FROM read_text('{tmp_path / 'secret'}')"
        )
    message = fail("models", "mine", "--json")
    assert "one of its views would read another file or the network" in message and "the key" not in message
