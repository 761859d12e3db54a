"""Requests of the jobs of a log."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from assets.replaying.own.slurm.requests import gpus_by_type, requests_of_rows
from assets.replaying.running.settings import REQUEST_LABELS
from tests.simulator.busy import SITE

NOON = datetime(2024, 1, 1, 12)
ROW: dict[str, Any] = dict.fromkeys(REQUEST_LABELS) | {
    **{"submit_s": 5, "requested_walltime_s": 60, "requested_procs": 8, "procs": 8, "user_name": "ann"},
    **{"queue": SITE.partitions[0].name, "nodes": 2, "requested_nodes": 2},
}


def rows_of(*changes: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([ROW | change for change in changes], infer_schema_length=None)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"min_nodes": 2, "max_nodes": 2, "cpus": 8, "tasks_per_node": 4}),
        ({"requested_nodes": 1, "nodes": 3}, {"min_nodes": 0, "max_nodes": 0, "tasks_per_node": 0}),
        ({"requested_nodes": 1, "nodes": 1}, {"min_nodes": 1, "max_nodes": 1}),
        (
            {"requested_nodes": 2, "nodes": 3, "requested_procs": 9},
            {"min_nodes": 2, "max_nodes": 3, "tasks_per_node": 0},
        ),
        ({"requested_memory_kb": 8 * 1024 * 1024, "memory_per": "node"}, {"memory_mib": 4096, "memory_per": "node"}),
        ({"requested_memory_kb": 8 * 1024 * 1024, "memory_per": "cpu"}, {"memory_mib": 1024, "memory_per": "cpu"}),
        ({"gpus": 3}, {"gpus": {"": 3}, "gpus_per": "job"}),
        ({"requested_walltime_s": -1}, {"limit_s": None}),
        ({"is_exclusive": True}, {"exclusive": True}),
        ({}, {"submit_s": 5, "begin_s": 5}),
        ({"submit_time": NOON, "eligible_time": NOON + timedelta(seconds=40)}, {"begin_s": 45}),
    ],
)
def test_a_request_is_what_the_log_says(change: dict[str, Any], expected: dict[str, Any]) -> None:
    [request], left_out = requests_of_rows(rows_of(change), SITE)
    assert {name: getattr(request, name) for name in expected} == expected
    assert left_out == {}


def test_what_the_cluster_does_not_have_is_counted_or_refused() -> None:
    requests, left_out = requests_of_rows(rows_of({"qos": "gone"}, {"qos": None}), SITE)
    assert [request.qos for request in requests] == ["", ""] and left_out == {"jobs_without_their_qos": 1}
    with pytest.raises(ValueError, match=r"has no partition 'gone'.*--without-queue gone"):
        requests_of_rows(rows_of({"queue": "gone"}), SITE)


def test_gpus_of_a_type_that_no_node_has_are_of_any_type() -> None:
    changes = ({"gpus": 3, "requested_gpu_types": "k80=2"}, {"gpus": 2, "requested_gpu_types": "A100=2"}, {"gpus": 2})
    site = replace(SITE, nodes=(*SITE.nodes[:3], replace(SITE.nodes[3], gpus={"a100": 2})))
    requests, left_out = requests_of_rows(rows_of(*changes), site)
    assert [dict(request.gpus) for request in requests] == [{"": 3}, {"a100": 2}, {"": 2}]
    assert left_out == {"jobs_without_their_gpu_type": 1}


def test_gpus_by_type() -> None:
    assert gpus_by_type(None, 0) == {}
    assert gpus_by_type("a100=2,v100=1", 3) == {"a100": 2, "v100": 1}
