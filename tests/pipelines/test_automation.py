"""The inbox sensor and the nightly schedule, against an ephemeral Dagster instance."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from pathlib import Path

import dagster as dg
import pytest

from pipelines.automation import inbox_sensor, nightly_schedule

JOB = "1 0 0 100 1 -1 -1 1 200 -1 1 1 1 1 1 1 -1 -1\n"


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def drop(inbox: Path, name: str, text: str = JOB, age_s: float = 60) -> None:
    path = inbox / name
    path.write_text(text)
    os.utime(path, (time.time() - age_s, time.time() - age_s))


def tick(instance: dg.DagsterInstance, cursor: str | None = None) -> dg.SensorResult:
    context = dg.build_sensor_context(instance=instance, cursor=cursor)
    result = inbox_sensor(context)
    assert isinstance(result, dg.SensorResult)
    return result


def test_a_new_file_becomes_a_partition_and_a_run_once(inbox: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        assert not tick(instance).run_requests
        drop(inbox, "may 2026.swf")
        first = tick(instance)
        assert [request.partition_key for request in first.run_requests or []] == ["may-2026"]
        assert first.dynamic_partitions_requests
        assert not tick(instance, first.cursor).run_requests


def test_a_changed_file_runs_again_and_one_being_copied_is_left_alone(inbox: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        drop(inbox, "a.swf")
        cursor = tick(instance).cursor
        drop(inbox, "a.swf", JOB + JOB, age_s=30)
        drop(inbox, "b.swf", age_s=0)
        again = tick(instance, cursor)
        assert [request.partition_key for request in again.run_requests or []] == ["a"]
        assert set(json.loads(again.cursor or "")) == {"a"}


def test_the_catalogues_sources_become_partitions(inbox: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        tick(instance)
        assert {"lublin-256", "campus-pbs"} <= set(instance.get_dynamic_partitions("sources"))


def test_a_faulty_catalogue_skips_with_the_reason(inbox: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("[sources.x]\nformat = 'tape'\n")
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(bad))
    with dg.DagsterInstance.ephemeral() as instance:
        skipped = inbox_sensor(dg.build_sensor_context(instance=instance))
    assert isinstance(skipped, dg.SkipReason)
    assert "bad.toml:2" in str(skipped.skip_message)


def test_every_night_every_source_is_retrained(inbox: Path) -> None:
    night = dt.datetime(2026, 11, 22, 3, 0, tzinfo=dt.UTC)
    with dg.instance_for_test() as instance:
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=night)
        requests = nightly_schedule()(context)
    assert {request.partition_key for request in requests} == {"lublin-256", "campus-pbs"}
    assert len({request.run_key for request in requests}) == 2
