"""`tracehouse warehouse`, on files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.command_line import call, use_home
from warehouse import Warehouse


def test_a_file_is_copied_into_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    source, target = tmp_path / "x.duckdb", tmp_path / "y" / "y.duckdb"
    with Warehouse(source).write() as connection:
        connection.execute("INSERT INTO core.capacity VALUES ('a', DATE '2026-01-01', 4, 2.5, 0, 3)")
    done = call("warehouse", "copy", source, target)
    assert done.exit_code == 0, done.stderr
    assert "copied 1 rows and 0 model files" in done.stdout and "core.capacity" in done.stdout
    again = call("warehouse", "copy", source, target)
    assert again.exit_code == 1 and "is not empty" in again.stderr and "--replace" in again.stderr


def test_a_file_is_not_tidied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    done = call("warehouse", "tidy")
    assert done.exit_code == 1 and "a file needs no tidying" in done.stderr
