from __future__ import annotations

import pytest

from assets.common.trace import Trace, load_trained_trace
from tests.tiny import SOURCE, Home
from warehouse import Warehouse


@pytest.fixture
def warehouse(finished: Home, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """The warehouse of a run that has finished. Tests may read it."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(finished.folder))
    return Warehouse(finished.database)


@pytest.fixture
def trained_trace(warehouse: Warehouse) -> tuple[Trace, int]:
    """Its trace, and the position of the first job that no training has seen."""
    return load_trained_trace(warehouse, SOURCE)
