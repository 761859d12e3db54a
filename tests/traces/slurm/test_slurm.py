"""Tests of traces/slurm: clock, columns, held_nodes, queue, records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.traces.slurm.slurm_lines import JOB, MORE, document, job_line, one_job, read, step_line, table, unix
from traces.common.log import LogError
from traces.common.queue import HELD, RUNNING, WAITING
from traces.slurm.columns import (
    SACCT_COLUMNS,
    SACCT_FIELDS,
    SacctColumns,
    columns_of,
    delimiter_of,
    field_of,
    first_lines,
    is_header_line,
    looks_like_sacct,
    text_lines,
)
from traces.slurm.held_nodes import MOST_NODES_HELD, slurm_nodes_held
from traces.slurm.numbers import slurm_number
from traces.slurm.queue import read_slurm_queue
from traces.slurm.records import READ_COLUMNS, SLURM_RECORD_SCHEMA

# clock: Local times in the hour that a clock shows twice.

TWICE = [
    # clocks were put back from 3 to 2 o'clock on 27 October; 02:30 was at 00:30 and at 01:30 in UTC
    ("01:00:00", "01:30:00", "02:30:00", "01:00:00", "23:00:00", "23:30:00", "00:30:00"),
    ("01:00:00", "01:30:00", "02:30:00", "02:00:00", "23:00:00", "23:30:00", "01:30:00"),
    ("01:00:00", "02:30:00", "03:30:00", "02:00:00", "23:00:00", "00:30:00", "02:30:00"),
    ("01:00:00", "02:30:00", "03:30:00", "01:00:00", "23:00:00", "01:30:00", "02:30:00"),
    ("02:50:00", "02:10:00", "02:20:00", "00:10:00", "00:50:00", "01:10:00", "01:20:00"),  # rejected before
    ("02:10:00", "02:50:00", "02:20:00", "00:30:00", "00:10:00", "00:50:00", "01:20:00"),
]
"""Local Submit, Start, End, and Elapsed; and the three times in UTC."""


@pytest.mark.parametrize("times", TWICE)
def test_elapsed_says_which_of_two_hours_it_was(tmp_path: Path, times: tuple[str, ...]) -> None:
    submit, start, end, elapsed, *utc = times
    local = {"Submit": submit, "Eligible": submit, "Start": start, "End": end}
    line = job_line(**{name: f"2024-10-27T{time}" for name, time in local.items()}, Elapsed=elapsed)
    record = one_job(tmp_path, document(line), time_zone="Europe/Berlin")
    days = ["2024-10-26" if time.startswith("23") else "2024-10-27" for time in utc]
    expected = [unix(f"{day}T{time}") for day, time in zip(days, utc, strict=True)]
    assert [record[f"{name}_s"] for name in ("submit", "start", "end")] == expected
    assert record["eligible_s"] == expected[0]


# columns: Which columns a log of sacct has.

LOG = Path("a.psv")


def test_a_header_line_counts_more_than_what_is_given() -> None:
    header = "JobID|JobName%30|State|"
    assert columns_of(LOG, [header], "jobid,submit") == SacctColumns(["jobid", "jobname", "state"], header, "|")


def test_columns_that_are_given_or_usual() -> None:
    assert columns_of(LOG, ["1|2"], "JobIDRaw, Submit") == SacctColumns(["jobid", "submit"], "", "|")
    assert columns_of(LOG, ["1|2"], "") == SacctColumns([name.lower() for name in SACCT_COLUMNS], "", "|")


def test_a_name_may_be_shortened_as_sacct_takes_it() -> None:
    """Of several columns that begin with it sacct takes the first of its list."""
    given = "USER,Jobname,jobidr,time,elapsed,N,nn,reqc,Unheard"
    names = ["user", "jobname", "jobidraw", "timelimit", "elapsed", "ncpus", "nnodes", "reqcpufreq", "unheard"]
    found = columns_of(LOG, [], given)
    assert found == SacctColumns(["jobid" if name == "jobidraw" else name for name in names], "", "|", ("unheard",))


@pytest.mark.parametrize("delimiter", ["|", "|#", "\t", ";", ",", "||", "#", "@"])
def test_any_delimiter(tmp_path: Path, delimiter: str) -> None:
    """sacct --delimiter."""
    plain = {"ReqTRES": "", "AllocTRES": "gres/gpu=0"}  # no comma in a value
    lines = [job_line(**plain), step_line("12.0", MaxRSS="7M"), job_line(JobID="13", **plain)]
    log = read(tmp_path, document(*lines).replace("|", delimiter))
    assert log.rejects.rows() == []
    assert log.records.select("job_id", "used_memory_kb", "job_name").rows() == [
        ("12", 7168, "run.sh"),
        ("13", None, "run.sh"),
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [("Submit,Start", "no column JobID among submit, start"), ("JobID,Start,JobID", "names column 'jobid' twice")],
)
def test_columns_that_cannot_be(given: str, says: str) -> None:
    with pytest.raises(LogError, match=f"a.psv.*{says}"):
        columns_of(LOG, [], given)


@pytest.mark.parametrize(("text", "is_one"), [("JobID|State", True), ("JobID", False), ("12|COMPLETED", False)])
def test_header_lines(text: str, is_one: bool) -> None:
    assert is_header_line(text) == looks_like_sacct(text) == is_one


def test_a_line_with_the_usual_columns_looks_like_sacct() -> None:
    words = ["12" if name == "JobID" else "2024-01-15T10:00:00" for name in SACCT_COLUMNS]
    assert looks_like_sacct("|".join(words))
    assert not looks_like_sacct("|".join(words[1:]))
    assert not looks_like_sacct("|".join(["no job", *words[1:]]))


def test_lines_are_text_whatever_the_bytes() -> None:
    assert text_lines(b"\xef\xbb\xbfa\r\n\xff\0\n").to_list() == ["a", "\\xff\\x00"]
    assert first_lines(b"\n a\n\nb\nhalf") == [" a", "b"]
    assert first_lines(b"half") == ["half"]


# fields: Names of sacct's columns, and what is between them.


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("JOBID", "jobid"),
        ("time", "timelimit"),
        ("N", "ncpus"),
        ("reqc", "reqcpufreq"),
        ("start", "start"),
        ("", None),
        ("jobs", None),
    ],
)
def test_a_name_stands_for_the_first_field_that_begins_with_it(name: str, field: str | None) -> None:
    assert field_of(name) == field


def test_a_whole_name_is_that_field() -> None:
    assert [field_of(name) for name in SACCT_FIELDS] == list(SACCT_FIELDS)
    assert len(set(SACCT_FIELDS)) == len(SACCT_FIELDS)


@pytest.mark.parametrize(
    "text", ["JobID SubmitTime WaitTime", "jobID,workload_name,submission_time,success", "a;jobid;b;c"]
)
def test_other_tables_with_a_jobid_are_no_sacct(text: str) -> None:
    assert not delimiter_of(text)


# held_nodes: Host lists of Slurm as rows of nodes.


def test_each_job_has_a_row_for_every_node_of_its_list() -> None:
    texts = pl.Series(["n[01-03],g1", None, "g1", "n[03-01", f"n[0-{MOST_NODES_HELD}]", "g1,g1"])
    rows = slurm_nodes_held(texts)
    assert rows.select("place", "node_name").rows() == [
        (0, "n01"), (0, "n02"), (0, "n03"), (0, "g1"), (2, "g1"), (5, "g1"),
    ]  # fmt: skip
    assert rows["procs"].null_count() == rows.height


def test_no_lists_are_no_rows() -> None:
    assert slurm_nodes_held(pl.Series([None], dtype=pl.Utf8)).is_empty()


# queue: `squeue --json`, in the forms of old and new data parsers.


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


def read_of_queue(*jobs: Any, **document: Any) -> Any:
    return read_slurm_queue({"jobs": list(jobs), **document}, "q.json")


def test_waiting_and_running_jobs() -> None:
    running = job(2, job_state=["RUNNING"], start_time=number(1_700_000_500), tres_alloc_str="cpu=16,mem=4G,node=1")
    snapshot = read_of_queue(job(1), running, last_update=number(1_700_001_000))
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
    (only,) = read_of_queue(old).jobs
    assert (only.state, only.procs, only.requested_walltime_s, only.submit_s) == (WAITING, 4, 600, 1_600_000_000)


def test_an_unlimited_time_is_none() -> None:
    infinite = {"set": False, "infinite": True, "number": 0}
    assert (
        read_of_queue(job(1, time_limit=infinite)).jobs[0].requested_walltime_s == -1 and slurm_number(infinite) is None
    )


def test_an_array_stands_for_its_pending_tasks() -> None:
    snapshot = read_of_queue(
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
    (only,) = read_of_queue(job(1, **fields)).jobs
    assert (only.state, only.because) == (HELD, because)


@pytest.mark.parametrize(
    "limit", ["QOSMaxCpuPerUserLimit", "AssocGrpCpuLimit", "QOSMaxGRESPerUser", "JobArrayTaskLimit"]
)
def test_what_a_limit_keeps_waits(limit: str) -> None:
    """27 of 91 waiting jobs counted as held, and 30 of the 33 held ones ran 5.2 h later on average."""
    snapshot = read_of_queue(job(1, state_reason=limit), job(2), job(3, state_reason="Dependency"), job(4, hold=True))
    assert [(each.state, each.limit) for each in snapshot.jobs] == [(WAITING, limit), (WAITING, ""), *[(HELD, "")] * 2]
    assert snapshot.counts() == (
        "4 jobs read: 0 running, 2 waiting (1 of them kept by a limit), 1 held, 1 not to start yet (Dependency 1)"
    )
    (never,) = read_of_queue(job(1, state_reason="QOSMaxWallDurationPerJobLimit")).jobs
    assert never.state == HELD, "no job that ends makes room for it"


def test_a_requeued_job_is_not_held_for_the_minutes_in_which_slurm_keeps_it() -> None:
    (requeued,) = read_of_queue(job(1, state_reason="BeginTime", restart_cnt=2)).jobs
    assert requeued.state == WAITING


def test_the_latest_time_of_a_queue_is_no_plan() -> None:
    old = {
        "submit_time": 100,
        "last_sched_evaluation": 900,
        "eligible_time": 5000,
        "start_time": 7000,
        "end_time": 9000,
    }
    running = {"job_state": "RUNNING", "submit_time": 100, "start_time": 950, "end_time": 9000}
    assert read_of_queue(job(1, **old), job(2, **running)).latest_s == 950
    assert read_of_queue(job(1, **old)).latest_s == 900
    assert read_of_queue().latest_s is None and read_of_queue().written_s is None


def test_bad_jobs_beside_good_ones_are_told_and_counted() -> None:
    wrong: list[dict[str, Any]] = [
        {"cpus": number(0)}, {"submit_time": number(0)}, {"job_state": ["RUNNING"]}, {"job_state": ["DREAMING"]},
    ]  # fmt: skip
    bad = [*(job(k, **fields) for k, fields in enumerate(wrong, start=2)), "six", job(7) | {"job_id": "x"}]
    snapshot = read_of_queue(job(1), *bad, job(8, job_state=["COMPLETED"]), job(9, hold=True))
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


# records: Jobs of sacct as records, and why some cannot be one.


def test_every_column_that_is_read_has_a_name_of_sacct() -> None:
    assert len(set(READ_COLUMNS)) == len(READ_COLUMNS)
    assert all(name == name.lower() for name in READ_COLUMNS)


def test_the_largest_memory_of_a_step_is_that_of_its_job(tmp_path: Path) -> None:
    lines = [job_line(), step_line("12.batch", MaxRSS="5M"), step_line("12.0", MaxRSS="7M"), step_line("12.1")]
    assert one_job(tmp_path, document(*lines))["used_memory_kb"] == 7 * 1024


def test_a_job_that_was_cancelled_while_it_waited_never_started(tmp_path: Path) -> None:
    end = "2024-01-15T10:20:00"
    line = job_line(State="CANCELLED by 7", Start=end, End=end, Elapsed="00:00:00", NodeList="None assigned")
    record = one_job(tmp_path, document(line))
    assert (record["start_s"], record["node_list"], record["state"]) == (None, None, "CANCELLED")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Submit": "yesterday"}, "Submit is no time: yesterday"),
        ({"Timelimit": "long"}, "Timelimit is no duration: long"),
        ({"NCPUS": "four"}, "NCPUS is no count: four"),
        ({"End": "Unknown"}, "a job that is over has no End time"),
        ({"Start": "2024-01-16T10:00:00"}, "times out of order: expected Submit <= Start <= End"),
    ],
)
def test_reasons(tmp_path: Path, changes: dict[str, str], reason: str) -> None:
    log = read(tmp_path, document(job_line(**changes)))
    assert log.rejects["reason"].to_list() == [reason] and dict(log.records.schema) == SLURM_RECORD_SCHEMA


@pytest.mark.parametrize(
    ("state", "nodes", "start"),
    [
        ("FAILED", "None assigned", None),
        ("DEADLINE", "None assigned", None),
        ("CANCELLED by 0", "None assigned", None),
        ("FAILED", "n1", 1_705_314_000),  # it failed in the second in which it started
        ("FAILED", "", 1_705_314_000),  # a log without NodeList does not tell
    ],
)
def test_jobs_without_nodes_never_started(tmp_path: Path, state: str, nodes: str, start: int | None) -> None:
    end = "2024-01-15T10:20:00"
    record = one_job(tmp_path, document(job_line(State=state, Start=end, End=end, Elapsed="00:00:00", NodeList=nodes)))
    assert (record["start_s"], record["end_s"]) == (start, 1_705_314_000)


@pytest.mark.parametrize(("memory", "kilobytes"), [("0", None), ("0n", None), ("0c", None), ("4G", 4 << 20)])
def test_memory_of_0_is_not_known(tmp_path: Path, memory: str, kilobytes: int | None) -> None:
    """It is all memory of the nodes, or Slurm keeps no track of it."""
    assert one_job(tmp_path, document(job_line(ReqMem=memory, ReqTRES="")))["requested_memory_kb"] == kilobytes


def test_more_columns_are_read_where_they_are_there(tmp_path: Path) -> None:
    more = {
        "Priority": "4294901", "Reason": "Dependency", "Constraints": "a100&ib", "Reservation": "course",
        "TRESUsageInTot": "", "ConsumedEnergyRaw": "0", "AdminComment": "moved by root", "SubmitLine": "sbatch run.sh",
    }  # fmt: skip
    job = {name: JOB[name] for name in ("JobID", "Submit", "Start", "End", "State", "NCPUS")}
    steps = [
        {"JobID": "12.batch", "TRESUsageInTot": "cpu=00:01:00,energy=5,fs/disk=10,mem=2M", "ConsumedEnergyRaw": "5"},
        {"JobID": "12.0", "TRESUsageInTot": "cpu=1-00:00:00,mem=1024K", "ConsumedEnergyRaw": "7"},
    ]
    empty = dict.fromkeys(job | more, "")
    record = one_job(tmp_path, table(job | more, *(empty | step for step in steps)))
    assert {name: record[name] for name in MORE} == {
        "priority": 4_294_901, "reason": "Dependency", "constraints": "a100&ib", "reservation": "course",
        "usage_in_total": "cpu=86460,energy=5,fs/disk=10,mem=3072K", "consumed_energy_j": 12,
        "admin_comment": "moved by root", "submit_line": "sbatch run.sh", "asked_gpus": None,
        "dependency": None,
    }  # fmt: skip
