"""Columns of views are traced to the columns that they are computed from."""

from __future__ import annotations

import dagster as dg
import pytest

import sql
from assets.common.lineage import ASSETS, column_lineage, lineage_metadata
from pipelines.definitions import build_definitions
from warehouse.migrations import table_columns
from warehouse.schema import column_comments


def deps(statement: str, column: str) -> set[tuple[str, str]]:
    return {
        (dep.asset_key.to_user_string(), dep.column_name) for dep in column_lineage(statement).deps_by_column[column]
    }


def test_columns_that_are_computed_from_several() -> None:
    assert deps("marts.job_facts", "core_hours") == {("core/jobs", "procs"), ("core/jobs", "runtime_s")}
    assert deps("marts.job_facts", "month") == {("core/jobs", "submit_time"), ("core/jobs", "time_zone")}


def test_a_table_that_is_joined_with_itself_counts_once() -> None:
    column = deps("marts.prediction_error", "error_over_last_two")
    assert column == {("predictions/runtime_evaluation", "mean_absolute_error_s")}


def test_launches_come_from_runs_and_jobs() -> None:
    assert deps("core.vasp_jobs_of_source", "job_index") == {("core/jobs", "job_index")}
    assert deps("core.vasp_jobs_of_source", "folder") == {("raw/vasp_runs", "folder")}


@pytest.mark.parametrize(
    ("log_format", "table"), [("swf", "swf_jobs"), ("pbs", "pbs_records"), ("slurm", "slurm_jobs")]
)
def test_canonical_jobs_come_from_the_raw_log(log_format: str, table: str) -> None:
    """Also through stars, tables that are there for a while, and unions by name."""
    columns = column_lineage(f"core.jobs_from_{log_format}").deps_by_column
    assert {"submit_time", "start_time", "runtime_s", "procs", "user_name"} <= set(columns)
    raw = {name for name, _ in table_columns(sql.load(f"raw.{table}"))}
    for column in ("procs", "user_name", "queue"):
        assert {dep.asset_key for dep in columns[column]} == {dg.AssetKey(["raw", "log"])}
        assert {dep.column_name for dep in columns[column]} <= raw
    if log_format != "swf":
        assert {dep.column_name for dep in columns["user_name"]} == {"user_name"}


def test_findings_come_from_what_they_count() -> None:
    found = deps("marts.trace_health_of_source", "found")
    assert {asset for asset, _ in found} == {"core/jobs", "raw/log"}
    assert {("core/jobs", "runtime_s"), ("raw/log", "rejected")} <= found


@pytest.mark.parametrize("view", ["marts.job_facts", "marts.prediction_error"])
def test_every_column_of_a_view_has_a_lineage(view: str) -> None:
    assert set(column_lineage(view).deps_by_column) == set(column_comments(sql.load(view)))


def test_the_assets_are_there() -> None:
    with dg.instance_for_test():
        keys = {spec.key for spec in build_definitions().resolve_all_asset_specs()}
    assert {dg.AssetKey(path) for path in ASSETS.values()} <= keys
    assert set(lineage_metadata("marts.job_facts")) == {"dagster/column_lineage"}
