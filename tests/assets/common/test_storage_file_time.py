"""The clock that stamps files, whatever the clock of this machine says."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from assets.common import storage as module
from assets.common.storage import data_folder, file_time


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
