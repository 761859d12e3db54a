"""Logs of generated sources: written once, complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assets.ingest.generated import generated_log, written_once
from traces.catalogue.sources import Source
from traces.common.log import log_files
from traces.pbs.reader import read_pbs
from traces.swf.reader import header_value, read_swf

OPTIONS = {"jobs": 60, "seed": 3}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))


def test_a_folder_is_filled_once() -> None:
    calls = []

    def write(folder: Path) -> None:
        calls.append(folder)
        (folder / "x").write_text("content")

    first = written_once("mine", "recipe", write)
    assert written_once("mine", "recipe", write) == first and len(calls) == 1
    assert (first / "x").read_text() == "content" and first.name.startswith("mine-")
    assert written_once("mine", "another", write) != first


def test_what_a_killed_run_has_left_goes_after_an_hour() -> None:
    folder = written_once("mine", "recipe", lambda folder: None)
    for name, age_s in (("old.1.part", 4000), ("new.1.part", 10)):
        (folder.parent / name).mkdir()
        before = folder.stat().st_mtime - age_s
        os.utime(folder.parent / name, (before, before))
    written_once("mine", "another", lambda folder: None)
    assert [path.name for path in folder.parent.glob("*.part")] == ["new.1.part"]


def test_a_run_that_fails_leaves_no_log() -> None:
    def write(folder: Path) -> None:
        (folder / "x").write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        written_once("mine", "recipe", write)
    folder = written_once("mine", "recipe", lambda folder: None)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("log_format", ["swf", "pbs"])
def test_a_generated_log_is_read_as_a_real_one(log_format: str) -> None:
    source = Source("drawn", log_format, None, procs=32, time_zone="Asia/Tokyo", generator=OPTIONS)
    path = generated_log(source)
    logs = [(read_swf if log_format == "swf" else read_pbs)(file) for file in log_files(path)]
    assert sum(log.accepted for log in logs) == 60 and not any(log.rejected for log in logs)
    if log_format == "swf":
        assert header_value(logs[0].header, "MaxProcs") == 32
    assert generated_log(source) == path


def test_a_log_after_a_model_is_a_folder_of_months() -> None:
    options = {"model": "lemhi", "jobs": 300, "seed": 3}
    source = Source("large", "swf", None, procs=20_160, time_zone="America/Boise", generator=options)
    path = generated_log(source)
    assert [file.name for file in log_files(path)] == ["large-2019-01.swf"]
    assert read_swf(log_files(path)[0]).accepted == 300
    assert generated_log(source) == path
