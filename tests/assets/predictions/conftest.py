"""The warehouse of the tests of remaining times."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.assets.predictions.remaining import warehouse_of_runs
from warehouse import Warehouse


@pytest.fixture(scope="session")
def runs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Do not change: each test takes a copy."""
    return warehouse_of_runs(tmp_path_factory.mktemp("vasp"))


@pytest.fixture
def vasp_warehouse(runs_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A copy of it, in a home of its own."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    return Warehouse(Path(shutil.copy(runs_file, tmp_path / "w.duckdb")))
