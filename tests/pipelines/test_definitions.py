"""The code location: what it holds, and that it loads fast."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

LOOKED_AT_EVERY_NIGHT = {"raw/log", "raw/vasp_runs"}
"""What can be late. All else is made where these have changed, or when somebody asks for it."""
LINEAGE = {
    "raw/log": set(),
    "core/jobs": {"raw/log"},
    "features/job_features": {"core/jobs"},
    "features/similar_jobs": {"core/jobs"},
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
    },
    "marts/operations": {"core/jobs"},
    "marts/trace_health": {"core/jobs"},
    "replay/fidelity": {"core/jobs"},
    "replay/runs": {"core/jobs"},
    "replay/placement": {"core/jobs"},
    "marts/prediction_error": {"predictions/runtime_evaluation"},
    "predictions/wait_times": {"predictions/runtime_predictions"},
    "replay/prediction_search": {"predictions/runtime_predictions", "core/jobs"},
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
        "marts/leaderboard",
        "marts/trace_health",
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
    found = {
        key.to_user_string(): {parent.to_user_string() for parent in graph.get(key).parent_keys}
        for key in graph.get_all_asset_keys()
    }
    assert found == LINEAGE


def test_every_asset_tells_who_what_and_where(defs: dg.Definitions) -> None:
    for spec in defs.resolve_all_asset_specs():
        name = spec.key.to_user_string()
        assert spec.owners, name
        assert spec.kinds, name
        assert spec.group_name != "default", name
        assert spec.description and len(spec.description) > 40, name
        assert (spec.partitions_def is None) == (name == "experiments/topology"), name  # which generates its jobs
        assert (spec.freshness_policy is None) == (name not in LOOKED_AT_EVERY_NIGHT), name
        (code,) = spec.metadata["dagster/code_references"].code_references
        assert "@asset" in Path(code.file_path).read_text().splitlines()[code.line_number - 1], name
        assert re.fullmatch(r"[0-9a-f]{12}", spec.code_version or ""), name
        if name != "marts/report":  # a file, not a table
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
