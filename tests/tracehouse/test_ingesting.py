"""Loading what a command has declared: a failure leaves nothing of a name that is new. Logs are in test_remove.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assets.ingest import removal
from pipelines.running import has_partition
from tests.pipelines.command_line import GOOD, fail, succeed


def test_a_folder_without_runs_leaves_no_partition(catalogue: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    (folder / "empty").mkdir(parents=True)
    assert "no VASP run in it" in fail("vasp", "ingest", folder, "--name", "mine")
    assert not has_partition("mine", "vasp") and catalogue.read_text().count("mine") == 0
    assert json.loads(succeed("sql", "SELECT source FROM raw.vasp_folders", "--format", "json")) == []


def test_a_failure_of_the_cleaning_hides_no_message(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(removal, "remove_source_data", full)
    log = tmp_path / "mine.swf"
    log.write_text(GOOD.format(n=1))
    assert "is a job in the pbs format" in fail("ingest", log, "--format", "pbs")
