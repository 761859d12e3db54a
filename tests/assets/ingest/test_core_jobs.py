"""The asset core/jobs as Dagster sees it."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.ingest.core_jobs import CHECKS, jobs
from assets.ingest.raw_log import raw_log
from warehouse import Warehouse


def test_it_comes_after_the_raw_log() -> None:
    assert jobs.key == dg.AssetKey(["core", "jobs"])
    assert jobs.asset_deps[jobs.key] == {raw_log.key}
    assert {key.asset_key for check in CHECKS for key in check.check_keys} == {jobs.key}


def test_a_source_without_raw_log_is_told_what_to_do(tmp_path) -> None:
    context = dg.build_asset_context(partition_key="mine", resources={"warehouse": Warehouse(tmp_path / "w.duckdb")})
    with pytest.raises(dg.Failure, match="'mine' has no raw log in the warehouse: materialize raw/log first"):
        jobs(context)
