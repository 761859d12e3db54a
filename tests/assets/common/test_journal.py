"""The journal of a restore: finished by whoever comes next, and never where it names files that are not of this home."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assets.common.journal import (
    DATABASE,
    JOURNAL,
    beside,
    clear_leftovers,
    commit_restore,
    finish_restore,
    unpacked_folder,
)
from assets.common.storage import data_folder, open_warehouse
from traces.catalogue.places import local_catalogue_path, pseudonym_key_path
from warehouse import WarehouseError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    data_folder().mkdir(parents=True)
    return tmp_path / "home"


def lay_out(new: str) -> None:
    """Unpacks a warehouse, a model, a key and a catalogue, and has older ones in their places."""
    data = data_folder()
    for folder, text in ((unpacked_folder(data), new), (data, "old")):
        (folder / "models" / text).mkdir(parents=True)
        (folder / "models" / text / "a.json").write_text(text)
        (folder / DATABASE).write_text(text)
    (data / f"{DATABASE}.wal").write_text("old")
    (data / "reports").mkdir()
    for target in (pseudonym_key_path(), local_catalogue_path()):
        target.write_text("old")
        beside(target).write_text(new)


def contents(home: Path) -> dict[str, str]:
    return {str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}


def test_everything_is_moved_and_nothing_of_the_old_stays(home: Path) -> None:
    lay_out("new")
    commit_restore(data_folder(), local_catalogue_path())
    finish_restore(data_folder())
    places = ("pseudonym.key", "sources.local.toml", f"warehouse/data/{DATABASE}", "warehouse/data/models/new/a.json")
    assert contents(home) == dict.fromkeys(places, "new")
    assert not (data_folder() / "reports").exists()


def test_models_in_a_linked_folder_are_replaced_and_the_folder_is_left_alone(home: Path) -> None:
    lay_out("new")
    (data_folder() / "models").rename(home.parent / "disk")
    (data_folder() / "models").symlink_to(home.parent / "disk")
    commit_restore(data_folder(), None)
    finish_restore(data_folder())
    assert [path.name for path in (data_folder() / "models").iterdir()] == ["new"]
    assert [path.name for path in (home.parent / "disk").iterdir()] == ["old"]


def test_what_no_journal_names_is_left_over_and_cleared(home: Path) -> None:
    lay_out("new")
    before = contents(home)
    commit_restore(data_folder(), None)
    clear_leftovers(data_folder())  # what counts is not left over
    (data_folder() / JOURNAL).unlink()
    assert contents(home) == before
    clear_leftovers(data_folder())
    assert contents(home) == {name: text for name, text in before.items() if text == "old"}


def test_whoever_opens_the_warehouse_finishes_first(home: Path) -> None:
    with open_warehouse().write():
        pass
    unpacked_folder(data_folder()).mkdir()
    (data_folder() / DATABASE).rename(unpacked_folder(data_folder()) / DATABASE)
    commit_restore(data_folder(), None)
    with open_warehouse().read() as connection:
        assert connection.execute("SELECT count(*) FROM core.jobs").fetchall() == [(0,)]
    assert not (data_folder() / JOURNAL).exists()


def test_a_catalogue_of_another_setting_is_not_touched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.parent / "ours.toml"))
    lay_out("new")
    commit_restore(data_folder(), local_catalogue_path())
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.parent / "other.toml"))
    with pytest.raises(
        WarehouseError, match=r"also writes the catalogue .*ours\.toml\. Run a command once with TRACEHOUSE_SOURCES"
    ):
        open_warehouse().settle()
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.parent / "ours.toml"))
    open_warehouse().settle()
    assert local_catalogue_path().read_text() == "new"


def test_a_catalogue_that_is_in_its_place_already_needs_no_setting(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out("new")
    commit_restore(data_folder(), local_catalogue_path())
    beside(local_catalogue_path()).replace(local_catalogue_path())
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.parent / "other.toml"))
    open_warehouse().settle()
    assert (data_folder() / DATABASE).read_text() == "new"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"catalogue": 7}', "\0"])
def test_a_journal_that_is_none_is_told(text: str) -> None:
    lay_out("new")
    (data_folder() / JOURNAL).write_text(text)
    with pytest.raises(WarehouseError, match="not a journal of `tracehouse restore`"):
        open_warehouse().settle()


def test_a_journal_in_a_shared_folder_cannot_write_elsewhere(home: Path) -> None:
    """Somebody who may write into the folder names another file, with new content beside it."""
    lay_out("new")
    other = home.parent / "authorized_keys"
    other.write_text("old")
    beside(other).write_text("new")
    (data_folder() / JOURNAL).write_text(json.dumps({"catalogue": str(other)}))
    with pytest.raises(WarehouseError, match="authorized_keys"):
        open_warehouse().settle()
    assert other.read_text() == "old"
