"""What cannot be written is said before the work, in one sentence, and binary content goes to no terminal."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import pytest

from assets.common.writing.outputs import check_file, check_folder, refuse_binary_on_terminal
from tests.pipelines.command_line import fail


def test_files_and_folders_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("of yesterday")
    for path in (tmp_path / "new.csv", tmp_path / "old.csv", Path("/dev/null")):
        check_file(path)
    for path in (tmp_path, tmp_path / "a" / "b"):
        check_folder(path)
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "of yesterday"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("none/new.csv", "none: no such folder, make it"),
        ("folder", "folder: is a folder"),
        ("/proc/new.csv", "cannot be written"),
    ],
)
def test_files_that_cannot_be_written(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=says):
        check_file(tmp_path / name)


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file, give a folder"):
        check_folder(tmp_path / "file")
    with pytest.raises(ValueError, match="cannot be written"):
        check_folder(tmp_path / "file" / "below")
    with pytest.raises(ValueError, match="cannot be written"):
        check_folder(Path("/proc/new"))


WRITING = [
    ["export", "nosuch", "FILE"], ["backup", "FILE"], ["train", "nosuch", "--out", "FILE"], ["train", "nosuch", "--plot", "FILE"],
    ["sql", "SELECT 1", "--output", "FILE"], ["replay", "nosuch", "--schedule", "FILE"], ["replay", "nosuch", "--placement", "FILE"],
]  # fmt: skip


@pytest.mark.parametrize("command", WRITING, ids=lambda command: " ".join(command[::2]))
def test_commands_say_so_before_their_work(catalogue: Path, tmp_path: Path, command: list[str]) -> None:
    """There is no such source, nor a warehouse: work would end with that."""
    path = str(tmp_path / "none" / "new")
    message = fail(*(path if word == "FILE" else word for word in command))
    assert (
        f"{tmp_path / 'none'}: no such folder, make it or give another file" in message
        and len(message.splitlines()) == 1
    )


def test_a_folder_for_pictures(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file, give a folder" in fail("replay", "nosuch", "--plots", tmp_path / "file")


def test_a_dash_is_no_file(catalogue: Path) -> None:
    assert "standard output takes no such file" in fail("backup", "-")


def test_binary_content_goes_to_no_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        with pytest.raises(ValueError, match="an archive is binary: give the name of a file"):
            refuse_binary_on_terminal("an archive", Path(os.ttyname(theirs)))
    finally:
        os.close(ours)
        os.close(theirs)
    for path in (tmp_path / "new", Path("/dev/null"), None):
        refuse_binary_on_terminal("an archive", path)
