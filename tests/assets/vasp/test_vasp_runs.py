"""The assets raw/vasp_runs and core/vasp_jobs by themselves."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.vasp.vasp_runs import vasp_runs
from tests.traces.vasp.vasp_lines import written
from warehouse import Warehouse


def test_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = tmp_path / "mine.toml"
    catalogue.write_text('[vasp.mine]\npath = "runs"\n')
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(catalogue))
    path = written(tmp_path / "runs" / "a" / "OUTCAR")
    (tmp_path / "runs" / "empty").mkdir()
    warehouse = Warehouse(tmp_path / "w.duckdb")
    for read_now, read_bytes in ((2, path.stat().st_size), (0, 0)):
        context = dg.build_asset_context(partition_key="mine", resources={"warehouse": warehouse})
        result = vasp_runs(context)
        assert isinstance(result, dg.MaterializeResult) and result.metadata is not None
        said = [result.metadata[name] for name in ("dagster/row_count", "folders", "accepted", "rejected")]
        assert said == [1, 2, 1, 1]
        assert (result.metadata["read_now"], result.metadata["read_bytes"]) == (read_now, read_bytes)
