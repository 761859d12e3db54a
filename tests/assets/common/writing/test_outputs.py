"""No result replaces a log, a catalogue, the key, the warehouse or a model, whatever its path is called."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from assets.common.storage import data_folder, open_warehouse
from assets.common.writing.outputs import output_beside, refuse_own, write_output
from tests.pipelines.command_line import call, fail, use_home
from tests.tiny import busy_log
from traces.catalogue.places import local_catalogue_path

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
