"""Sensor and schedule with a real Dagster instance: an accounting directory that grows piece by piece ends in the same tables as
one that was there at once."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import time
from pathlib import Path

import dagster as dg
import duckdb
import polars as pl
import pytest

from benchmarks.pbs_logs import write_days
from pipelines.automation import inbox_sensor
from pipelines.nights import nightly_schedule
from pipelines.running import dagster_instance
from tests.pipelines.command_line import in_brief, use_home
from tests.tiny import assert_same_tables

OF_THE_LOG = [dg.AssetKey(key) for key in (["raw", "log"], ["core", "jobs"], ["marts", "trace_health"])]


def deliver(path: Path, content: bytes, age_s: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    then = time.time() - age_s
    os.utime(path, (then, then))


def run(instance: dg.DagsterInstance, request: dg.RunRequest) -> dict[str, object]:
    """Makes the assets of the log that the request is for, and their checks; returns what raw/log says of itself."""
    from pipelines.definitions import defs

    with in_brief():
        result = defs.resolve_job_def("everything").execute_in_process(
            instance=instance, partition_key=request.partition_key, tags=request.tags, asset_selection=OF_THE_LOG
        )
    assert result.success
    checks = result.get_asset_check_evaluations()
    assert len(checks) >= 5 and all(check.passed for check in checks)
    (event,) = [e for e in result.get_asset_materialization_events() if e.asset_key == OF_THE_LOG[0]]
    return {key: value.value for key, value in event.materialization.metadata.items()}


def by_sensor(instance: dg.DagsterInstance, cursor: str | None) -> tuple[dict[str, object], str | None]:
    tick = inbox_sensor(dg.build_sensor_context(instance=instance, cursor=cursor))
    assert isinstance(tick, dg.SensorResult)
    (request,) = tick.run_requests or []
    for addition in tick.dynamic_partitions_requests or []:
        instance.add_dynamic_partitions(addition.partitions_def_name, list(addition.partition_keys))
    return run(instance, request), tick.cursor


def by_schedule(instance: dg.DagsterInstance) -> dict[str, object]:
    night = dt.datetime(2026, 11, 22, 3, 0, tzinfo=dt.UTC)
    requests = nightly_schedule()(dg.build_schedule_context(instance=instance, scheduled_execution_time=night))
    (request,) = [request for request in requests if request.partition_key == "site"]
    return run(instance, request)


def tables(home: Path) -> dict[str, pl.DataFrame]:
    with duckdb.connect(str(home / "warehouse" / "data" / "tracehouse.duckdb"), read_only=True) as connection:
        names = connection.execute(
            "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE schema_name IN ('raw', 'core', 'marts')"
        ).fetchall()
        return {name: connection.sql(f"FROM {name} ORDER BY ALL").pl() for (name,) in names}


def test_partial_days_end_in_the_same_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_days(tmp_path / "days", jobs=240, jobs_a_day=60, kinds="QSE")
    first, second, third, fourth = (path.read_bytes() for path in sorted((tmp_path / "days").iterdir()))
    names = [path.name for path in sorted((tmp_path / "days").iterdir())]

    use_home(monkeypatch, tmp_path / "home")
    site = tmp_path / "home" / "inbox" / "site"
    with dagster_instance() as instance:
        deliver(site / names[0], first[:20_001], age_s=900)  # in the middle of a line
        told, cursor = by_sensor(instance, None)
        assert told["files_now"] == "1 read"
        deliver(site / names[0], first, age_s=800)
        deliver(site / names[2], third[:30_000], age_s=800)
        told, cursor = by_sensor(instance, cursor)
        assert told["files_now"] in ("2 read", "1 read, 1 grown")
        deliver(site / names[1], second, age_s=700)
        deliver(site / names[2], third, age_s=700)
        by_schedule(instance)
        whole_lines = fourth[: fourth.index(b"\n", 15_000) + 1]
        deliver(site / names[3], whole_lines, age_s=600)
        by_schedule(instance)
        deliver(site / names[3], fourth, age_s=500)
        told, cursor = by_sensor(instance, cursor)
        assert told["files_now"] == "3 unchanged, 1 grown"
        assert told["new_lines"] == fourth.count(b"\n") - whole_lines.count(b"\n")
        again = by_schedule(instance)
        assert (again["files_now"], again["new_lines"]) == ("4 unchanged", 0)
        assert len(instance.get_run_records()) == 6
    grown = tables(tmp_path / "home")

    use_home(monkeypatch, tmp_path / "other")
    shutil.copy(tmp_path / "home" / "pseudonym.key", tmp_path / "other")
    for name in names:
        deliver(tmp_path / "other" / "inbox" / "site" / name, (tmp_path / "days" / name).read_bytes(), age_s=400)
    with dagster_instance() as instance:
        told, _ = by_sensor(instance, None)
        assert told["files_now"] == "4 read"
    at_once = tables(tmp_path / "other")
    assert at_once["core.jobs"].height == 240 and at_once["raw.pbs_records"].height == 720
    assert_same_tables(at_once, grown)
