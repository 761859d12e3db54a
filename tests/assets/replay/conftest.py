"""Homes of the tests of replays: one in which everything has run, and a small one with the source `mine`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.replay.scenarios.examples import busy_home
from tests.tiny import Home
from warehouse import Warehouse


@pytest.fixture
def warehouse(finished: Home, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """The warehouse of a run that has finished. Tests may read it."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(finished.folder))
    return Warehouse(finished.database)


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder. The home is there, with the source `mine`, which nothing has graded."""
    monkeypatch.chdir(tmp_path)
    return busy_home(monkeypatch, tmp_path)
