"""A source that is removed leaves neither its runs nor their failures in Dagster's records."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from pipelines.running import dagster_instance
from tests.pipelines.command_line import fail, succeed, use_home
from tests.tiny import busy_log

RAW, JOBS = dg.AssetKey(["raw", "log"]), dg.AssetKey(["core", "jobs"])


def last_runs(*keys: dg.AssetKey) -> dict[dg.AssetKey, tuple[str | None, str | None]]:
    """By asset that was ever made: the status of the run that last wanted it, and the partition that was last made."""
    seen: dict[dg.AssetKey, tuple[str | None, str | None]] = {}
    with dagster_instance() as instance:
        for record in instance.get_asset_records(keys):
            last = record.asset_entry.last_materialization
            planned = instance.event_log_storage.get_latest_planned_materialization_info(record.asset_entry.asset_key)
            run = instance.get_run_by_id(planned.run_id) if planned else None
            made = last.dagster_event.partition if last and last.dagster_event else None
            seen[record.asset_entry.asset_key] = (run.status.value if run else None, made)
    return seen


def checks_of_failed_runs() -> int:
    """Checks of the raw log that were last to run in a run that failed, or is gone."""
    with dagster_instance() as instance:
        checks = [dg.AssetCheckKey(RAW, name) for name in ("counts_add_up", "not_empty")]
        latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(checks)
        runs = [instance.get_run_by_id(each.run_id) for each in latest.values()]
        return sum(run is None or run.status.value == "FAILURE" for run in runs)


def test_failures_of_a_removed_source_are_not_those_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_home(monkeypatch, tmp_path / "home")
    for name in ("stays", "goes"):
        (tmp_path / f"{name}.swf").write_text(busy_log(50))
        succeed("ingest", tmp_path / f"{name}.swf")
    (tmp_path / "goes.swf").write_text("")
    fail("run", "goes", "--job", "ingest")
    assert last_runs(RAW)[RAW] == ("FAILURE", "goes") and checks_of_failed_runs()
    succeed("remove", "goes", "--yes")
    assert (
        last_runs(RAW, JOBS) == {RAW: ("SUCCESS", "stays"), JOBS: ("SUCCESS", "stays")} and not checks_of_failed_runs()
    )
    succeed("remove", "stays", "--yes")
    assert last_runs(RAW, JOBS) == {}
    with dagster_instance() as instance:
        assert instance.get_runs_count() == 0
