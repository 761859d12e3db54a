"""A catalogue of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The second catalogue (not written yet) of a home of its own."""
    path = tmp_path / "mine.toml"
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(path))
    return path
