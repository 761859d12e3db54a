from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.command_line import use_home


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The second catalogue of a home in which nothing has happened yet."""
    return use_home(monkeypatch, tmp_path / "home")
