"""Homes for the tests of the API and of the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from tests.assets.replaying.scenarios.examples import busy_home
from tests.pipelines.command_line import GOOD, succeed, use_home
from tests.tiny import Home, busy_log
from traces.catalogue.catalogue import load_catalogue

SCENARIOS = """
source = "mine"
[scenarios."a quarter more processors"]
procs = "+25%"
[scenarios."without queue 7"]
without_queue = "7"
"""
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


def enter(patch: pytest.MonkeyPatch, home: Path, working_folder: Path) -> None:
    """Points tracehouse at a home, with the bundled catalogue unless the home has one, and works in a folder."""
    use_home(patch, home)
    patch.chdir(working_folder)


@pytest.fixture(scope="session")
def bundled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the bundled source birch is loaded, and nothing trained: its figures are those of the documents."""
    home = tmp_path_factory.mktemp("bundled")
    with pytest.MonkeyPatch.context() as patch:
        enter(patch, home, home)
        source = load_catalogue().source("birch")
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
    """A home in use in which the whole pipeline has run on a tiny birch, and an empty working folder."""
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


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder with a file s.toml of two scenarios. The home is there, with the source `mine`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIOS)
    return busy_home(monkeypatch, tmp_path)


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
