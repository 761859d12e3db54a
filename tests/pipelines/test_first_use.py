"""What `make setup` compiles."""

from pathlib import Path

import pytest

from pipelines.first_use import FIRST_COMMANDS, TINY_SOURCES, compile_for_first_use
from traces.catalogue.catalogue import load_catalogue


def test_the_tiny_logs_are_sources_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sources.local.toml").write_text(TINY_SOURCES, encoding="utf-8")
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")

    sources = load_catalogue().sources

    assert {command[1] for command in FIRST_COMMANDS} == {name for name in sources if name.startswith("tiny")}
    assert {sources[command[1]].format for command in FIRST_COMMANDS} == {"swf", "pbs"}


def test_a_failed_command_is_reported_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    failed = compile_for_first_use([("--version",), ("no-such-command",)])

    assert len(failed) == 1
    assert "no-such-command" in failed[0]
    assert not list(tmp_path.iterdir())


def test_afterwards_the_pipeline_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compile_for_first_use() == []
    files = {path for path in tmp_path.rglob("*") if path.is_file()}

    assert compile_for_first_use([("run", "campus-pbs"), ("replay", "lublin-256", "--policy", "WFP3")]) == []

    assert files
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == files
