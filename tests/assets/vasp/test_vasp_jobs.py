"""The batch jobs of VASP runs: by number, else by time and cores."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.ingest.core_jobs import jobs
from assets.vasp.vasp_jobs import vasp_jobs
from assets.vasp.vasp_runs import vasp_runs
from warehouse import Warehouse


def test_it_comes_after_runs_and_jobs() -> None:
    assert vasp_jobs.asset_deps[vasp_jobs.key] == {vasp_runs.key, jobs.key}


def test_without_accounting_the_table_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = tmp_path / "mine.toml"
    catalogue.write_text('[vasp.mine]\npath = "runs"\n')
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(catalogue))
    context = dg.build_asset_context(partition_key="mine", resources={"warehouse": Warehouse(tmp_path / "w.duckdb")})
    result = vasp_jobs(context)
    assert isinstance(result, dg.MaterializeResult) and result.metadata == {"dagster/row_count": 0}
