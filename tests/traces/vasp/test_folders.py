"""Which folders are runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.traces.vasp.vasp_lines import (
    faults,
    named,
    read_runs,
    written,
)
from traces.common.log import LogError
from traces.vasp.folders import find_runs
from traces.vasp.runs import read_folder


def test_nested_folders(tmp_path: Path) -> None:
    for name in ("b/relax", "b/relax/static", "a", "b/deep/er/run"):
        written(tmp_path / name / "OUTCAR")
    written(tmp_path / "notes" / "README.txt", "no run")
    assert list(named(tmp_path)) == ["a", "b/deep/er/run", "b/relax", "b/relax/static"]
    for name, read in read_runs(tmp_path).items():
        assert read.runs.select("folder", "job_folder", "image").rows() == [(name, name, None)]
        assert read.rejects.is_empty()


def test_the_root_itself_may_be_a_run(tmp_path: Path) -> None:
    written(tmp_path / "OUTCAR")
    written(tmp_path / "sub" / "OUTCAR")
    found = read_runs(tmp_path)
    assert list(found) == [".", "sub"]
    assert found["."].runs.select("folder", "job_folder").rows() == [(".", ".")]


def test_there_must_be_such_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "gone", written(tmp_path / "OUTCAR")):
        with pytest.raises(LogError, match="no such folder"):
            list(find_runs(path))


def test_a_folder_name_that_is_no_utf_8(tmp_path: Path) -> None:
    """Of a cluster whose names are in Latin 1."""
    folder = os.path.join(os.fsencode(tmp_path), b"r\xe9sultat")  # noqa: PTH118
    os.mkdir(folder)  # noqa: PTH102
    written(Path(os.fsdecode(folder)) / "OUTCAR")
    (found,) = find_runs(tmp_path)
    read = read_folder(found)
    assert read.runs["electronic_steps"].to_list() == [2] and "sultat" in read.runs["folder"][0]


def test_numbered_folders_without_inputs_above_are_runs(tmp_path: Path) -> None:
    for name in ("00", "01", "002"):
        written(tmp_path / name / "OUTCAR")
    (tmp_path / "03").mkdir()
    for name, read in read_runs(tmp_path).items():
        assert read.runs.select("job_folder", "image").rows() == ([(name, None)] if name != "03" else [])
    assert list(faults(tmp_path)) == [("03", "", "an empty folder")]
