"""The sensors, against an ephemeral Dagster instance."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from pathlib import Path

import dagster as dg
import pytest

from assets.common.asset import FROM_COMMAND_LINE
from assets.ingest.raw_log import raw_log
from pipelines import automation
from pipelines.automation import SETTLED_S, inbox_sensor, readers_sensor
from pipelines.nights import nightly_schedule
from warehouse import Warehouse

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


def requested(result: dg.SensorResult) -> list[str | None]:
    return [request.partition_key for request in result.run_requests or []]


class Clock:
    """Our clock, which a test turns."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead_s = 0.0
        monkeypatch.setattr(time, "time", lambda now=time.time: now() + self.ahead_s)


def test_a_new_file_becomes_a_partition_and_a_run_once(inbox: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        assert not tick(instance).run_requests
        drop(inbox, "may 2026.swf")
        first = tick(instance)
        assert requested(first) == ["may-2026"]
        assert first.dynamic_partitions_requests
        assert not tick(instance, first.cursor).run_requests


def test_a_changed_file_runs_again_and_one_being_copied_is_left_alone(inbox: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        drop(inbox, "a.swf")
        cursor = tick(instance).cursor
        drop(inbox, "a.swf", JOB + JOB, age_s=30)
        drop(inbox, "b.swf", age_s=0)
        again = tick(instance, cursor)
        assert requested(again) == ["a"]
        assert set(json.loads(again.cursor or "")["taken"]) == {"a"}


def test_a_copy_under_way_is_left_alone_though_our_clock_is_ahead(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch).ahead_s = 7200.0
    with dg.DagsterInstance.ephemeral() as instance:
        (inbox / "a.swf").write_text(JOB)
        assert requested(tick(instance)) == []


def test_a_file_with_a_clock_ahead_of_ours_is_taken_once_it_is_quiet(
    inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, days = Clock(monkeypatch), 86_400
    drop(inbox, "a.swf", age_s=-30 * days)
    with dg.DagsterInstance.ephemeral() as instance:
        first = tick(instance)
        assert requested(first) == [], "it may be a copy under way"
        clock.ahead_s = SETTLED_S - 1
        early = tick(instance, first.cursor)
        assert requested(early) == []
        clock.ahead_s = SETTLED_S + 5
        later = tick(instance, early.cursor)
        assert requested(later) == ["a"]
        clock.ahead_s += 15
        assert requested(tick(instance, later.cursor)) == [], "once"


def test_a_file_with_a_clock_ahead_that_still_grows_is_left_alone(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, cursor = Clock(monkeypatch), None
    with dg.DagsterInstance.ephemeral() as instance:
        for lines in range(1, 5):
            (inbox / "a.swf").write_text(JOB * lines)
            os.utime(inbox / "a.swf", (4e9, 4e9))  # its time tells nothing, its size does
            result = tick(instance, cursor)
            assert requested(result) == []
            cursor, clock.ahead_s = result.cursor, clock.ahead_s + 15
        assert requested(tick(instance, cursor)) == ["a"]


def test_our_clock_may_be_put_back(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    clock.ahead_s = 1e9
    (inbox / "a.swf").write_text(JOB)
    os.utime(inbox / "a.swf", (4e9, 4e9))
    with dg.DagsterInstance.ephemeral() as instance:
        cursor = tick(instance).cursor
        clock.ahead_s = 0
        cursor = tick(instance, cursor).cursor
        clock.ahead_s = 15
        assert requested(tick(instance, cursor)) == ["a"]


def test_what_an_older_sensor_has_taken_is_not_taken_again(inbox: Path) -> None:
    drop(inbox, "a.swf")
    with dg.DagsterInstance.ephemeral() as instance:
        cursor = json.dumps(json.loads(tick(instance).cursor or "")["taken"])
        assert requested(tick(instance, cursor)) == []


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


def test_a_file_that_goes_away_during_a_look_stops_nothing(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(inbox, "a.swf")
    with dg.DagsterInstance.ephemeral() as instance:
        cursor, stamp_of = tick(instance).cursor, automation._stamp
        drop(inbox, "b.swf")

        def stamp_late(path: Path) -> tuple[str, float]:
            if path.name == "a.swf":
                raise FileNotFoundError(path)
            return stamp_of(path)

        with monkeypatch.context() as patch:
            patch.setattr(automation, "_stamp", stamp_late)
            during = tick(instance, cursor)
        assert requested(during) == ["b"]
        assert requested(tick(instance, during.cursor)) == [], "the first is not taken again"


def test_a_failed_first_ingest_leaves_no_partition(inbox: Path, tmp_path: Path) -> None:
    """Neither the sensor's next look nor the night brings it back; a file that has been read before stays."""
    warehouse = Warehouse(tmp_path / "w.duckdb")

    def partitions_after_a_run_of(text: str) -> list[str]:
        drop(inbox, "mine.swf", text)
        instance.add_dynamic_partitions("sources", ["mine"])
        resources = {"warehouse": warehouse}
        dg.materialize([raw_log], instance=instance, partition_key="mine", resources=resources, raise_on_error=False)
        cursor = tick(instance).cursor
        tick(instance, cursor)
        due = dg.build_schedule_context(instance=instance, scheduled_execution_time=dt.datetime(2026, 3, 1, 3))
        nightly_schedule()(due)
        return [name for name in instance.get_dynamic_partitions("sources") if name == "mine"]

    with dg.instance_for_test() as instance:
        assert partitions_after_a_run_of("no log at all\n") == []
        assert partitions_after_a_run_of(f"; MaxProcs: 4\n{JOB}") == ["mine"]
        assert partitions_after_a_run_of("no log at all\n") == ["mine"]


def test_after_each_run_of_the_daemon_readers_get_what_is_new(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of the command line have written it themselves."""
    written: list[Path] = []

    def refresh() -> list[Path]:
        written.append(Path("readers.duckdb"))
        return written

    monkeypatch.setattr(automation, "refresh_readers", refresh)
    nothing = dg.GraphDefinition(name="nothing").to_job()
    said = []
    for tags in ({}, {FROM_COMMAND_LINE: "command line"}):
        with dg.DagsterInstance.ephemeral() as instance:
            done = nothing.execute_in_process(instance=instance, tags=tags)
            context = dg.build_run_status_sensor_context(
                "readers_sensor", done.get_run_success_event(), instance, done.dagster_run
            )
            skipped = readers_sensor(context)
            assert isinstance(skipped, dg.SkipReason)
            said.append(skipped.skip_message)
    assert said == ["wrote readers.duckdb", "the command line has done so"] and len(written) == 1
