"""`squeue --json`, in the forms of old and new data parsers."""

from __future__ import annotations

from typing import Any

import pytest

from traces.common.log import LogError
from traces.common.queue import HELD, RUNNING, WAITING
from traces.slurm.queue import read_slurm_queue, slurm_number


def number(value: float) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


def job(job_id: int, **fields: Any) -> dict[str, Any]:
    """A pending job as data_parser v0.0.40 and later print it."""
    usual = {
        "job_id": job_id, "array_job_id": number(0), "array_task_id": {"set": False, "infinite": False, "number": 0},
        "array_task_string": "", "job_state": ["PENDING"], "state_reason": "Priority", "user_name": "ada", "group_name": "maths",
        "account": "a1", "partition": "batch", "name": "solve", "cpus": number(8), "time_limit": number(90), "dependency": "",
        "submit_time": number(1_700_000_000), "start_time": number(0), "priority": number(100), "hold": False,
    }  # fmt: skip
    return usual | fields


def read(*jobs: Any, **document: Any) -> Any:
    return read_slurm_queue({"jobs": list(jobs), **document}, "q.json")


def test_waiting_and_running_jobs() -> None:
    running = job(2, job_state=["RUNNING"], start_time=number(1_700_000_500), tres_alloc_str="cpu=16,mem=4G,node=1")
    snapshot = read(job(1), running, last_update=number(1_700_001_000))
    first, second = snapshot.jobs
    assert (first.state, first.procs, first.requested_walltime_s, first.start_s) == (WAITING, 8, 5400, None)
    assert (first.user_name, first.group_name, first.account, first.queue, first.job_name) == (
        "ada",
        "maths",
        "a1",
        "batch",
        "solve",
    )
    assert (second.state, second.procs, second.start_s) == (RUNNING, 16, 1_700_000_500)
    assert snapshot.written_s == 1_700_001_000 and snapshot.faults == ()


def test_plain_numbers_and_one_word_of_old_versions() -> None:
    old = job(7, job_state="PENDING", cpus=4, time_limit=10, submit_time=1_600_000_000, start_time=0, priority=5)
    (only,) = read(old).jobs
    assert (only.state, only.procs, only.requested_walltime_s, only.submit_s) == (WAITING, 4, 600, 1_600_000_000)


def test_an_unlimited_time_is_none() -> None:
    infinite = {"set": False, "infinite": True, "number": 0}
    assert read(job(1, time_limit=infinite)).jobs[0].requested_walltime_s == -1 and slurm_number(infinite) is None


def test_an_array_stands_for_its_pending_tasks() -> None:
    snapshot = read(
        job(5, array_job_id=number(5), array_task_string="3-9:2%1"),
        job(6, array_job_id=number(5), array_task_id=number(1)),
    )
    assert [(each.job_id, each.tasks) for each in snapshot.jobs] == [("5_[3-9:2%1]", 4), ("5_1", 1)]
    assert snapshot.read == snapshot.count(WAITING) == 5


@pytest.mark.parametrize(
    ("fields", "because"),
    [
        ({"hold": True}, "held"),
        ({"priority": number(0)}, "held"),
        ({"state_reason": "JobHeldUser"}, "JobHeldUser"),
        ({"state_reason": "Dependency", "dependency": "afterok:9"}, "Dependency"),
        ({"state_reason": "None", "dependency": "afterok:9(unfulfilled)"}, "Dependency"),
        ({"state_reason": "BeginTime"}, "BeginTime"),
        ({"job_state": ["SUSPENDED"]}, "suspended"),
    ],
)
def test_what_waits_for_something_else_is_held(fields: dict[str, Any], because: str) -> None:
    (only,) = read(job(1, **fields)).jobs
    assert (only.state, only.because) == (HELD, because)


def test_bad_jobs_beside_good_ones_are_told_and_counted() -> None:
    wrong: list[dict[str, Any]] = [
        {"cpus": number(0)}, {"submit_time": number(0)}, {"job_state": ["RUNNING"]}, {"job_state": ["DREAMING"]},
    ]  # fmt: skip
    bad = [*(job(k, **fields) for k, fields in enumerate(wrong, start=2)), "six", job(7) | {"job_id": "x"}]
    snapshot = read(job(1), *bad, job(8, job_state=["COMPLETED"]), job(9, hold=True))
    faults = [fault for fault, _ in snapshot.faults]
    expected = [
        "job 2: expected a number of processors", "job 3: expected submit_time", "job 4: expected start_time", "job 5: expected job_state",
        "job 6 of the list: expected an object", "expected a number as job_id",
    ]  # fmt: skip
    for fault, part in zip(faults, expected, strict=True):
        assert fault.startswith("q.json: ") and part in fault
    assert snapshot.read == 9 == 1 + 1 + snapshot.ended + len(faults)
    assert snapshot.counts() == "9 jobs read: 0 running, 1 waiting, 1 held, 1 over, 6 left out for a fault"


def test_no_list_of_jobs() -> None:
    with pytest.raises(LogError, match=r"q.json: expected the JSON of `squeue --json`"):
        read_slurm_queue({"jobs": {}}, "q.json")
