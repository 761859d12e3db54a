"""Tests of assets/ingest: canonical_jobs_pbs, canonical_jobs_requeues, canonical_jobs_swf."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest

import sql
from assets.ingest import canonical_jobs
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.sharing.job_files import export_swf
from tests.assets.ingest.incremental import Log, OpenWarehouse
from tests.pipelines.command_line import use_home
from tests.shared import shared_file
from tests.tiny import swf_line
from traces.catalogue.sources import Source
from traces.common.pseudonyms import DEFAULT_KINDS
from warehouse import Warehouse

# canonical_jobs_pbs: Jobs of real PBS accounting logs whose history is more than queued, started and ended.

CASES: dict[str, dict[str, dict[str, Any]]] = {
    "array-deleted-before-start": {"37[].pbs3": {"status": "cancelled", "wait_s": 1, "procs": 512, "run_count": 0}},
    "deleted-by-dependency": {
        "22.pbs3": {"status": "cancelled", "wait_s": 11, "eligible_time": None, "dependency": "afternotok:19.pbs3@pbs3"},
        "25.pbs3": {"status": "cancelled", "wait_s": 4, "eligible_wait_s": 0, "eligible_time": None},
    },
    "held-then-deleted": {"15.pbs3": {"status": "cancelled", "wait_s": 37, "eligible_wait_s": 0, "eligible_time": None}},
    "no-walltime": {"193.pbs3": {"requested_walltime_s": None, "runtime_s": 6, "eligible_wait_s": 0}},
    "place-excl": {"123.pbs3": {"procs": 16, "requested_procs": 4, "gpus": 2, "nodes": 1, "runtime_s": 5}},
    "requeued-then-deleted": {
        "4.pbs3": {"status": "cancelled", "wait_s": 36, "runtime_s": 0, "run_count": 1, "requeued_s": 14, "start_time": None}
    },
    "reservation": {
        "190.pbs4": {"queue": "reservation", "reservation": "R183.pbs4", "wait_s": 35, "eligible_wait_s": 0},
        "201.pbs4": {"queue": "reservation", "reservation": "R184.pbs4", "status": "cancelled", "wait_s": 70},
    },
    "suspended-by-operator": {"28.pbs3": {"runtime_s": 6, "suspended_s": 46, "wait_s": 4, "eligible_wait_s": 4}},
    "suspended-by-preemption": {
        "5.pbs3": {"runtime_s": 5, "suspended_s": 9, "run_count": 2, "requeued_s": 8},
        "41.pbs3": {"runtime_s": 6, "suspended_s": 0, "nodes": 8},  # suspended in the second of its end
        "44.pbs3": {"runtime_s": 5, "suspended_s": 9, "nodes": 4},
        "45.pbs3": {"runtime_s": 5, "suspended_s": 21, "eligible_wait_s": 9},
        "49.pbs3": {"runtime_s": 3, "suspended_s": 21},
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_history_gives_the_right_job(tmp_path: Path, case: str) -> None:
    warehouse = load(tmp_path, shared_file("cases", "pbs", f"{case}.log"), procs=512)
    jobs = {job["job_id"]: job for job in rows(warehouse, "FROM core.jobs").to_dicts()}
    assert {name: {key: jobs[name][key] for key in job} for name, job in CASES[case].items()} == CASES[case]
    with warehouse.read() as connection:
        for check in ("every_record_is_a_job", "times_are_ordered"):
            assert connection.execute(sql.load(f"checks.{check}"), {"source": "mine"}).fetchall() == []


def test_reserved_jobs_keep_their_reservation_where_names_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_home(monkeypatch, tmp_path / "home")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    log = shared_file("cases", "pbs", "reservation.log")
    update_raw_log(warehouse, Source("mine", "pbs", log, 512, pseudonyms=DEFAULT_KINDS))
    write_jobs(warehouse, "mine")
    jobs = {job["job_id"]: job for job in rows(warehouse, "FROM core.jobs").to_dicts()}
    assert all(job["user_name"].startswith("user-") for job in jobs.values())
    assert {name: {key: jobs[name][key] for key in job} for name, job in CASES["reservation"].items()} == CASES[
        "reservation"
    ]


@pytest.mark.parametrize(
    ("first", "zone", "name"),
    [
        ("2026-01-12", "UTC", "UTC"),
        ("2026-01-12", "Etc/GMT-1", "Etc/GMT-1"),
        ("2026-03-26", "America/New_York", "Etc/GMT+4"),
        ("2026-03-26", "Europe/Berlin", "Africa/Ceuta"),
        ("2026-01-12", "Asia/Kolkata", "Asia/Calcutta"),
    ],
)
def test_the_time_zone_is_read_off_the_stamps(tmp_path: Path, first: str, zone: str, name: str) -> None:
    """A job of each of eight days is deleted after 70 s. On 29 March Berlin changes its clock. One job was moved, hours later."""
    begin, lines = datetime.fromisoformat(f"{first}T12:00+00:00"), []
    for day in range(8):
        for kind, wait_s, more in (("Q", 0, 0), ("D", 70, 0), ("Q", 5000, 1)):
            second = int(begin.timestamp()) + 86_400 * day
            stamp = datetime.fromtimestamp(second + wait_s, ZoneInfo(zone)).strftime("%m/%d/%Y %H:%M:%S")
            text = f"user=ann queue=q ctime={second} qtime={second} etime={second} Resource_List.ncpus=1"
            lines.append(f"{stamp};{kind};{10 * day + more}.head;{text if kind == 'Q' else 'requestor=ann@head'}")
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    warehouse = load(tmp_path, tmp_path / "log", procs=8)
    assert rows(warehouse, "SELECT time_zone, time_zone_from FROM core.sources").rows() == [(name, "assumed")]
    assert set(rows(warehouse, "SELECT wait_s FROM core.jobs")["wait_s"]) == {70}
    with warehouse.read() as connection:
        assert connection.execute(sql.load("checks.times_are_ordered"), {"source": "mine"}).fetchall() == []


ZERO = 1_772_366_400
"""2026-03-01, 12 o'clock UTC."""
PLACED = "exec_host=pbs/0*4+pbs/1*4 exec_vnode=(n1:ncpus=4)+(n2:ncpus=4)"
QUEUED = ("Q", 0, "user=ann queue=q ctime={0} qtime={0} etime={0} Resource_List.ncpus=8")
NEVER_ELIGIBLE = ("Q", 0, "user=ann queue=q ctime={0} qtime={0} etime=0 Resource_List.ncpus=8")
STARTED = (
    "S",
    10,
    f"user=ann queue=q ctime={{0}} etime={{0}} start={{10}} {PLACED} Resource_List.ncpus=8 Resource_List.select=2:ncpus=4",
)
RAN = f"user=ann queue=q ctime={{0}} etime={{0}} start={{10}} {PLACED} Resource_List.ncpus=8 Resource_List.select=2:ncpus=4 "
ENDED = ("E", 60, RAN + "end={60} Exit_status=0 eligible_time=00:00:56 run_count=1")
DELETED = ("D", 70, "requestor=ann@head")


HISTORIES: dict[str, tuple[list[tuple[str, int, str]], dict[str, Any]]] = {
    "vnodes-of-one-host": (
        [QUEUED, ENDED], {"nodes": 2, "procs": 8, "runtime_s": 50}),
    "suspended": (
        [QUEUED, ("z", 20, "\x01*U"), ("r", 50, ""), ENDED],
        {"runtime_s": 20, "suspended_s": 30, "eligible_wait_s": 10}),
    "suspended-twice-and-ended": (
        [QUEUED, ("z", 20, ""), ("r", 25, ""), ("z", 40, ""), ENDED],
        {"runtime_s": 25, "suspended_s": 25}),
    "alone-on-its-nodes": (
        [QUEUED, (*STARTED[:2], STARTED[2] + " resource_assigned.ncpus=32 resource_assigned.ngpus=4"), ENDED],
        {"procs": 32, "requested_procs": 8, "gpus": 4}),
    "requeued-then-deleted": (
        [QUEUED, STARTED, ("R", 60, RAN + "end={60} Exit_status=-11 run_count=1"), DELETED],
        {"status": "cancelled", "wait_s": 70, "runtime_s": 0, "run_count": 1, "requeued_s": 50, "start_time": None}),
    "held-then-deleted": (
        [NEVER_ELIGIBLE, DELETED], {"wait_s": 70, "eligible_wait_s": 0, "eligible_time": None}),
    "deleted-by-dependency": (
        [NEVER_ELIGIBLE, ("A", 70, "Job deleted as result of dependency on job 2.head")],
        {"status": "cancelled", "wait_s": 70, "eligible_wait_s": 0}),
    "behind-another": (
        [(*NEVER_ELIGIBLE[:2], NEVER_ELIGIBLE[2] + " depend=afterok:11.head@head"), ENDED], {"dependency": "afterok:11.head@head"}),
    "reservation": (
        [(*QUEUED[:2], QUEUED[2].replace("queue=q", "queue=R5 resvID=R5.head")),
        (*ENDED[:2], ENDED[2].replace("queue=q", "queue=R5 resvID=R5.head"))],
        {"queue": "reservation", "reservation": "R5.head", "wait_s": 10, "eligible_wait_s": 0}),
}  # fmt: skip


def test_short_histories(tmp_path: Path) -> None:
    """One log, in which each history is that of one job."""
    lines = [
        "03/01/2026 11:59:50;Y;R5.head;requestor=Scheduler@head start={10} end={900} nodes=(n1:ncpus=4)+(n2:ncpus=4)"
    ]
    lines += [
        f"03/01/2026 12:{second // 60:02}:{second % 60:02};{kind};{job}.head;{text}"
        for job, (records, _) in enumerate(HISTORIES.values(), 11)
        for kind, second, text in records
    ]
    written = re.sub(r"\{(\d+)\}", lambda match: str(ZERO + int(match.group(1))), "\n".join(lines))
    (tmp_path / "log").write_text(f"{written}\n")
    jobs = rows(load(tmp_path, tmp_path / "log", procs=512), "FROM core.jobs").to_dicts()
    by_id = {job["job_id"]: job for job in jobs}
    assert len(jobs) == len(by_id) == len(HISTORIES)
    for number, (name, (_, expected)) in enumerate(HISTORIES.items(), 11):
        job = by_id[f"{number}.head"]
        assert {key: job[key] for key in expected} == expected, name


def test_tasks_wait_for_what_their_array_names(tmp_path: Path) -> None:
    lines = [
        f"03/01/2026 12:00:00;Q;5[].head;{QUEUED[2]} depend=afterany:4.head@head",
        *(f"03/01/2026 12:01:00;E;5[{task}].head;{ENDED[2]}" for task in (1, 2)),
        f"03/01/2026 12:01:00;E;6.head;{ENDED[2]}",
    ]
    written = re.sub(r"\{(\d+)\}", lambda match: str(ZERO + int(match.group(1))), "\n".join(lines))
    (tmp_path / "log").write_text(f"{written}\n")
    named = rows(load(tmp_path, tmp_path / "log", procs=8), "SELECT job_id, dependency FROM core.jobs ORDER BY job_id")
    assert named.rows() == [(f"5[{task}].head", "afterany:4.head@head") for task in (1, 2)] + [("6.head", None)]


def test_a_suspended_job_holds_no_processors(tmp_path: Path) -> None:
    warehouse = load(tmp_path, shared_file("cases", "pbs", "suspended-by-preemption.log"))
    # 41 (128), 44, 45 (64 each), 5, 48 (16 each) and 49 (32): all at once before the preemption
    assert rows(warehouse, "SELECT peak_procs, peak_jobs FROM core.capacity").rows() == [(320, 6)]
    used = rows(warehouse, "SELECT sum(runtime_s * procs) AS used FROM core.jobs")["used"][0]
    (day,) = rows(warehouse, "SELECT mean_procs FROM core.capacity")["mean_procs"]
    assert day * 86_400 == pytest.approx(used)
    assert rows(warehouse, "SELECT job_index FROM core.requeues WHERE job_index IS NOT NULL").height == 1


def test_how_jobs_ended(tmp_path: Path) -> None:
    endings = (
        (0, "", "completed"),
        (3, "", "failed"),
        (-29, " run_count=1 eligible_time=1", "timeout"),
        (-27, " eligible_time=1", "out_of_memory"),
        (-20, " eligible_time=1", "node_failure"),
        (-11, " eligible_time=1", "requeued"),
        (-11, "", "timeout"),  # of Torque
        (-10, "", "out_of_memory"),
        (-10, " eligible_time=1", "failed"),
        (271, "", "failed"),
        (271, " Resource_List.walltime=00:05:00", "timeout"),
        (271, "", "cancelled"),  # somebody deleted the last one
    )
    text = f"03/01/2026 12:00:00;D;{len(endings)}.head;requestor=ann@login\n"
    for job, (status, more, _) in enumerate(endings, 1):
        text += record("E", f"{job}.head", ZERO - 500, ZERO - 300, ZERO, status, more)
    (tmp_path / "log").write_text(text)
    statuses = rows(load(tmp_path, tmp_path / "log"), "SELECT status FROM core.jobs ORDER BY job_id[:-6]::INTEGER")
    assert statuses["status"].to_list() == [word for _, _, word in endings]


# canonical_jobs_requeues: Jobs that were started more than once: every attempt is kept, and the job tells how often
# and how long.

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


# canonical_jobs_swf: Canonical jobs of SWF: times with fractions, jobs that ran in parts, and times that are far
# away.

DAY = 86_400
HEADER = "; UnixStartTime: 1767225600\n; MaxProcs: 8\n"
TIMES = "job_id", "epoch(submit_time)::BIGINT", "wait_s", "runtime_s", "procs", "requested_walltime_s"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    return OpenWarehouse(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def log(warehouse: OpenWarehouse, tmp_path: Path) -> Iterator[Log]:
    log = Log(warehouse, tmp_path, "swf")
    yield log
    log.forget()


def outcomes(log: Log) -> dict[tuple[str, str], int]:
    rows = log.rows("SELECT outcome, reason, lines FROM raw.line_counts WHERE source = $source")
    return {(outcome, reason): lines for outcome, reason, lines in rows}


def test_times_with_fractions_become_whole_seconds(log: Log) -> None:
    log.write("a.swf", shared_file("cases", "swf-fractional-times.swf").read_bytes())
    log.ingest()
    assert log.jobs(*TIMES) == [
        ("0", 0, 0, 89, 1, 149),
        ("10", 5, 0, 266, 2, 399),
        ("2050", 2740, 0, 7, 2, 67),
        ("4100", 5684, 0, 152, 4, 228),
        ("6150", 8217, 0, 88, 1, 149),
    ]


def test_a_job_that_follows_on_another_still_does(log: Log) -> None:
    """On a cluster of 2 processors: rounding every field for itself would have both running in one second."""
    log.write("a.swf", "; MaxProcs: 2\n1 0.3 0 2.3 2" + " -1" * 13 + "\n2 0.4 2.2 9.9 2" + " -1" * 13 + "\n")
    log.ingest()
    ((_, start, runtime), (_, next_start, _)) = log.jobs("job_id", "epoch(start_time)::BIGINT", "runtime_s")
    assert start + runtime == next_start
    assert log.rows("SELECT max(peak_procs) FROM core.capacity WHERE source = $source") == [(2,)]


def test_a_preceding_job_is_a_dependency(log: Log) -> None:
    log.write("a.swf", "1 0 0 2 2" + " -1" * 13 + "\n2 9 0 2 2" + " -1" * 11 + " 1 7\n")
    log.ingest()
    assert log.jobs("job_id", "dependency") == [("1", None), ("2", "afterany:1")]


def test_parts_of_a_job_that_has_a_line_as_a_whole_are_kept_aside(log: Log, tmp_path: Path) -> None:
    log.write("a.swf", shared_file("cases", "swf-partial-executions.swf").read_bytes())
    log.ingest()
    assert log.jobs("job_id", "runtime_s", "status") == [
        ("1", 100, "completed"), ("2", 50, "completed"), ("3", 50, "failed"),
    ]  # fmt: skip
    aside = "SELECT job_id, line, reason FROM core.repeats WHERE source = $source ORDER BY line"
    assert log.rows(aside) == [("1", 7, "partial execution"), ("3", 11, "partial execution")]
    assert outcomes(log) == {
        ("accepted", "job"): 5, ("ignored", "comment"): 5, ("ignored", "partial execution without a submission"): 1,
    }  # fmt: skip
    jobs = log.jobs("* EXCLUDE (file, line)")
    assert export_swf(log.warehouse, "mine", tmp_path / "out.swf") == 3
    written = (tmp_path / "out.swf").read_text()
    assert "; MaxJobs: 3\n; MaxRecords: 5\n" in written
    (log.folder / "a.swf").unlink()
    log.forget()
    log.write("b.swf", written)
    log.ingest()
    assert log.jobs("* EXCLUDE (file, line)") == jobs


@pytest.mark.parametrize("slice_rows", [1, 500_000])
def test_what_is_a_part_depends_on_the_lines_of_the_same_file_only(
    log: Log, slice_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canonical_jobs, "SLICE_ROWS", slice_rows)
    parts = swf_line(1, 0, 5, 10, 4, status=2) + swf_line(2, 9 * DAY, 5, 20, 4, status=4)
    log.write("a.swf", HEADER + parts)  # no line of either job as a whole
    log.ingest()
    assert log.jobs("job_id", "status") == [("1", "unknown"), ("2", "unknown")]
    log.write("b.swf", HEADER + swf_line(2, 9 * DAY, 5, 50, 4))  # another log's job 2
    log.ingest()
    assert [job for (job,) in log.jobs("job_id")] == ["1", "2", "2"]
    log.write("a.swf", HEADER + parts + swf_line(2, 3 * DAY, 5, 70, 4, status=0) + swf_line(1, 0, 5, 10, 4, status=3))
    log.ingest()
    assert log.jobs("job_id", "runtime_s", "status", "file") == [
        ("1", 10, "unknown", "a.swf"), ("1", 10, "unknown", "a.swf"),
        ("2", 70, "failed", "a.swf"), ("2", 50, "completed", "b.swf"),
    ]  # fmt: skip
    log.assert_like_fresh()


def test_a_duplicate_is_exported_once(log: Log, tmp_path: Path) -> None:
    """Before, one file with the lines of both was two jobs."""
    for name in ("a.swf", "b.swf"):
        log.write(name, HEADER + swf_line(1, 0, 5, 10, 4) + swf_line(2, 9, 5, 10, 4))
    log.ingest()
    assert log.rows("SELECT DISTINCT file, reason FROM core.repeats WHERE source = $source") == [("b.swf", "duplicate")]
    assert export_swf(log.warehouse, "mine", tmp_path / "out.swf") == 2


def test_one_time_that_is_far_away_makes_no_days_in_between(log: Log) -> None:
    near = swf_line(1, 0, 5, 100, 4) + swf_line(2, 40 * DAY, 5, 3 * DAY, 4)
    days = "SELECT day, peak_procs FROM core.capacity WHERE source = $source ORDER BY day"
    log.write("a.swf", HEADER + near)
    log.ingest()
    before = log.rows(days)
    assert len(before) == 44 and sum(procs == 0 for _, procs in before) == 39
    log.write(
        "b.swf", HEADER + swf_line(3, 80_000_000_000, DAY, DAY, 8) + swf_line(4, 41 * DAY + 3600, 0, 50 * 365 * DAY, 2)
    )
    log.ingest()
    after = log.rows(days)
    assert [row for row in after if row[0] < date(2026, 2, 9)] == [row for row in before if row[0] < date(2026, 2, 9)]
    assert len(after) == 44 + 1 + 3  # the end of job 4, and job 3
    assert {day.year: procs for day, procs in after if day.year > 2026} == {2076: 2, 4561: 8}
    log.assert_like_fresh()
    mean = pl.DataFrame(log.rows("SELECT mean_procs FROM core.capacity WHERE source = $source"), orient="row")
    assert mean.to_series().max() <= 8
