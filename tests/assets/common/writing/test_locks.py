"""Nobody removes a source between the steps of another command, and nothing is left of one that came too late."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from assets.common.storage import HOME_LOCK, data_folder, open_warehouse
from assets.common.writing.locks import alone_on, declares, works_on
from tests.pipelines.command_line import call, fail, succeed, use_home
from tests.tiny import busy_log
from traces.catalogue.places import local_catalogue_path
from warehouse import WarehouseBusy, file_lock


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log, and a home in which nobody waits."""
    use_home(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "0")
    path = tmp_path / "busy.swf"
    path.write_text(busy_log(100))
    return path


def jobs() -> int:
    with open_warehouse().read() as connection:
        (row,) = connection.execute("SELECT count(*) FROM core.jobs").fetchall()
    return int(row[0])


Lock = Callable[[str], AbstractContextManager[None]]


@pytest.mark.parametrize(
    ("held", "asked", "busy"),
    [(works_on, works_on, False), (works_on, alone_on, True), (alone_on, works_on, True), (declares, works_on, False),
     (declares, declares, True)],
)  # fmt: skip
def test_who_waits_for_whom(log: Path, held: Lock, asked: Lock, busy: bool) -> None:
    with held("mine"):
        with asked("other"), asked("a/name/that/no/source/has"):
            pass
        with pytest.raises(WarehouseBusy, match="source 'mine': still busy") if busy else nullcontext(), asked("mine"):
            pass


def test_nobody_removes_what_another_works_on(log: Path) -> None:
    succeed("ingest", log, "--name", "mine")
    before = local_catalogue_path().read_text()
    for lock in (works_on, declares):
        with lock("mine"):
            assert "source 'mine': still busy" in fail("remove", "mine", "--yes")
            assert local_catalogue_path().read_text() == before and jobs() == 100
    succeed("remove", "mine", "--yes")
    assert "[sources.mine]" not in local_catalogue_path().read_text() and jobs() == 0


def test_nobody_loads_what_another_removes(log: Path) -> None:
    """Neither rows nor an entry of a command that has given up."""
    with declares("mine"), alone_on("mine"):
        assert "source 'mine': still busy" in fail("ingest", log, "--name", "mine")
        assert "[sources.mine]" not in local_catalogue_path().read_text()
    succeed("ingest", log, "--name", "mine")
    with alone_on("mine"):
        assert "source 'mine': still busy" in fail("run", "mine", "--job", "ingest")


def test_a_failed_ingest_says_why_also_where_another_works_on_the_source(log: Path) -> None:
    log.write_text("; MaxProcs: 4\nno job\n")
    with works_on("mine"):
        ended = call("ingest", log, "--name", "mine", "--format", "swf")
    assert ended.exit_code == 1 and "1 rejected" in ended.stderr and "another command works on mine" in ended.stderr


def test_a_source_that_went_while_a_run_waited_is_not_run(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    succeed("ingest", log, "--name", "mine")
    pipelines = importlib.import_module("pipelines.running")

    def removed_first(name: str) -> AbstractContextManager[None]:
        local_catalogue_path().write_text("")
        return works_on(name)

    monkeypatch.setattr(pipelines, "works_on", removed_first)
    assert "mine was removed meanwhile" in fail("run", "mine", "--job", "ingest")


def test_a_restore_waits_for_all_who_work_on_a_source(log: Path, tmp_path: Path) -> None:
    succeed("ingest", log, "--name", "mine")
    succeed("backup", tmp_path / "saved.tar.zst")
    (data_folder() / HOME_LOCK).unlink()
    with works_on("new"):
        assert "still busy" in fail("restore", tmp_path / "saved.tar.zst", "--replace")
    with file_lock(data_folder() / HOME_LOCK):
        assert "still busy" in fail("run", "mine", "--job", "ingest")
    succeed("restore", tmp_path / "saved.tar.zst", "--replace")
