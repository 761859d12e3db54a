"""Which assets and checks each job runs, held to a snapshot: selections by group must survive a renamed group."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg

from pipelines.jobs import JOBS

SNAPSHOT = Path(__file__).with_name("jobs_snapshot.json")


def test_every_job_runs_the_assets_and_checks_of_the_snapshot() -> None:
    from pipelines.definitions import build_definitions

    with dg.instance_for_test():
        definitions = build_definitions()
        jobs = {}
        for job in JOBS:
            job_definition = definitions.resolve_job_def(job.name)
            layer = job_definition.asset_layer
            jobs[job.name] = {
                "partitions": getattr(job_definition.partitions_def, "name", None),
                "assets": sorted(key.to_user_string() for key in layer.selected_asset_keys),
                "checks": sorted(
                    f"{key.asset_key.to_user_string()}: {key.name}" for key in layer.asset_graph.asset_check_keys
                ),
            }
    assert jobs == json.loads(SNAPSHOT.read_text())
