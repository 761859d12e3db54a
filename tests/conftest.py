"""Fixtures shared by the tests of several rooms."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.compiled import CALLS, OF_THOROUGH_TESTS, OVER_A_LAKE, compile_together
from tests.kinds import is_in_part, kind_of
from tests.lake.doors import Lakes, install, reason_not_over_a_lake, server_of_tests
from tests.tiny import SOURCE, Home
from warehouse import Warehouse, file_lock
from warehouse.file_door import FileDoor

# what a test starts with another home finds what is compiled
os.environ.setdefault("XDG_CACHE_HOME", str(Path("~/.cache").expanduser()))

gc.disable()  # while test files and what they import are loaded: all of that stays

LONG_FILES = (
    "tests/test_documents.py",
    "tests/assets/ingest/",
    "tests/pipelines/",
    "tests/tracehouse/cli/",
    "tests/assets/",
)
"""What takes longest, first: a long file that begins last would keep one process busy while the other has nothing to do. Documents
and pipelines need the run that is made once: while one process makes it, the other has files that do not."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --part."""
    parser.addoption(
        "--part", metavar="K/N", help="of the thorough tests, only those of one of N parts (tests/kinds.py)"
    )


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks thorough tests, and orders files by LONG_FILES. Tests of one file stay as they are."""
    part = config.getoption("--part")
    for item in items:
        if kind := kind_of(item.nodeid):
            item.add_marker(pytest.mark.thorough)
            item.add_marker(kind)
    if part:
        left_out = [item for item in items if kind_of(item.nodeid) and not is_in_part(item.nodeid, part)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]

    def place(item: pytest.Item) -> int:
        return next((k for k, name in enumerate(LONG_FILES) if item.nodeid.startswith(name)), len(LONG_FILES))

    items.sort(key=place)
    if server_of_tests() is not None:
        for item in items:
            if reason := reason_not_over_a_lake(item.nodeid):
                item.add_marker(pytest.mark.skip(reason=f"not over a lake: {reason}"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Over a lake, what was not run is printed with its reason, for each file."""
    if server_of_tests() is not None:
        skipped = terminalreporter.stats.get("skipped", [])
        reasons = Counter((report.nodeid.partition("::")[0], str(report.longrepr[2])) for report in skipped)
        for (file, reason), count in sorted(reasons.items()):
            terminalreporter.write_line(f"not run: {count} of {file}: {reason.removeprefix('Skipped: ')}")


def pytest_collection_finish() -> None:
    """Garbage is collected seldom, and not among what is loaded. Torch, Dagster and the tests themselves stay until the end."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_unconfigure() -> None:
    """Else libraries miss their objects when the process ends, and say so."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> None:
    """Processes that share the tests share the compilation, too. One that runs alone compiles what its tests need."""
    if worker_id != "master":
        all_of_them = _has_thorough_tests(request.session)
        names = tuple(name for name in CALLS if all_of_them or name not in OF_THOROUGH_TESTS)
        names = names if server_of_tests() is None else OVER_A_LAKE
        compile_together(tmp_path_factory.getbasetemp().parent, worker_id == "gw1", names)


@pytest.fixture(autouse=True)
def _no_instance_of_an_earlier_test() -> None:
    """A Dagster instance that ends after one that began later leaves an earlier one as the current one, though its folder is gone, and
    loading definitions then asks it. Some end only when garbage is collected, in the middle of another test."""
    loaded = sys.modules.get("dagster._core.storage.defs_state.base")  # else no test has made one in this process
    if loaded is not None:
        loaded._current_storage.set(None)
        loaded.set_defs_state_storage = _current_until_its_end


@contextmanager
def _current_until_its_end(storage: Any) -> Iterator[None]:
    """As Dagster's `set_defs_state_storage`, but whoever is not the current one leaves that alone."""
    current = sys.modules["dagster._core.storage.defs_state.base"]._current_storage
    before = current.get()
    current.set(storage)
    try:
        yield
    finally:
        if current.get() is storage:
            current.set(before)


@pytest.fixture(scope="session", autouse=True)
def _new_warehouses_are_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new warehouse gets 1,100 comments, which takes 0.4 s; hundreds of tests make one. So the first of a process is made, and
    the others begin as copies of it. What is in them is compared with `sql/` at the first writing, as in every warehouse."""
    server = server_of_tests()
    if server is not None:
        with pytest.MonkeyPatch.context() as patch:
            install(patch, Lakes(server, tmp_path_factory.mktemp("lakes")))
            yield
        return
    template = tmp_path_factory.mktemp("empty") / "tracehouse.duckdb"
    with Warehouse(template).write():
        pass
    connect = FileDoor.connect

    def connect_to_copy(
        self: FileDoor, read_only: bool, deadline: float, confined: bool, makes: bool = False
    ) -> duckdb.DuckDBPyConnection:
        if makes and not self.path.exists():
            try:
                shutil.copy(template, self.path)
            except OSError:  # the disk of this test is full: DuckDB shall meet it, too
                self.path.unlink(missing_ok=True)
        return connect(self, read_only, deadline, confined, makes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileDoor, "connect", connect_to_copy)
        yield


def _has_thorough_tests(session: pytest.Session) -> bool:
    return any(item.get_closest_marker("thorough") for item in session.items)


def make_finished(folder: Path, arranged: bool) -> None:
    """Runs the whole pipeline in `folder`/home, copies that home to `folder`/copy, and writes down what was printed. In this process, which
    has imported everything. arranged: with pictures arranged, which only thorough tests look at."""
    from tests.pipelines.command_line import call, use_home  # seconds of imports, which not every session needs

    shutil.rmtree(folder, ignore_errors=True)  # an attempt that failed
    home = Home(folder / "home")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, home.folder)
        done = call("run", SOURCE, "--config", home.folder / "config.yaml", arrange_pictures=arranged)
        assert done.exit_code == 0, done.stderr
    shutil.copytree(home.folder, folder / "copy")
    (folder / "printed").write_text(done.stdout)


@pytest.fixture(scope="session")
def finished_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """One for all processes that share the tests: making it costs half a minute."""
    alone = worker_id == "master"
    folder = tmp_path_factory.mktemp("finished") if alone else tmp_path_factory.getbasetemp().parent / "finished"
    with file_lock(folder.with_name(f"{folder.name}.lock")):
        if not (folder / "printed").exists():
            make_finished(folder, _has_thorough_tests(request.session))
    return folder


@pytest.fixture(scope="session")
def finished(finished_folder: Path) -> Home:
    """A home in which the whole pipeline has run once, undisturbed. Tests may read it and copy it, no more."""
    return Home(finished_folder / "copy")


@pytest.fixture(scope="session")
def run_once(finished_folder: Path) -> Home:
    """The home that `finished` is a copy of: for test_running_again.py alone, whose tests may run it again, but not change it."""
    home = Home(finished_folder / "home")
    home.printed = (finished_folder / "printed").read_text()
    return home
