"""Tests of assets/raw: log, vasp_runs, vasp_runs_clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from assets.core.jobs import jobs
from assets.raw.log import raw_log
from assets.raw.vasp_runs import vasp_runs
from tests.assets.ingest.incremental import ended, queued
from tests.clocks import clock_ahead
from tests.traces.vasp.vasp_lines import TOP, electronic, written
from warehouse import Warehouse

# log: The asset raw/log by itself: what it writes and says. What it writes is tested with its functions.


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


# vasp_runs: The assets raw/vasp_runs and core/vasp_jobs by themselves.


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


# vasp_runs_clock: A clock two hours ahead of the one that stamps files changes no result.

TWO_HOURS_S = 7200
READ = """
import json, sys, time
import dagster as dg
from assets.common.storage import open_warehouse
from assets.raw.vasp_runs import vasp_runs
warehouse = open_warehouse()
vasp_runs(dg.build_asset_context(partition_key="mine", resources={"warehouse": warehouse}))
with warehouse.read() as connection:
    states = connection.execute("SELECT folder, state FROM raw.vasp_runs ORDER BY ALL").fetchall()
print(json.dumps([time.time(), states]))
"""


def test_what_runs_is_told_by_the_clock_of_the_files(tmp_path: Path) -> None:
    catalogue = tmp_path / "mine.toml"
    catalogue.write_text('[vasp.mine]\npath = "runs"\nquiet_s = 3600\n')
    for name, age_s in (("ended", 2 * TWO_HOURS_S), ("runs", 0)):
        path = written(tmp_path / "runs" / name / "OUTCAR", TOP + electronic(energy=-20.25))
        stamp = path.stat().st_mtime - age_s
        os.utime(path, (stamp, stamp))
    environment = os.environ | {"TRACEHOUSE_HOME": str(tmp_path), "TRACEHOUSE_SOURCES": str(catalogue)}
    environment |= clock_ahead(tmp_path, TWO_HOURS_S)
    done = subprocess.run([sys.executable, "-c", READ], env=environment, capture_output=True, text=True, check=True)
    now, states = json.loads(done.stdout)
    assert now - time.time() > TWO_HOURS_S - 600, "its clock was ahead"
    assert states == [["ended", "cut_off"], ["runs", "running"]]
