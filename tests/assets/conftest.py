"""The warehouses of the tests of the registry, of remaining times, and of replays. Other files have a `warehouse` of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.predictions.runtime_evaluation import runtime_evaluation
from tests.assets.predictions.registry import Opened, materialized, warehouse_with_features
from tests.assets.predictions.remaining import warehouse_of_runs
from tests.assets.replaying.scenarios.examples import busy_home
from tests.lake.doors import copied
from warehouse import Warehouse


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Do not change: each test takes a copy."""
    return warehouse_with_features(tmp_path_factory.mktemp("registry"))


@pytest.fixture
def file(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the warehouse, in a home of its own."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    return copied(built, tmp_path / "w.duckdb")


@pytest.fixture
def warehouse(file: Path) -> Iterator[Warehouse]:
    opened = Opened(file)
    yield opened
    opened.connection.close()


@pytest.fixture(scope="session")
def evaluated_file(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with last_two and user_mean evaluated on `mine`, the former kept job by job. Do not change."""
    path = copied(built, tmp_path_factory.mktemp("evaluated") / "w.duckdb")
    opened = Opened(path)
    materialized(runtime_evaluation, opened, predictors=["user_mean"], predictor="last_two", days=10)
    opened.connection.close()
    return path


@pytest.fixture
def evaluated(evaluated_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Warehouse]:
    """A copy of it, in a home of its own."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    opened = Opened(copied(evaluated_file, tmp_path / "w.duckdb"))
    yield opened
    opened.connection.close()


@pytest.fixture(scope="session")
def runs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Do not change: each test takes a copy."""
    return warehouse_of_runs(tmp_path_factory.mktemp("vasp"))


@pytest.fixture
def vasp_warehouse(runs_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A copy of it, in a home of its own."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    return Warehouse(Path(shutil.copy(runs_file, tmp_path / "w.duckdb")))


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder. The home is there, with the source `mine`, which nothing has graded."""
    monkeypatch.chdir(tmp_path)
    return busy_home(monkeypatch, tmp_path)
