"""Homes for the tests of the public face."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from tests.pipelines.command_line import use_home
from tests.tiny import Home, busy_log
from traces.catalogue.catalogue import load_catalogue


def enter(patch: pytest.MonkeyPatch, home: Path, working_folder: Path) -> None:
    """Points tracehouse at a home, with the bundled catalogue unless the home has one, and works in a folder."""
    use_home(patch, home)
    patch.chdir(working_folder)


@pytest.fixture(scope="session")
def bundled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the bundled source lublin-256 is loaded, and nothing trained: its figures are those of the documents."""
    home = tmp_path_factory.mktemp("bundled")
    with pytest.MonkeyPatch.context() as patch:
        enter(patch, home, home)
        source = load_catalogue().source("lublin-256")
        update_raw_log(open_warehouse(), source)
        write_jobs(open_warehouse(), source.name)
    return home


@pytest.fixture
def bundled(bundled_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That home in use, and an empty working folder, which is returned."""
    enter(monkeypatch, bundled_home, tmp_path)
    return tmp_path


@pytest.fixture
def trained(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in use in which the whole pipeline has run on a tiny lublin-256, and an empty working folder."""
    enter(monkeypatch, finished.folder, tmp_path)
    return tmp_path


@pytest.fixture
def own_trained(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that home, which a test may change."""
    shutil.copytree(finished.folder, tmp_path / "home")
    enter(monkeypatch, tmp_path / "home", tmp_path)
    return tmp_path


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of 400 jobs in which jobs queue, in a home in which nothing has happened yet."""
    enter(monkeypatch, tmp_path / "home", tmp_path)
    path = tmp_path / "busy.swf"
    path.write_text(busy_log())
    return path
