"""Jobs of real PBS accounting logs whose history is more than queued, started and ended."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sql
from tests.assets.ingest.test_canonical_jobs_requeues import load, record, rows
from tests.shared import shared_file

CASES: dict[str, dict[str, dict[str, Any]]] = {
    "array-deleted-before-start": {"37[].pbs3": {"status": "cancelled", "wait_s": 1, "procs": 512, "run_count": 0}},
    "deleted-by-dependency": {
        "22.pbs3": {"status": "cancelled", "wait_s": 11, "eligible_wait_s": 0, "eligible_time": None},
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
