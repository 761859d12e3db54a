"""Tests of pipelines: automation, definitions."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import dagster as dg
import pytest

from assets.common.asset import FROM_COMMAND_LINE
from assets.common.code.declared import CLUSTER, DECLARED, SOURCE_ENTRY
from assets.raw.log import raw_log
from pipelines import automation
from pipelines.automation import SETTLED_S, inbox_sensor, readers_sensor
from pipelines.nights import nightly_schedule
from warehouse import Warehouse

# automation: The sensors, against an ephemeral Dagster instance.

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
    """One look of the sensor, in variables of its own: Dagster leaves there a storage of an instance, which may be gone before a run."""

    def look() -> dg.SensorResult:
        result = inbox_sensor(dg.build_sensor_context(instance=instance, cursor=cursor))
        assert isinstance(result, dg.SensorResult)
        return result

    return copy_context().run(look)


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
        assert {"birch", "larch"} <= set(instance.get_dynamic_partitions("sources"))


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
        night = dt.datetime(2026, 3, 1, 3)
        copy_context().run(
            lambda: nightly_schedule()(dg.build_schedule_context(instance=instance, scheduled_execution_time=night))
        )
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


# definitions: The code location: what it holds, and that it loads fast.

LOOKED_AT_EVERY_NIGHT = {"raw/log", "raw/vasp_runs"}
"""What can be late. All else is made where these have changed, or when somebody asks for it."""
LINEAGE = {
    "raw/log": set(),
    "core/jobs": {"raw/log"},
    "features/job_features": {"core/jobs"},
    "features/similar_jobs": {"core/jobs"},
    "features/user_habits": {"core/jobs"},
    "predictions/runtime_evaluation": {"features/job_features", "features/similar_jobs"},
    "predictions/runtime_model": {"features/job_features", "features/similar_jobs"},
    "predictions/runtime_predictions": {
        "predictions/runtime_evaluation",
        "predictions/runtime_model",
        "features/job_features",
        "features/similar_jobs",
    },
    "policies/trajectory_filter": {"predictions/runtime_predictions", "core/jobs"},
    "policies/priority_key": {"predictions/runtime_predictions", "core/jobs"},
    "policies/agents": {"predictions/runtime_predictions", "core/jobs"},
    "policies/scheduling_policy": {"policies/trajectory_filter", "core/jobs"},
    "policies/population": {"policies/trajectory_filter", "core/jobs"},
    "replay/evaluation": {
        "policies/scheduling_policy",
        "policies/priority_key",
        "predictions/runtime_predictions",
        "core/jobs",
        "replay/fidelity",
    },
    "marts/operations": {"core/jobs"},
    "marts/trace_health": {"core/jobs"},
    "marts/job_wait_causes": {"core/jobs"},
    "replay/fidelity": {"core/jobs"},
    "replay/runs": {"core/jobs"},
    "replay/usual_changes": {"core/jobs"},
    "replay/placement": {"core/jobs"},
    "marts/prediction_error": {"predictions/runtime_evaluation"},
    "predictions/wait_times": {"predictions/runtime_predictions"},
    "marts/leaderboard": {"replay/evaluation"},
    "experiments/backfilling": {"predictions/runtime_predictions", "core/jobs"},
    "experiments/inspector": {"predictions/runtime_predictions", "core/jobs"},
    "experiments/held_out": {"predictions/runtime_predictions", "core/jobs"},
    "experiments/published": {"core/jobs"},
    "experiments/transfer": {"experiments/published"},
    "experiments/ddppo": {"core/jobs"},
    "experiments/ddppo_transfer": {"experiments/ddppo"},
    "experiments/curves": {"core/jobs"},
    "experiments/topology": set(),
    "raw/vasp_runs": set(),
    "core/vasp_jobs": {"raw/vasp_runs", "core/jobs"},
    "predictions/remaining_time_evaluation": {"raw/vasp_runs"},
    "predictions/remaining_time_model": {"raw/vasp_runs"},
    "experiments/rlschert": {"predictions/remaining_time_evaluation"},
    "predictions/remaining_times": {"raw/vasp_runs", "predictions/remaining_time_model"},
    "marts/report": {
        "replay/usual_changes",
        "marts/leaderboard",
        "marts/trace_health",
        "marts/job_wait_causes",
        "replay/evaluation",
        "replay/fidelity",
        "replay/runs",
        "policies/scheduling_policy",
        "predictions/runtime_predictions",
    },
}


@pytest.fixture
def defs() -> Iterator[dg.Definitions]:
    """Under an instance of its own: Dagster remembers the last one of the process, which another test may have closed."""
    from pipelines.definitions import build_definitions

    with dg.instance_for_test():
        yield build_definitions()


def test_lineage_is_the_documented_one(defs: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(defs)
    graph = defs.resolve_asset_graph()
    declared = {spec.key for spec in DECLARED}
    found = {
        key.to_user_string(): {parent.to_user_string() for parent in graph.get(key).parent_keys - declared}
        for key in graph.get_all_asset_keys() - declared
    }
    assert found == LINEAGE


def test_all_of_a_source_depends_on_its_entry_and_some_on_its_cluster(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    of_sources = {
        key
        for key in graph.get_all_asset_keys() - {spec.key for spec in DECLARED}
        if getattr(graph.get(key).partitions_def, "name", None) == "sources"
    }
    assert graph.get(SOURCE_ENTRY.key).child_keys == of_sources and len(of_sources) > 20
    on_cluster = {key.to_user_string() for key in graph.get(CLUSTER.key).child_keys}
    assert {
        "raw/log",
        "replay/fidelity",
        "replay/runs",
        "marts/job_wait_causes",
        "marts/report",
        "replay/evaluation",
    } <= on_cluster
    assert not on_cluster & {"core/jobs", "features/job_features", "predictions/runtime_model"}


def test_every_asset_tells_who_what_and_where(defs: dg.Definitions) -> None:
    for spec in defs.resolve_all_asset_specs():
        name = spec.key.to_user_string()
        if spec.key in {each.key for each in DECLARED}:  # which nobody makes
            continue
        assert spec.owners, name
        assert spec.kinds, name
        assert spec.group_name != "default", name
        assert spec.description and len(spec.description) > 40, name
        assert (spec.partitions_def is None) == (name == "experiments/topology"), name  # which generates its jobs
        assert (spec.freshness_policy is None) == (name not in LOOKED_AT_EVERY_NIGHT), name
        (code,) = spec.metadata["dagster/code_references"].code_references
        assert "@asset" in Path(code.file_path).read_text().splitlines()[code.line_number - 1], name
        assert re.fullmatch(r"[0-9a-f]{12}", spec.code_version or ""), name
        if name not in ("marts/report", "replay/usual_changes"):  # files, not tables
            schema = spec.metadata["dagster/column_schema"]
            assert schema.columns, name
            assert all(column.description for column in schema.columns), name


def test_jobs_schedule_sensor_and_checks_are_there(defs: dg.Definitions) -> None:
    for job in (
        "ingest",
        "train",
        "evaluate",
        "everything",
        "replay_runs",
        "placement",
        "report",
        "vasp",
        "vasp_ingest",
        "vasp_watch",
        "rlschert",
        "topology",
    ):
        assert defs.resolve_job_def(job)
    schedule = defs.resolve_schedule_def("nightly_retraining")
    assert schedule.cron_schedule == "0 3 * * *"
    assert schedule.execution_timezone == "Europe/Stockholm"
    assert defs.resolve_schedule_def("nightly_vasp").cron_schedule == "0 3 * * *"
    assert defs.resolve_sensor_def("inbox_sensor")
    assert defs.resolve_sensor_def("vasp_sensor")
    assert defs.resolve_sensor_def("readers_sensor")
    graph = defs.resolve_asset_graph()
    assert {key.name for key in graph.asset_check_keys} == {
        "counts_add_up",
        "placed_jobs_are_possible",
        "not_empty",
        "every_record_is_a_job",
        "times_are_ordered",
        "no_job_wider_than_cluster",
        "features_know_no_future",
        "predictions_finite",
        "inputs_are_stable",
        "error_is_stable",
        "never_oversubscribes",
        "no_start_before_submission",
        "runs_never_oversubscribe",
        "vasp_steps_add_up",
        "ranks_follow_verdicts",
        "every_job_is_counted",
        "wait_quantiles_ascend",
        "one_policy_is_in_use",
        "launches_fit_their_jobs",
        "causes_add_up",
    }


def test_definitions_load_without_the_heavy_packages_and_in_seconds() -> None:
    """A separate process, since this one may have imported anything. CPU time, so that a busy machine does not matter."""
    code = (
        "import time, sys, json; import pipelines.definitions;"
        "heavy = ('torch', 'scipy.optimize', 'sklearn', 'xgboost', 'matplotlib');"
        "print(json.dumps([time.process_time(), [m for m in heavy if m in sys.modules]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, heavy = json.loads(done.stdout.splitlines()[-1])
    assert heavy == []
    assert seconds < 20  # the aim is 2 (`make bench` measures it); this only catches a wrong import
