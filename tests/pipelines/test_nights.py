"""The nightly schedules, against an ephemeral Dagster instance."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.freshness import TimeWindowFreshnessPolicy
from dagster._core.test_utils import create_run_for_test

import pipelines.nights
from assets.common.storage import artefacts_folder
from assets.ingest.raw_log import raw_log
from pipelines.nights import freshness, nightly_schedule
from tests.pipelines.test_automation import JOB, drop


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


def test_every_night_every_source_is_retrained(inbox: Path) -> None:
    night = dt.datetime(2026, 11, 22, 3, 0, tzinfo=dt.UTC)
    with dg.instance_for_test() as instance:
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=night)
        requests = nightly_schedule()(context)
    assert {request.partition_key for request in requests} == {"lublin-256", "campus-pbs"}
    assert len({request.run_key for request in requests}) == 2


def test_a_night_leaves_what_has_not_changed(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the log of such a source is looked at. Anything that happens to the source makes the next night a whole one."""
    drop(inbox, "a.swf")
    night = dt.datetime(2026, 11, 22, 3, 0, tzinfo=dt.UTC)

    def nights(number: int, code: str = "") -> dict[str | None, bool]:
        """By source, whether the whole job is asked for. Its runs end well."""
        due = night + dt.timedelta(days=number)
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=due)
        requests = nightly_schedule(code)(context)
        for request in requests:
            ran(str(request.partition_key), request.tags)
        assert all(request.asset_selection in (None, [raw_log.key]) for request in requests)
        return {request.partition_key: request.asset_selection is None for request in requests}

    def ran(source: str, tags: dict[str, str], status: dg.DagsterRunStatus = dg.DagsterRunStatus.SUCCESS) -> None:
        create_run_for_test(instance, job_name="everything", status=status, tags=tags | {"dagster/partition": source})

    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("sources", ["a"])
        everything = dict.fromkeys(("lublin-256", "campus-pbs", "a"), True)
        nothing = dict.fromkeys(everything, False)
        assert nights(0) == everything
        assert nights(1) == nights(2) == nothing
        drop(inbox, "a.swf", JOB + JOB)
        assert nights(3) == nothing | {"a": True}
        assert nights(4, "other code") == everything
        ran("campus-pbs", {})
        assert nights(5, "other code") == nothing | {"campus-pbs": True}
        ran("a", {}, dg.DagsterRunStatus.FAILURE)
        assert nights(6, "other code") == nothing | {"a": True}
        (artefacts_folder() / "models" / "a").mkdir(parents=True)
        (artefacts_folder() / "models" / "a" / "agent-1.json").touch()
        assert nights(7, "other code") == nothing | {"a": True}

        def gone(path: Path) -> list[Path]:
            raise FileNotFoundError(path)

        monkeypatch.setattr(pipelines.nights, "_files", gone)
        assert nights(8, "other code") == nothing | {"a": True}, "a file that goes away during the look stops no other"


@pytest.mark.parametrize(
    ("cron", "due_h", "failed_h"),
    [("0 3 * * *", 26, 50), ("0 3 * * 1", 170, 338), ("0 3 * * 1-5", 74, 146), ("0 * * * *", 3, 4)],
)
def test_assets_are_due_when_the_schedule_should_have_made_them(cron: str, due_h: int, failed_h: int) -> None:
    policy = freshness(cron, "UTC")
    assert isinstance(policy, TimeWindowFreshnessPolicy)
    assert policy.warn_window is not None and policy.warn_window.to_timedelta() == dt.timedelta(hours=due_h)
    assert policy.fail_window.to_timedelta() == dt.timedelta(hours=failed_h)
