"""Tests of pipelines: nights.

The upkeep of a lake is there where the warehouse is a lake, and only there.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from pipelines.nights import lake_upkeep, upkeep_schedules
from tests.lake.doors import new_lake, server_of_tests
from warehouse.lake_place import DATA, PLACE


def test_a_file_has_no_upkeep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLACE, raising=False)
    assert upkeep_schedules() == []


def test_a_lake_is_tidied_every_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE, "ducklake:postgres:dbname=x")
    monkeypatch.setenv(DATA, str(tmp_path))
    (schedule,) = upkeep_schedules()
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING and schedule.cron_schedule == "15 4 * * *"


def test_the_job_tidies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if server_of_tests() is None:
        pytest.skip("needs PostgreSQL: make test-lake runs it")
    with new_lake(tmp_path) as lake:
        assert lake.lake is not None
        monkeypatch.setenv(PLACE, lake.name)
        monkeypatch.setenv(DATA, lake.lake.data)
        monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
        assert lake_upkeep.execute_in_process().success
