"""A home with the source `mine`, and a policy trained on it. Tests may read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.command_line import succeed, use_home
from tests.tiny import busy_log

QUICK = ("--epochs", "2", "--seeds", "1,2", "--window-jobs", "48")
"""Options of a short training."""


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the source `mine`; tests may read it."""
    folder = tmp_path_factory.mktemp("train")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder / "home")
        (folder / "mine.swf").write_text(busy_log(900))
        succeed("ingest", folder / "mine.swf", "--time-zone", "UTC")
        yield folder


@pytest.fixture(scope="package")
def policy(home: Path) -> Path:
    path, picture = home / "policy.json", home / "curve.png"
    text = succeed("train", "mine", "--out", path, "--plot", picture, *QUICK)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert (
        "bsld of 448 held-out jobs in a replay of the log, easy, requested times" in text and f"policy: {path}" in text
    )
    assert "one replay of the whole log, over its later 450 jobs" in text
    return path
