"""Jobs that were started more than once: every attempt is kept, and the job tells how often and how long."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import polars as pl

from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from tests.shared import shared_file
from traces.catalogue.sources import Source
from warehouse import Warehouse

RECORD = (
    "03/01/2026 12:00:00;{type};{job};user=ann group=g queue=q ctime={ctime} qtime={ctime} etime={etime} start={start} "
    "exec_host=n1/0*4 Resource_List.ncpus=4 Resource_List.select=1:ncpus=4 Resource_List.walltime=01:00:00 end={end} "
    "Exit_status={status} resources_used.cput=00:01:00 resources_used.ncpus=4{more}\n"
)


def record(
    kind: str, job: str, ctime: int, start: int, end: int, status: int = 0, more: str = "", etime: int = 0
) -> str:
    return RECORD.format(
        type=kind, job=job, ctime=ctime, etime=etime or ctime, start=start, end=end, status=status, more=more
    )


def load(folder: Path, log: Path, procs: int | None = None) -> Warehouse:
    warehouse = Warehouse(folder / "w.duckdb")
    update_raw_log(warehouse, Source("mine", "pbs", log, procs))
    write_jobs(warehouse, "mine")
    return warehouse


def rows(warehouse: Warehouse, query: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(query).pl()


def test_attempts_belong_to_their_job(tmp_path: Path) -> None:
    zero = 1_772_359_200
    (tmp_path / "log").write_text(
        record("R", "1.head", zero, zero + 10, zero + 40, -3)
        + record("E", "2.head", zero + 5, zero + 50, zero + 80, etime=zero + 20)
        + record("R", "1.head", zero, zero + 60, zero + 160, -3)
        + record("E", "1.head", zero, zero + 200, zero + 500)
        + record("R", "3.head", zero, zero + 1, zero + 2, -3)  # not over yet
        + record("R", "1.head", zero - 90_000, zero - 80_000, zero - 79_000, -3)  # the id was in use before
        + record("E", "1.head", zero - 90_000, zero - 70_000, zero - 69_000, more=" run_count=7 eligible_time=00:00:33")
    )
    warehouse = load(tmp_path, tmp_path / "log")
    jobs = rows(
        warehouse,
        "SELECT job_id, wait_s, eligible_wait_s, runtime_s, run_count, requeued_s FROM core.jobs ORDER BY job_index",
    )
    assert jobs.rows() == [
        ("1.head", 20_000, 33, 1000, 7, 1000),
        ("1.head", 200, 200, 300, 3, 130),
        ("2.head", 45, 30, 30, 1, 0),
    ]
    columns = "job_index, job_id, attempt, runtime_s, procs, used_cpu_s, exit_status, line"
    kept = rows(warehouse, f"SELECT {columns} FROM core.requeues ORDER BY start_time")
    assert kept.rows() == [
        (0, "1.head", 1, 1000, 4, 60.0, -3, 6),
        (None, "3.head", 1, 1, 4, 60.0, -3, 5),
        (1, "1.head", 1, 30, 4, 60.0, -3, 1),
        (1, "1.head", 2, 100, 4, 60.0, -3, 3),
    ]


def test_a_real_requeue(tmp_path: Path) -> None:
    warehouse = load(tmp_path, shared_file("traces", "pbs", "ncar-qhist-casper-testdata.log"))
    job = rows(warehouse, "SELECT * FROM core.jobs WHERE job_id = '4215033.casper-pbs'").to_dicts()[0]
    told = ("wait_s", "eligible_wait_s", "runtime_s", "run_count", "requeued_s", "status", "account", "gpus", "nodes",
            "requested_memory_kb")  # fmt: skip
    assert [job[name] for name in told] == [16, 8, 4, 2, 5, "failed", "SCSG0001", 0, 1, 1]
    attempt = rows(warehouse, "SELECT * FROM core.requeues").to_dicts()
    assert [(row["job_index"], row["attempt"], row["start_time"], row["runtime_s"]) for row in attempt] == [
        (job["job_index"], 1, datetime(2025, 3, 31, 16, 59, 20), 5)
    ]
