"""A home with the source `mine`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.what_if.scenarios.examples import busy_home

TEXT = """
source = "mine"
[scenarios."a quarter more processors"]
procs = "+25%"
[scenarios."without queue 7"]
without_queue = "7"
"""


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder with a file s.toml of two scenarios. The home is there, with the source `mine`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(TEXT)
    return busy_home(monkeypatch, tmp_path)
