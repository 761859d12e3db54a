"""`tracehouse why`."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest

import tracehouse
from tests.assets.replay.own.homes import own_home
from tests.assets.replay.own.test_wait_causes import JOBS, ONE_NODE
from tests.pipelines.command_line import fail, succeed


def test_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    lines = succeed("why", "mine").splitlines()
    assert lines[0] == "mine: 3 jobs waited 0 h in all, 0.0 h on average" and "cluster two" in lines[1]
    assert any(line.startswith("memory is missing") and line.endswith("2") for line in lines)
    assert "by user, most waiting first" in lines
    job = succeed("why", "mine", "3").splitlines()
    assert job[0].startswith("job 3 of user user-") and "submitted Mon 2024-01-01 00:00 (UTC), started " in job[0]
    assert any(line.startswith("longest behind job 2 of user ") for line in job)
    table = pl.read_csv(io.StringIO(succeed("why", "mine", "--csv", "--queue", "main")))
    assert table["wait_s"].to_list() == [0, 95, 190] == tracehouse.why("mine")["wait_s"].to_list()


def test_what_there_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", JOBS, monkeypatch, ONE_NODE)
    assert "no job '9'" in fail("why", "mine", "9")
    assert "most are of user-" in fail("why", "mine", "--user", "bob")
    assert "no job of 'mine' was submitted" in fail("why", "mine", "--period", "2023-01")
