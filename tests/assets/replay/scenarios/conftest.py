"""A home with the source `mine`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.replay.scenarios.examples import busy_home


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder. The home is there, with the source `mine`, which nothing has graded."""
    monkeypatch.chdir(tmp_path)
    return busy_home(monkeypatch, tmp_path)
