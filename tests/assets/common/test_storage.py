"""Files beside the database: whole or not at all, and never changed under the row that names them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from assets.common.storage import (
    KEPT_UNUSED_S,
    data_folder,
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
