"""The Slurm reader accounts for every line of `sacct -P`, on real logs and on broken ones.

What is expected comes from Slurm's sacct manual and from reading the logs; it is written down in slurm_lines.py.
"""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from tests.shared import shared_file
from tests.traces.slurm import slurm_lines
from tests.traces.slurm.slurm_lines import (
    HEADER,
    JOB,
    RECORD,
    VALUES,
    document,
    job_line,
    one_job,
    read,
    step_line,
    table,
    unix,
    words_of,
)
from traces.common.log import LogError, ParsedLog
from traces.slurm.columns import SACCT_COLUMNS
from traces.slurm.reader import read_slurm
from traces.slurm.records import SLURM_RECORD_SCHEMA

# Real logs.


@pytest.mark.parametrize("name", slurm_lines.REAL_JOBS)
def test_real_logs(name: str) -> None:
    log = read_slurm(shared_file("traces", "slurm", name))
    lines = shared_file("traces", "slurm", name).read_text().splitlines()
    expected = []
    for job in slurm_lines.REAL_JOBS[name]:
        words = dict(zip(SACCT_COLUMNS, lines[job["line"] - 1].split("|"), strict=True))
        expected.append({column: (words_of(words) | job).get(column) for column in SLURM_RECORD_SCHEMA})
    assert log.records.to_dicts() == expected
    assert log.records.schema == SLURM_RECORD_SCHEMA
    assert log.rejects.rows() == []
    assert log.lines == log.accepted + sum(log.ignored.values())


def test_every_real_log_has_its_expectation() -> None:
    found = {path.name for path in shared_file("traces", "slurm").iterdir()}
    assert found == {*slurm_lines.REAL_JOBS, "pozidriv.sacct.psv.gz"}


def test_jobs_that_run_or_wait_and_their_steps_are_ignored() -> None:
    """75 array tasks run, each with the steps batch and extern; the other tasks, on one line, wait."""
    log = read_slurm(shared_file("traces", "slurm", "multistep.sacct.txt"))
    assert log.ignored == {"header": 1, "job step": 150, "unfinished job: RUNNING": 75, "unfinished job: PENDING": 1}
    assert (log.lines, log.accepted, log.header) == (227, 0, [("Columns", "JobID|ExitCode|State|MaxRSS|Elapsed")])


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return slurm_lines.by_hand(shared_file("traces", "slurm", "pozidriv.sacct.psv.gz"))


@pytest.fixture(scope="module")
def pozidriv() -> ParsedLog:
    """In the time zone of New York, which had no change of its clocks between the log's 21 December and 1 January."""
    return read_slurm(shared_file("traces", "slurm", "pozidriv.sacct.psv.gz"), "America/New_York")


def test_pozidriv_in_total(pozidriv: ParsedLog) -> None:
    assert (pozidriv.lines, pozidriv.accepted, pozidriv.rejected, pozidriv.ignored) == (11_704, 11_704, 0, {})
    states = {"COMPLETED": 10_134, "FAILED": 1007, "CANCELLED": 468, "PREEMPTED": 86, "TIMEOUT": 9}
    jobs = pozidriv.records
    assert dict(jobs["state"].value_counts().rows()) == states
    assert jobs.filter(pl.col("end_s") - pl.col("start_s") != pl.col("elapsed_s")).rows() == []
    assert set(jobs["gpus"]) == {0}
    assert jobs["time_limit_s"].null_count() == 58  # Partition_Limit


def test_pozidriv_row_by_row(pozidriv: ParsedLog, rows: list[dict[str, str]]) -> None:
    jobs = pozidriv.records
    assert jobs["line"].to_list() == list(range(1, 11_705))
    texts = {
        "job_id": "jobid",
        "raw_job_id": "jobidraw",
        "user_name": "user",
        "group_name": "group",
        "node_list": "nodelist",
    }
    texts |= {name: name for name in ("cluster", "partition", "qos", "account")} | {"job_name": "jobname"}
    for column, name in texts.items():
        expected = [None if row[name] == "None assigned" else row[name] for row in rows]
        assert jobs[column].to_list() == expected, column
    for name in ("submit", "eligible", "start", "end"):  # in winter New York is 5 hours late
        never = [name == "start" and row["nodelist"] == "None assigned" for row in rows]  # cancelled while it waited
        times = [None if skip else unix(row[name]) + 18_000 for skip, row in zip(never, rows, strict=True)]
        assert jobs[f"{name}_s"].to_list() == times, name
    for column, name in {"nodes": "nnodes", "procs": "ncpus", "requested_procs": "reqcpus"}.items():
        assert jobs[column].to_list() == [int(row[name]) for row in rows], column
    assert jobs["elapsed_s"].sum() == sum(slurm_lines.seconds(row["elapsed"]) for row in rows)
    limits = [None if row["timelimit"] == "Partition_Limit" else slurm_lines.seconds(row["timelimit"]) for row in rows]
    assert jobs["time_limit_s"].to_list() == limits
    assert jobs["exit_code"].to_list() == [int(row["exitcode"].split(":")[0]) for row in rows]
    assert set(jobs["signal"]) == {0}


def test_pozidriv_memory_is_that_of_the_trackable_resources(pozidriv: ParsedLog, rows: list[dict[str, str]]) -> None:
    """ReqMem is of a node (48000Mn, 62.50Gn), the resources' mem= of the whole job."""
    told = [slurm_lines.tres_memory_kb(row["reqtres"]) for row in rows]
    pairs = [
        (memory, job)
        for memory, job, row in zip(told, pozidriv.records["requested_memory_kb"], rows, strict=True)
        if not row["reqmem"].startswith("21474")
    ]
    assert len(pairs) == 1078
    assert [job for _, job in pairs] == [memory for memory, _ in pairs]


def test_pozidriv_memory_of_a_processor(pozidriv: ParsedLog, rows: list[dict[str, str]]) -> None:
    """2147486448Mn of 10,587 jobs is 2**31 + 2800: --mem-per-cpu=2800, and their resources have mem=2800 M a processor."""
    assert pozidriv.records["requested_memory_kb"].to_list() == [
        slurm_lines.tres_memory_kb(row["reqtres"]) for row in rows
    ]


def test_pozidriv_jobs_without_nodes_never_started(pozidriv: ParsedLog) -> None:
    waiting = pozidriv.records.filter(pl.col("node_list").is_null())
    assert (waiting.height, set(waiting["state"]), set(waiting["elapsed_s"])) == (419, {"CANCELLED"}, {0})
    assert set(waiting["start_s"]) == {None}


# Columns.


def test_a_record_in_full(tmp_path: Path) -> None:
    assert one_job(tmp_path, document(job_line())) == RECORD


def test_columns_in_any_order(tmp_path: Path) -> None:
    names = list(JOB)
    for seed in range(5):
        random.Random(seed).shuffle(names)
        assert one_job(tmp_path, table({name: JOB[name] for name in names})) == RECORD


def test_columns_that_are_not_known(tmp_path: Path) -> None:
    job = {"Comment": "x", **JOB, "ConsumedEnergy": "0", "Unheard": "a=b"}
    log = read(tmp_path, table(job))
    assert log.records.to_dicts() == [RECORD] and log.header[1:] == [("Unknown columns", "unheard")]


@pytest.mark.parametrize(
    "header",
    [
        HEADER.upper(),
        HEADER.lower(),
        HEADER.replace("|", " | "),
        HEADER.replace("JobName", "JobName%30").replace("NodeList", "NodeList%-20"),
        HEADER.replace("|", "%20|"),
    ],
    ids=["upper", "lower", "blanks", "widths", "width of every column"],
)
def test_names_of_columns_as_users_write_them(tmp_path: Path, header: str) -> None:
    assert one_job(tmp_path, f"{header}\n{job_line()}\n") == RECORD


@pytest.mark.parametrize("last", ["JobName", "State"])
def test_a_line_may_end_with_a_bar(tmp_path: Path, last: str) -> None:
    """sacct -p, which differs from -P in that."""
    job = {name: JOB[name] for name in JOB if name != last} | {last: JOB[last]}
    assert one_job(tmp_path, table(job).replace("\n", "|\n")) == RECORD


def test_files_put_together(tmp_path: Path) -> None:
    log = read(tmp_path, document(job_line()) + document(job_line(JobID="13")) + HEADER)
    assert log.records.select("line", "job_id").rows() == [(2, "12"), (4, "13")]
    assert (log.lines, log.ignored) == (5, {"header": 3})


def test_columns_that_are_missing_are_unknown(tmp_path: Path) -> None:
    names = ("JobID", "State", "Submit", "Start", "End", "NCPUS")
    job = one_job(tmp_path, table({name: JOB[name] for name in names}))
    kept = {
        "line",
        "job_id",
        "raw_job_id",
        "array_tasks",
        "submit_s",
        "start_s",
        "end_s",
        "local_times",
        "state",
        "procs",
    }
    assert job == {name: RECORD[name] if name in kept else None for name in RECORD}


def test_a_header_without_state(tmp_path: Path) -> None:
    job = one_job(tmp_path, table({name: JOB[name] for name in JOB if name != "State"}))
    assert job == RECORD | {"state": None}


@pytest.mark.parametrize("between", [",", "|", ", "])
def test_columns_given(tmp_path: Path, between: str) -> None:
    names = between.join(["User", "jobid", "Unheard", "END", "Submit", "Start", "JobName%30", "NCPUS"])
    content = "ann|12|x|2024-01-15T11:01:00|2024-01-15T10:00:00|2024-01-15T10:01:00|run.sh|8\n"
    job = one_job(tmp_path, content, columns=names)
    kept = {
        "raw_job_id",
        "job_id",
        "array_tasks",
        "user_name",
        "submit_s",
        "start_s",
        "end_s",
        "local_times",
        "job_name",
        "procs",
    }
    assert job == {name: RECORD[name] if name in kept else None for name in RECORD} | {"line": 1}


def test_a_header_counts_more_than_columns_given(tmp_path: Path) -> None:
    assert one_job(tmp_path, document(job_line()), columns="JobID,User,End") == RECORD


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("JobID|State|User|state\n1|x|y|z\n", "", "names column 'state' twice"),
        ("1|x\n", "JobID,End,JobID%20", "names column 'jobid' twice"),
        ("1|x\n", "User,End", "no column JobID among user, end"),
    ],
)
def test_columns_that_cannot_be_used(tmp_path: Path, content: str, columns: str, message: str) -> None:
    with pytest.raises(LogError, match=message) as raised:
        read(tmp_path, content, columns=columns)
    assert str(tmp_path / "sacct.psv") in str(raised.value)


def test_the_raw_id_alone_is_the_id(tmp_path: Path) -> None:
    job = {name: value for name, value in JOB.items() if name != "JobID"} | {"JobIDRaw": "4711", "JobName": "a"}
    content = table(job, job | {"JobIDRaw": "4711.batch", "MaxRSS": "3M"})
    assert one_job(tmp_path, content) == RECORD | {
        "job_id": "4711", "raw_job_id": "4711", "job_name": "a", "used_memory_kb": 3072,
    }  # fmt: skip


# Steps and states.


def test_steps_are_folded_into_their_job(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        document(
            step_line("12.batch", MaxRSS="1200K"), job_line(), step_line("12.0", MaxRSS="1.50G"),
            step_line("12.extern", MaxRSS="0"), job_line(JobID="120"), job_line(JobID="13"), step_line("13.batch"),
            job_line(JobID="14_1"), step_line("14_1.0", MaxRSS="5M"), job_line(JobID="14_2"),
            step_line("14_2.0", MaxRSS="7M"), job_line(JobID="15+0"), job_line(JobID="15+1"),
            step_line("15+1.0", MaxRSS="9000K"), step_line("99.batch", MaxRSS="8G"), job_line(State="FAILED"),
        ),
    )  # fmt: skip
    kb = [1_572_864, None, None, 5120, 7168, None, 9000, 1_572_864]  # the last: job 12 again, after it was requeued
    ids = ["12", "120", "13", "14_1", "14_2", "15+0", "15+1", "12"]
    assert log.records.select("job_id", "used_memory_kb").rows() == list(zip(ids, kb, strict=True))
    assert log.ignored == {"header": 1, "job step": 8}


@pytest.mark.parametrize(("text", "kilobytes"), slurm_lines.USED_MEMORY)
def test_used_memory(tmp_path: Path, text: str, kilobytes: int | None) -> None:
    assert one_job(tmp_path, document(job_line(), step_line("12.0", MaxRSS=text)))["used_memory_kb"] == kilobytes


UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "RESIZING", "REQUEUED", "COMPLETING", "CONFIGURING")


def test_jobs_that_are_not_over_are_ignored_by_state_but_those_that_wait(tmp_path: Path) -> None:
    over = {state: job_line(State=state, Start="Unknown", End="Unknown") for state in UNFINISHED}
    nameless = job_line(State="PENDING", Submit="Unknown", Start="Unknown", End="Unknown")
    log = read(tmp_path, document(*over.values(), over["PENDING"], nameless, job_line()))
    assert log.ignored == {"header": 1} | {f"unfinished job: {state}": 1 for state in UNFINISHED}
    assert (log.accepted, log.rejected, log.kept) == (1, 0, 2)
    assert log.line_counts()["kept", "unfinished job: PENDING"] == 2
    waiting = log.events.row(0, named=True)
    assert (waiting["job_id"], waiting["state"], waiting["start_s"], waiting["end_s"]) == ("12", "PENDING", None, None)
    assert log.events.schema == SLURM_RECORD_SCHEMA


@pytest.mark.parametrize("never", ["Unknown", "None", "N/A", ""])
def test_a_job_cancelled_before_it_started(tmp_path: Path, never: str) -> None:
    """It was given no processors: those requested stand in."""
    job = job_line(
        State="CANCELLED by 7", Start=never, Eligible=never, Elapsed="00:00:00", NCPUS="0", AllocTRES="", NodeList="",
        TotalCPU="00:00:00",
    )  # fmt: skip
    assert one_job(tmp_path, document(job)) == RECORD | {
        "state": "CANCELLED", "start_s": None, "eligible_s": None, "elapsed_s": 0, "procs": 6, "node_list": None,
        "used_cpu_s": 0.0, "allocated_tres": None,
    }  # fmt: skip


# Values.


@pytest.mark.parametrize("kind", VALUES)
def test_values(tmp_path: Path, kind: str) -> None:
    """One log for each kind, one line for each value."""
    log = read(tmp_path, document(*(job_line(**values) for values, _ in VALUES[kind])))
    expected = [
        RECORD | words_of(values) | record | {"line": line}
        for line, (values, record) in enumerate(VALUES[kind], start=2)
    ]
    assert len(expected) > 0
    assert log.records.to_dicts() == expected


@pytest.mark.parametrize(("job_id", "tasks"), [("12_[0-9:3]", 4), ("12_[1-15:2%4]", 8)])
def test_array_tasks_with_a_step(tmp_path: Path, job_id: str, tasks: int) -> None:
    """Tasks 0, 3, 6 and 9; 1, 3 ... 15. sacct prints long regular lists that way."""
    assert one_job(tmp_path, document(job_line(JobID=job_id)))["array_tasks"] == tasks


def test_an_array_too_long_to_print(tmp_path: Path) -> None:
    """sacct cuts the list at SLURM_BITSTR_LEN, 64 bytes by default."""
    job = job_line(JobID="12_[1,3,5,...]", State="CANCELLED by 7", Start="Unknown")
    assert one_job(tmp_path, document(job))["job_id"] == "12_[1,3,5,...]"


def test_unix_seconds_are_taken_in_any_time_zone(tmp_path: Path) -> None:
    times = {name: str(unix(JOB[name])) for name in ("Submit", "Eligible", "Start", "End")}
    assert one_job(tmp_path, document(job_line(**times)), time_zone="Asia/Tokyo") == RECORD | {"local_times": False}


@pytest.mark.parametrize(("zone", "local", "utc"), slurm_lines.LOCAL_TIMES)
def test_local_times(tmp_path: Path, zone: str, local: str, utc: str) -> None:
    times = dict.fromkeys(("Submit", "Eligible", "Start", "End"), local)
    job = one_job(tmp_path, document(job_line(**times, Elapsed="00:00:00")), time_zone=zone)
    assert {job[f"{name}_s"] for name in ("submit", "eligible", "start", "end")} == {unix(utc)}


@pytest.mark.parametrize(
    ("elapsed", "limit", "expected"),
    [
        ("3600", "120", (3600, 7200)),
        ("1", "UNLIMITED", (1, None)),
        ("60", "Partition_Limit", (60, None)),
        ("0", "1", (0, 60)),
    ],
)
def test_raw_durations(tmp_path: Path, elapsed: str, limit: str, expected: tuple[int, int | None]) -> None:
    """ElapsedRaw is in seconds, TimelimitRaw in minutes."""
    job = {name: value for name, value in JOB.items() if name not in ("Elapsed", "Timelimit")}
    told = one_job(tmp_path, table(job | {"ElapsedRaw": elapsed, "TimelimitRaw": limit}))
    assert (told["elapsed_s"], told["time_limit_s"]) == expected


def test_alloccpus_is_ncpus(tmp_path: Path) -> None:
    job = {"AllocCPUS" if name == "NCPUS" else name: value for name, value in JOB.items()} | {"AllocTRES": ""}
    assert one_job(tmp_path, table(job)) == RECORD | {"allocated_tres": None}
