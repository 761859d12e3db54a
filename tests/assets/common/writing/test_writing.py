"""Tests of assets/common/writing: locks, options, outputs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from assets.common.storage import HOME_LOCK, data_folder, open_warehouse
from assets.common.writing.locks import alone_on, declares, works_on
from assets.common.writing.options import Option, options_of, written_settings
from assets.common.writing.outputs import output_beside, refuse_own, write_output
from tests.pipelines.command_line import call, fail, succeed, use_home
from tests.tiny import busy_log
from traces.catalogue.places import local_catalogue_path
from warehouse import WarehouseBusy, file_lock

# locks: Nobody removes a source between the steps of another command, and nothing is left of one that came too
# late.


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


# options: What people write becomes the value of a field.


class Few(BaseModel):
    factor: Annotated[float, Option(convert=float)] = Field(default=1.0, description="A factor.")
    name: Annotated[str | None, Option(short="n")] = None
    hidden: int = 3


def test_settings_of_what_is_written() -> None:
    assert list(options_of(Few)) == ["factor", "name"]
    assert written_settings(Few, {"factor": "1.5", "name": None, "other": 2}) == Few(factor=1.5)


# outputs: No result replaces a log, a catalogue, the key, the warehouse or a model, whatever its path is called.

CATALOGUE = """
[sources.one]
format = "swf"
path = "one.swf"
topology = "topology.conf"

[sources.many]
format = "pbs"
path = "logs"

[vasp.runs]
path = "runs"
"""
OWN = (
    "one.swf", "logs/20260101", "logs/below/new.csv", "topology.conf", "runs/a/OUTCAR", "home/sources.local.toml", "home/pseudonym.key",
    "home/warehouse/data/tracehouse.duckdb", "home/warehouse/data/models/one/m.json", "home/warehouse/data/new.csv", "home/inbox/new.swf",
    "home/dagster.yaml", "home/storage/new", "home/history/runs.db",
)  # fmt: skip


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A home with two logs and everything else that must stay, by the paths of OWN that are there."""
    local = use_home(monkeypatch, tmp_path / "home")
    contents = {}
    for name in OWN:
        if "/new" not in name:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(busy_log() if name == "one.swf" else name)
    local.write_text(CATALOGUE.replace('= "', f'= "{tmp_path}/').replace(f'format = "{tmp_path}/', 'format = "'))
    for name in OWN:
        if (tmp_path / name).exists():
            contents[name] = (tmp_path / name).read_bytes()
    return contents


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("called", ["by its name", "by a link", "by another name"])
def test_what_must_stay_is_refused_by_all_of_its_names(
    tmp_path: Path, places: dict[str, bytes], name: str, called: str
) -> None:
    path = tmp_path / name
    if called == "by a link":
        path = tmp_path / "link.csv"
        path.symlink_to(tmp_path / name)
    if called == "by another name" and name in places:  # the others are not there yet
        path = tmp_path / "hard.csv"
        os.link(tmp_path / name, path)
    with pytest.raises(ValueError, match="must stay as it is"):
        write_output(path, b"new")
    with pytest.raises(ValueError, match="must stay as it is"), output_beside(path):
        pass
    assert {each: (tmp_path / each).read_bytes() for each in places} == places


def test_other_places_are_free(tmp_path: Path, places: dict[str, bytes]) -> None:
    for name in ("home/result.csv", "one.swf.csv", "new/result.csv"):
        write_output(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"
    refuse_own(Path("/dev/null"))
    refuse_own(data_folder() / "tracehouse.duckdb", but=data_folder() / "tracehouse.duckdb")


def test_a_result_that_fails_leaves_the_old_one_and_nothing_else(tmp_path: Path, places: dict[str, bytes]) -> None:
    old = tmp_path / "results" / "old.csv"
    write_output(old, b"old")
    old.chmod(0o600)
    with suppress(RuntimeError), output_beside(old) as new:
        new.write_bytes(b"half")
        assert old.read_bytes() == b"old"
        raise RuntimeError
    assert [path.name for path in old.parent.iterdir()] == ["old.csv"] and old.read_bytes() == b"old"
    write_output(old, b"new")
    assert old.stat().st_mode & 0o777 == 0o600  # a result that only its owner could read stays so


def test_with_a_faulty_catalogue_nothing_is_written(tmp_path: Path, places: dict[str, bytes]) -> None:
    local_catalogue_path().write_text("[sources")
    with pytest.raises(ValueError, match=r"not valid TOML.*unclear which files are logs"):
        write_output(tmp_path / "new.csv", b"")


COMMANDS = [
    ["sql", "SELECT 1", "-o", "OWN"], ["backup", "OWN", "--replace"], ["publish", "OWN"], ["export", "one", "OWN", "--format", "swf"],
    ["metrics", "--out", "OWN"], ["queue", "one", "q.json", "--out", "OWN"], ["train", "one", "--out", "OWN"],
    ["train", "one", "--plot", "OWN"], ["replay", "one", "--schedule", "OWN"], ["replay", "one", "--placement", "OWN"],
    ["what-if", "s.toml", "--html", "OWN"], ["replay", "one", "--plots", "FOLDER"], ["what-if", "s.toml", "--out", "FOLDER"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_every_command_that_writes_a_file_asks_before_its_work(
    tmp_path: Path, places: dict[str, bytes], command: list[str]
) -> None:
    own = {"OWN": tmp_path / "one.swf", "FOLDER": tmp_path / "logs"}
    assert "must stay as it is" in fail(*(own.get(word, word) for word in command))
    own["OWN"] = tmp_path / "home" / "pseudonym.key"
    if "OWN" in command:
        assert "the key of pseudonyms" in fail(*(own.get(word, word) for word in command))
    assert {each: (tmp_path / each).read_bytes() for each in places} == places


def test_pictures_replace_no_file_that_a_link_leads_to(tmp_path: Path, places: dict[str, bytes]) -> None:
    """The folder is free, but a file in it is a link to the log."""
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "gantt.png").symlink_to(tmp_path / "one.swf")
    result = call("replay", tmp_path / "one.swf", "--policy", "FCFS", "--plots", tmp_path / "pictures")
    assert result.exit_code == 1 and "must stay as it is" in result.stderr
    assert (tmp_path / "one.swf").read_bytes() == places["one.swf"]


def test_what_a_command_reads_it_does_not_replace(tmp_path: Path, places: dict[str, bytes]) -> None:
    """A log that is in no catalogue."""
    log = tmp_path / "other.swf"
    log.write_text(busy_log())
    assert "is read by this command" in fail("replay", log, "--policy", "FCFS", "--schedule", log)
    assert log.read_text() == busy_log()


def test_a_copy_of_the_warehouse_replaces_no_log(tmp_path: Path, places: dict[str, bytes]) -> None:
    (data_folder() / "tracehouse.duckdb").unlink()
    with open_warehouse().write():
        pass
    for name in ("one.swf", "home/pseudonym.key"):
        assert "must stay as it is" in fail(
            "warehouse", "copy", data_folder() / "tracehouse.duckdb", tmp_path / name, "--replace"
        )
        assert (tmp_path / name).read_bytes() == places[name]
