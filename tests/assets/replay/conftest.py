"""The home in which everything has run."""

from __future__ import annotations

import pytest

from tests.tiny import Home
from warehouse import Warehouse


@pytest.fixture
def warehouse(finished: Home, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """The warehouse of a run that has finished. Tests may read it."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(finished.folder))
    return Warehouse(finished.database)
