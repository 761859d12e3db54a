"""The assets raw/log and core/jobs by themselves: what they write and say. What they write is tested with their functions."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.ingest.core_jobs import jobs
from assets.ingest.raw_log import raw_log
from tests.assets.ingest.incremental import ended, queued
from warehouse import Warehouse


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a source of the catalogue."""
    catalogue = tmp_path / "mine.toml"
    catalogue.write_text('[sources.mine]\nformat = "pbs"\npath = "log"\nprocs = 8\npseudonyms = []\n')
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(catalogue))
    return tmp_path / "log"


def metadata(asset: dg.AssetsDefinition, warehouse: Warehouse) -> dict[str, object]:
    context = dg.build_asset_context(partition_key="mine", resources={"warehouse": warehouse})
    result = asset(context)
    assert isinstance(result, dg.MaterializeResult) and result.metadata is not None
    return dict(result.metadata)


def test_what_an_ingest_says(log: Path, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    log.write_text(queued(1, 0) + ended(1, 0, 10, 20) + "rubbish\n")
    said = metadata(raw_log, warehouse)
    counts = [said[name] for name in ("dagster/row_count", "lines", "accepted", "kept", "rejected", "new_lines")]
    assert counts == [1, 3, 1, 1, 1, 3]
    assert said["files_now"] == "1 read" and said["new_bytes"] == log.stat().st_size
    assert metadata(jobs, warehouse)["dagster/row_count"] == 1
    assert metadata(raw_log, warehouse)["files_now"] == "1 unchanged"
    with log.open("a") as file:
        file.write("more rubbish\n")
    with pytest.raises(dg.Failure, match=r"log:4: .*No new line of the log is a job in the pbs format"):
        metadata(raw_log, warehouse)
    assert metadata(raw_log, warehouse)["rejected"] == 2  # it was taken in, and is counted once
