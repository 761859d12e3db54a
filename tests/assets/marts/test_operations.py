"""Marts of the real system, every figure by hand."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from assets.common.checks import broken_rows
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.pages.logged import left_sentence, read_logged
from assets.replaying.own.wait_causes import wait_causes
from assets.usage.two_periods import compare_periods
from assets.usage.waits_and_waste import waits_and_waste
from tracehouse.text.answers import is_left, why_values
from traces.catalogue.sources import Source
from warehouse import Warehouse

# operations: Marts of the real system, every figure by hand.

OPERATIONS_HEADER = (
    "JobID|User|Account|Partition|Submit|Eligible|Start|End|State|NCPUS|ReqCPUS|Timelimit|TotalCPU|AllocTRES|JobName\n"
)
LOG = OPERATIONS_HEADER + "".join(
    f"{k}|{user}|{account}|{queue}|2026-{submit}|2026-{eligible}|{start}|2026-{end}|{state}|{procs}|{procs}|{limit}|{cpu}|{tres}|n\n"
    for k, (user, account, queue, submit, eligible, start, end, state, procs, limit, cpu, tres) in enumerate(
        [
            # Saturday, 28 February, 23:30 in UTC: Sunday, 1 March, 00:30 in Berlin
            ("ann", "phys", "short", "03-01T00:30:00", "03-01T00:40:00", "2026-03-01T01:00:00", "03-01T03:00:00", "COMPLETED", 4,
             "04:00:00", "06:00:00", "cpu=4,gres/gpu=2"),
            ("ann", "phys", "short", "03-02T10:00:00", "03-02T10:00:00", "2026-03-02T10:10:00", "03-02T10:40:00", "FAILED", 8,
             "00:20:00", "", "cpu=8"),
            ("bob", "", "long", "03-31T23:59:59", "03-31T23:59:59", "2026-04-01T00:59:59", "04-01T10:59:59", "TIMEOUT", 32,
             "10:00:00", "320:00:00", "cpu=32"),
            ("bob", "", "long", "04-02T12:00:00", "04-02T12:00:00", "Unknown", "04-02T12:30:00", "CANCELLED by 7", 1,
             "UNLIMITED", "", ""),
        ],
        start=1,
    )
)  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("marts")
    (folder / "log").write_text(LOG)
    found = Warehouse(folder / "w.duckdb")
    update_raw_log(found, Source("mine", "slurm", folder / "log", procs=64, time_zone="Europe/Berlin"))
    write_jobs(found, "mine")
    return found


def rows_of_operations(warehouse: Warehouse, query: str) -> list[tuple]:
    with warehouse.read() as connection:
        return connection.sql(query).fetchall()


MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)


def test_waits_by_every_dimension(warehouse: Warehouse) -> None:
    columns = "jobs, average_wait_s, median_wait_s, p95_wait_s, max_wait_s, average_eligible_wait_s"
    march_of_ann = (MARCH, 2, 1200.0, 1200.0, 1740.0, 1800, 900.0)
    march_of_bob = (MARCH, 1, 3600.0, 3600.0, 3600.0, 3600, 3600.0)
    for view, key, names in (
        ("queue", "queue", ("long", "short")),
        ("account", "account", ("unknown", "phys")),
        ("user", "user_name", ("bob", "ann")),
    ):
        found = rows_of_operations(
            warehouse, f"SELECT {key}, month, {columns} FROM marts.waits_by_{view} ORDER BY month, jobs DESC"
        )
        of_bob, of_ann = names
        assert found == [(of_ann, *march_of_ann), (of_bob, *march_of_bob)], "who was cancelled has no wait"
    sizes = rows_of_operations(warehouse, "SELECT size_class, month, jobs FROM marts.waits_by_size ORDER BY ALL")
    # 4 of 64 processors are small, 8 medium, 32 large
    assert sizes == [("large", MARCH, 1), ("medium", MARCH, 1), ("small", MARCH, 1)]


def test_jobs_that_left_the_queue_are_counted_apart(warehouse: Warehouse) -> None:
    left = rows_of_operations(warehouse, "SELECT month, queue, user_name, left_jobs, left_hours FROM marts.left_queue")
    assert left == [(APRIL, "long", "bob", 1, 0.5)]
    assert broken_rows(warehouse, "checks.every_job_is_counted", "mine") == []


def test_there_is_one_population_of_waits(warehouse: Warehouse) -> None:
    """The mean wait was 4.8 h in the report and 8.5 h in `who`, `periods` and marts: those counted jobs that were cancelled."""
    mean_h = (1800 + 600 + 3600) / 3 / 3600
    assert rows_of_operations(warehouse, "SELECT avg(wait_s) / 3600, count(left_after_s) FROM marts.job_facts") == [
        (mean_h, 1)
    ]
    of_who = waits_and_waste(warehouse, "mine").whole
    names = ("known_waits", "mean_wait_h", "waited_h", "left_jobs", "left_hours")
    assert [of_who[name] for name in names] == [3, pytest.approx(mean_h), pytest.approx(3 * mean_h), 1, 0.5]
    logged = read_logged(warehouse, "mine")
    assert logged.all_waits is not None and logged.all_waits["mean_s"] == pytest.approx(3600 * mean_h)
    assert logged.all_waits["jobs"] == 3 and logged.curve["jobs"].sum() == 3
    assert left_sentence(logged) == "1 job left the queue before a start, after 30 min on average."
    (of_period,) = compare_periods(warehouse, "mine", "2026-03-01..2026-04-03").whole.to_dicts()
    assert [of_period[name] for name in ("mean_wait_h", "left_jobs", "left_after_h")] == [
        pytest.approx(mean_h),
        1,
        0.5,
    ]
    of_mine = wait_causes(warehouse, "mine")
    causes = of_mine.jobs
    of_why = why_values("mine", of_mine, causes, "", ("user",))
    names = ("jobs", "mean_wait_s", "left_jobs", "left_hours")
    assert [of_why[name] for name in names] == [3, pytest.approx(3600 * mean_h), 1, 0.5]
    both_h = of_who["waited_h"] + of_who["left_hours"]
    assert causes["wait_s"].sum() == pytest.approx(3600 * both_h), "why explains both"
    assert is_left(causes).sum() == 1


def test_waits_by_hour_are_of_the_clusters_calendar(warehouse: Warehouse) -> None:
    found = rows_of_operations(
        warehouse, "SELECT month, weekday, hour_of_day, jobs, average_wait_s FROM marts.waits_by_hour ORDER BY ALL"
    )
    assert found == [
        (MARCH, 1, 10, 1, 600.0),
        (MARCH, 2, 23, 1, 3600.0),
        (MARCH, 7, 0, 1, 1800.0),
    ]


def test_usage_adds_up(warehouse: Warehouse) -> None:
    found = rows_of_operations(
        warehouse,
        "SELECT user_name, month, jobs, core_hours, gpu_hours, cpu_hours, measured_core_hours, cpu_efficiency FROM marts.usage "
        "ORDER BY ALL",
    )
    assert found == [
        ("ann", MARCH, 2, 12.0, 4.0, 6.0, 8.0, 0.75),
        ("bob", MARCH, 1, 320.0, 0.0, 320.0, 320.0, 1.0),
        ("bob", APRIL, 1, 0.0, None, None, None, None),
    ]


def test_walltime_accuracy(warehouse: Warehouse) -> None:
    columns = "jobs, average_used_share, median_used_share, over_request_share, unused_core_hours"
    found = rows_of_operations(
        warehouse, f"SELECT user_name, month, {columns} FROM marts.walltime_accuracy ORDER BY ALL"
    )
    # 2 of 4 h, and 30 of 20 min: half and one and a half
    assert found == [("ann", MARCH, 2, 1.0, 1.0, 0.5, 8.0), ("bob", MARCH, 1, 1.0, 1.0, 0.0, 0.0)]


def test_failures(warehouse: Warehouse) -> None:
    columns = (
        "jobs, failed, cancelled, failed_share, failed_core_hours, cancelled_core_hours, requeued, requeued_core_hours, "
        "timeout, lost_share, timeout_core_hours, lost_core_hours"
    )
    found = rows_of_operations(
        warehouse, f"SELECT queue, month, {columns}, core_hours FROM marts.failures ORDER BY ALL"
    )
    assert found == [
        ("long", MARCH, 1, 0, 0, 0.0, 0.0, 0.0, 0, 0.0, 1, 1.0, 320.0, 320.0, 320.0),
        ("long", APRIL, 1, 0, 1, 0.0, 0.0, 0.0, 0, 0.0, 0, 1.0, 0.0, 0.0, 0.0),
        ("short", MARCH, 2, 1, 0, 0.5, 4.0, 0.0, 0, 0.0, 0, 0.5, 0.0, 4.0, 12.0),
    ]


def test_requeues_are_a_loss(tmp_path: Path) -> None:
    text = (
        "03/01/2026 12:00:00;{kind};1.head;user=ann queue=q ctime=1772359200 etime=1772359200 start={start} "
        "exec_host=n1/0*4 Resource_List.ncpus=4 Resource_List.select=1:ncpus=4 end={end} Exit_status=0 resources_used.ncpus=4\n"
    )
    (tmp_path / "log").write_text(
        text.format(kind="R", start=1772359200, end=1772359200 + 1800)
        + text.format(kind="E", start=1772370000, end=1772370000 + 3600)
    )
    warehouse = Warehouse(tmp_path / "w.duckdb")
    update_raw_log(warehouse, Source("mine", "pbs", tmp_path / "log", procs=8))
    write_jobs(warehouse, "mine")
    assert rows_of_operations(warehouse, "SELECT requeued, requeued_core_hours, core_hours FROM marts.failures") == [
        (1, 2.0, 4.0)
    ]


def test_facts_are_as_many_as_jobs(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        facts = connection.sql("FROM marts.job_facts ORDER BY job_index").pl()
    assert facts["job_index"].to_list() == [0, 1, 2, 3]
    assert facts["gpu_hours"].to_list() == [4.0, 0.0, 0.0, None]
    assert facts.schema["month"] == pl.Date
