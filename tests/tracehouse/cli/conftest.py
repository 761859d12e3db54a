"""A home in which one small log has been ingested, faults and all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.command_line import GOOD, succeed, use_home
from tests.tiny import busy_log

BROKEN_SWF = (
    b"; MaxProcs: 8 (two racks)\n"
    + "".join(GOOD.format(n=n) for n in range(1, 6)).encode()
    + b"1 2 3\n\x00\x00\n\xff\xfe x\n\n"
    + GOOD.format(n=7).replace(" 10 ", " ten ").encode()
    + b"8 9 10\n"
)
REJECTED = {
    "expected 18 fields, found 1": 1,
    "expected 18 fields, found 2": 1,
    "expected 18 fields, found 3": 2,
    "field 4 (runtime_s) is not a number": 1,
}


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The second catalogue of a home in which nothing has happened yet."""
    return use_home(monkeypatch, tmp_path / "home")


@pytest.fixture(scope="session")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the log mine.swf (BROKEN_SWF) and a home that holds it as the source `mine`, and what ingesting it printed."""
    folder = tmp_path_factory.mktemp("loaded")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder / "home")
        (folder / "mine.swf").write_bytes(BROKEN_SWF)
        return folder, succeed("ingest", folder / "mine.swf", "--time-zone", "Europe/Berlin")


@pytest.fixture
def loaded(ingested: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """The second catalogue of that home, which is in use, and what was printed. Tests may read it, and fail to change it."""
    return use_home(monkeypatch, ingested[0] / "home"), ingested[1]


@pytest.fixture
def log(catalogue: Path, tmp_path: Path) -> Path:
    """A log of 400 jobs in which jobs queue, in a home of its own."""
    path = tmp_path / "busy.swf"
    path.write_text(busy_log())
    return path
