"""Files beside the database: whole or not at all, and never changed under the row that names them.

The clock that stamps files, whatever the clock of this machine says.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assets.common import storage as module
from assets.common.storage import (
    KEPT_UNUSED_S,
    data_folder,
    file_time,
    open_warehouse,
    read_model,
    remove_unused_models,
    report_path,
    store_model,
    write_whole,
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    return tmp_path


def test_everything_derived_lies_in_one_folder(home: Path) -> None:
    assert data_folder() == home / "warehouse" / "data"
    assert open_warehouse().path.parent == report_path("mine").parents[1] == data_folder()


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_whole(path, b"first")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second" and [file.name for file in path.parent.iterdir()] == ["file"]


def test_a_model_is_read_as_it_was_stored() -> None:
    file, digest = store_model("mine", "policy-1", b"{}")
    assert digest[:12] in file and read_model(file, digest) == b"{}"
    (data_folder() / file).write_bytes(b"{ }")
    with pytest.raises(ValueError, match="not the one that was trained"):
        read_model(file, digest)
    (data_folder() / file).unlink()
    with pytest.raises(ValueError, match="the model file is gone"):
        read_model(file, digest)


def test_models_that_no_row_names_are_removed_after_a_while() -> None:
    used, young, old, other = (
        store_model("mine", name, name.encode())[0] for name in ("policy-1", "policy-2", "policy-3", "runtime")
    )
    for file in (used, old, other):
        then = time.time() - KEPT_UNUSED_S - 60
        os.utime(data_folder() / file, (then, then))
    remove_unused_models("mine", "policy", [used])
    left = {path.relative_to(data_folder()).as_posix() for path in (data_folder() / "models" / "mine").iterdir()}
    assert left == {used, young, other}


def test_models_of_a_training_that_takes_days_are_kept() -> None:
    """The first seed's file is written long before the rows that name it."""
    file, _ = store_model("mine", "policy-1", b"{}")
    then = time.time() - 2 * 86_400
    os.utime(data_folder() / file, (then, then))
    remove_unused_models("mine", "policy", [])
    assert (data_folder() / file).exists()


def test_a_clock_that_is_ahead_removes_no_new_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of files are those of the file server, whose clock may be another."""
    file, _ = store_model("mine", "policy-1", b"{}")
    year = 365 * 86_400
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + year)
    remove_unused_models("mine", "policy", [])
    assert (data_folder() / file).exists()


def test_writers_of_the_same_file_do_not_mix(tmp_path: Path) -> None:
    """Two threads, or two hosts whose processes have the same number, write to files of their own first."""
    contents = [bytes([65 + k]) * 4_000_000 for k in range(4)]
    path = tmp_path / "file"
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            list(threads.map(lambda content: write_whole(path, content), contents))
            assert path.read_bytes() in contents
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("file", ["/etc/passwd", "../../../secret", "tracehouse.duckdb", "models/../../x"])
def test_a_model_outside_of_its_folder_is_not_opened(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row may be of somebody else's warehouse."""
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"opened {path}"))
    with pytest.raises(ValueError, match="names a model outside of"):
        read_model(file, "0" * 64)


# --- storage file time


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("with_data_folder", [True, False])
def test_it_is_the_clock_of_the_files(with_data_folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if with_data_folder:
        data_folder().mkdir(parents=True)
    (tmp_path / "log").write_text("x")
    stamped = (tmp_path / "log").stat().st_mtime
    monkeypatch.setattr(time, "time", lambda: stamped + 7200)
    before = sorted(tmp_path.rglob("*"))
    assert 0 <= file_time(tmp_path) - stamped < 600
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left"


def test_another_file_system_than_that_of_the_data_is_asked_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_folder().mkdir(parents=True)
    other, asked = Path("/dev/shm"), []
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev or not os.access(other, os.W_OK):
        pytest.skip("needs /dev/shm on another file system than the temporary folder, and the right to write there")
    make = module.tempfile.TemporaryFile
    monkeypatch.setattr(
        module.tempfile, "TemporaryFile", lambda dir, prefix: asked.append(dir) or make(dir=dir, prefix=prefix)
    )
    assert file_time(other) > 0 and asked == [other]


def test_where_nothing_can_be_written_it_is_our_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 5.0)
    assert file_time(tmp_path / "missing") == 5.0
