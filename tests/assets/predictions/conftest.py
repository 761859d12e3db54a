"""The warehouse of the tests of the registry. Other files have a `warehouse` of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assets.predictions.registry import Opened, warehouse_with_features
from warehouse import Warehouse


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Do not change: each test takes a copy."""
    return warehouse_with_features(tmp_path_factory.mktemp("registry"))


@pytest.fixture
def file(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the warehouse, in a home of its own."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    return Path(shutil.copy(built, tmp_path / "w.duckdb"))


@pytest.fixture
def warehouse(file: Path) -> Iterator[Warehouse]:
    opened = Opened(file)
    yield opened
    opened.connection.close()
