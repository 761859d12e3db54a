"""Tests of assets/core: jobs, vasp_jobs."""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path

import dagster as dg
import pytest

from assets.core.jobs import CHECKS, jobs
from assets.core.vasp_jobs import vasp_jobs
from assets.ingest.vasp_folders import update_vasp_log
from assets.predictions.stored_runs import load_open_runs
from assets.raw.log import raw_log
from assets.raw.vasp_runs import vasp_runs
from models.remaining.score_tables import used_seconds
from tests.assets.predictions.remaining import BEGIN, SOURCE, restarted_run
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse

# vasp_jobs: The batch jobs of VASP runs: by number, else by time and cores.


def test_it_comes_after_runs_and_jobs() -> None:
    assert vasp_jobs.asset_deps[vasp_jobs.key] == {vasp_runs.key, jobs.key}


def test_without_accounting_the_table_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = tmp_path / "mine.toml"
    catalogue.write_text('[vasp.mine]\npath = "runs"\n')
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(catalogue))
    context = dg.build_asset_context(partition_key="mine", resources={"warehouse": Warehouse(tmp_path / "w.duckdb")})
    result = vasp_jobs(context)
    assert isinstance(result, dg.MaterializeResult) and (result.metadata or {})["dagster/row_count"] == 0


@pytest.mark.parametrize("earlier", ["appended", "moved", "copied"])
@pytest.mark.parametrize("accounting_jobs", [1, 2])
def test_launches_of_a_run_that_was_started_again(
    accounting_jobs: int, earlier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One job that started VASP twice, or two jobs: the time used is that of the launch either way."""
    catalogue = tmp_path / "mine.toml"
    log = '[sources.cluster]\nformat = "swf"\npath = "x.swf"\n'
    catalogue.write_text(f'{log}[vasp.{SOURCE}]\npath = "runs"\naccounting = "cluster"\n')
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(catalogue))
    restarted_run(tmp_path / "runs" / "run", earlier, ended=False)
    numbers = [701, 702][:accounting_jobs]
    for number in numbers:
        (tmp_path / "runs" / "run" / f"slurm-{number}.out").write_text("done\n")
    warehouse, begin = Warehouse(tmp_path / "w.duckdb"), BEGIN.replace(tzinfo=None)
    with warehouse.write() as connection:
        for k, number in enumerate(numbers):
            start = begin + timedelta(seconds=k * (259_513 - 3_577) - 3)
            end = begin + timedelta(days=4) if number == numbers[-1] else begin + timedelta(seconds=3_540)
            connection.execute(
                "INSERT INTO core.jobs (source, job_index, job_id, submit_time, start_time, end_time, procs, requeued_s, file, line) "
                "VALUES ('cluster', ?, ?, ?, ?, ?, 32, 0, 'x', ?)",
                [k, str(number), start, start, end, k + 1],
            )
    now = (BEGIN + timedelta(seconds=259_600)).astimezone(UTC).replace(tzinfo=None)
    update_vasp_log(warehouse, load_catalogue().vasp_source(SOURCE), "UTC", now)
    vasp_jobs(dg.build_asset_context(partition_key=SOURCE, resources={"warehouse": warehouse}))
    with warehouse.read() as connection:
        rows = connection.execute(
            "SELECT outcar, launch, job_index FROM core.vasp_jobs ORDER BY job_index, launch, outcar DESC"
        )
        matched = rows.fetchall()
    names = [("OUTCAR", 1), ("OUTCAR", 2)] if earlier == "appended" else [("OUTCAR.1", 1), ("OUTCAR", 1)]
    assert matched == [(*names[0], 0), (*names[1], accounting_jobs - 1)]
    used = load_open_runs(warehouse, SOURCE)[0].with_columns(used_s=used_seconds()).sort("started_at")
    assert used["used_s"].to_list() == [3500, 3577]


# jobs: The asset core/jobs as Dagster sees it.


def test_it_comes_after_the_raw_log() -> None:
    assert jobs.key == dg.AssetKey(["core", "jobs"])
    assert jobs.asset_deps[jobs.key] == {raw_log.key, dg.AssetKey(["catalogue", "entry"])}
    assert {key.asset_key for check in CHECKS for key in check.check_keys} == {jobs.key}


def test_a_source_without_raw_log_is_told_what_to_do(tmp_path) -> None:
    context = dg.build_asset_context(partition_key="mine", resources={"warehouse": Warehouse(tmp_path / "w.duckdb")})
    with pytest.raises(dg.Failure, match="'mine' has no raw log in the warehouse: materialize raw/log first"):
        jobs(context)
