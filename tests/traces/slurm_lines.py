"""Lines of `sacct -P` for tests, and what a careful reader of the real logs writes down; all times in UTC."""

from __future__ import annotations

import csv
import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from traces.log import ParsedLog
from traces.slurm import read_slurm

JOB = {
    "JobID": "12", "JobIDRaw": "12", "Cluster": "alps", "Partition": "short", "QOS": "normal", "Account": "chem",
    "Group": "staff", "User": "ann", "Submit": "2024-01-15T10:00:00", "Eligible": "2024-01-15T10:00:05",
    "Start": "2024-01-15T10:01:00", "End": "2024-01-15T11:01:00", "Elapsed": "01:00:00", "Suspended": "00:00:00",
    "ExitCode": "0:0", "State": "COMPLETED", "NNodes": "2", "NCPUS": "8", "ReqCPUS": "6", "ReqMem": "16G",
    "ReqTRES": "billing=6,cpu=6,mem=16G,node=2", "AllocTRES": "billing=8,cpu=8,mem=16G,node=2", "Timelimit": "02:00:00",
    "NodeList": "n[1-2]", "MaxRSS": "", "TotalCPU": "03:30:00", "JobName": "run.sh",
}  # fmt: skip
"""A sound job, column by column."""

RECORD: dict[str, Any] = {
    "line": 2, "job_id": "12", "raw_job_id": "12", "array_tasks": 1, "cluster": "alps", "partition": "short",
    "qos": "normal", "account": "chem", "group_name": "staff", "user_name": "ann", "job_name": "run.sh",
    "submit_s": 1_705_312_800, "eligible_s": 1_705_312_805, "start_s": 1_705_312_860, "end_s": 1_705_316_460,
    "elapsed_s": 3600, "suspended_s": 0, "time_limit_s": 7200, "state": "COMPLETED", "exit_code": 0, "signal": 0, "nodes": 2,
    "procs": 8, "requested_procs": 6, "gpus": 0, "requested_memory_kb": 16_777_216, "used_memory_kb": None,
    "used_cpu_s": 12_600.0, "node_list": "n[1-2]",
}  # fmt: skip
"""The record of JOB, where it is on the second line."""


def job_line(**changes: str) -> str:
    """The line of JOB with other values; a changed column that JOB lacks is no column of the line."""
    assert set(changes) <= set(JOB)
    return "|".join((JOB | changes).values())


def step_line(step: str, **changes: str) -> str:
    """A line of a step, which leaves most columns empty."""
    return "|".join((dict.fromkeys(JOB, "") | {"JobID": step, "State": "COMPLETED"} | changes).values())


HEADER = "|".join(JOB)


def document(*lines: str) -> str:
    return "\n".join([HEADER, *lines]) + "\n"


def table(*jobs: dict[str, str]) -> str:
    """A log whose columns are the keys of its first job."""
    return "\n".join(["|".join(jobs[0]), *("|".join(job.values()) for job in jobs)]) + "\n"


def read(folder: Path, content: bytes | str, name: str = "sacct.psv", **options: str) -> ParsedLog:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    log = read_slurm(path, **options)
    assert_adds_up(log)
    return log


def one_job(folder: Path, content: str, **options: str) -> dict[str, Any]:
    log = read(folder, content, **options)
    assert log.rejects.rows() == []
    (job,) = log.records.to_dicts()
    return job


def assert_adds_up(log: ParsedLog) -> None:
    assert log.lines == log.accepted + sum(log.ignored.values()) + log.rejected
    assert log.lines == sum(lines for _, _, lines in log.line_counts())


def unix(text: str) -> int:
    """Unix seconds of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


# Real logs.

_ARRAY_NODES = (
    "d07n07s02,d07n19s02,d07n25s01,d07n28s01,d07n29s01,d07n31s02,d07n38s02,d09n04s[01-02],d09n05s02,d09n06s01,d09n07s01,"
    "d09n08s[01-02],d09n09s01,d09n11s[01-02],d09n13s01,d09n14s01,d09n15s01,d09n16s01,d09n17s01,d09n24s01,d09n25s02,"
    "d09n28s01,d09n35s01,d09n38s02,d13n[03,05,07-08,16]"
)
_UB_HPC: dict[str, Any] = {
    "raw_job_id": "4103947", "cluster": "ub-hpc", "partition": "general-compute", "qos": "qos", "account": "anon",
    "group_name": "anon", "user_name": "unknown", "submit_s": 1_435_327_020, "eligible_s": 1_435_327_020,
    "start_s": 1_435_460_150, "end_s": 1_435_719_350, "elapsed_s": 259_200, "suspended_s": None, "time_limit_s": 259_200,
    "state": "TIMEOUT", "exit_code": 1, "signal": 0, "used_memory_kb": None, "used_cpu_s": None,
}  # fmt: skip
_PHILLIPS: dict[str, Any] = {
    "array_tasks": 1, "cluster": "phillips", "qos": "qos", "suspended_s": None, "time_limit_s": 259_200, "exit_code": 0,
    "signal": 0, "nodes": 1, "gpus": 0, "used_memory_kb": None, "used_cpu_s": None, "node_list": "cpn-k07-02-01",
}  # fmt: skip
REAL_JOBS: dict[str, list[dict[str, Any]]] = {
    "job-arrays.sacct.psv": [
        _UB_HPC
        | {"line": line, "job_id": f"4103947_{tasks}", "array_tasks": count, "job_name": "1AbC-2-3", "nodes": 32}
        | {"procs": 256, "requested_procs": 256, "gpus": None, "node_list": _ARRAY_NODES}
        | {"requested_memory_kb": 786_432_000}  # 3000 MiB for each of 256 processors
        for line, (tasks, count) in enumerate(
            {"100": 1, "[1-3]": 3, "[1,5]": 2, "[9-11,20]": 4, "[91,100-102]": 4, "[9-11,13,16-20]": 9}.items(), start=1
        )
    ],
    "utf8.sacct.psv": [
        _UB_HPC
        | {"line": 1, "job_id": "4103947", "array_tasks": 1, "job_name": "aàb", "nodes": 1, "procs": 8}
        | {"requested_procs": 8, "gpus": 0, "node_list": "d07n07s02", "requested_memory_kb": 24_576_000}
    ],
    "unknown-state.sacct.psv": [
        _PHILLIPS
        | {"line": 1, "job_id": "3451067", "raw_job_id": "3451067", "partition": "focaccia", "account": "chaff"}
        | {"group_name": "chaff", "user_name": "noror", "submit_s": 1_593_011_194, "eligible_s": 1_593_011_194}
        | {"start_s": 1_593_545_048, "end_s": 1_593_545_048, "elapsed_s": 81_142, "state": "FOO", "procs": 12}
        | {"requested_procs": 12, "requested_memory_kb": 49_152_000, "job_name": "0065"},
        _PHILLIPS
        | {"line": 2, "job_id": "3483276", "raw_job_id": "3483276", "partition": "black", "account": "taifl"}
        | {"group_name": "taifl", "user_name": "honbu", "submit_s": 1_593_617_297, "eligible_s": 1_593_617_297}
        | {"start_s": None, "end_s": 1_593_617_297, "elapsed_s": 0, "state": "BAR", "procs": 40}
        | {"requested_procs": 40, "requested_memory_kb": 122_880_000, "job_name": "21PyNP4a4b"},
    ],
    "multistep.sacct.txt": [],
}

POZIDRIV = (
    "jobid", "jobidraw", "cluster", "partition", "qos", "account", "group", "gid", "user", "uid", "submit", "eligible", "start",
    "end", "elapsed", "exitcode", "state", "nnodes", "ncpus", "reqcpus", "reqmem", "reqtres", "alloctres", "timelimit",
    "nodelist", "jobname",
)  # fmt: skip
"""The columns as the logs' README names them."""


def by_hand(path: Path) -> list[dict[str, str]]:
    """The rows of pozidriv, read by the csv module."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        return [
            dict(zip(POZIDRIV, row, strict=True)) for row in csv.reader(text, delimiter="|", quoting=csv.QUOTE_NONE)
        ]


def seconds(text: str) -> int:
    """Of `[D-]HH:MM:SS`."""
    days, _, clock = text.rpartition("-")
    hours, minutes, rest = clock.split(":")
    return ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(rest)


def tres_memory_kb(text: str) -> int:
    """mem= of a TRES string: of the whole job."""
    (amount,) = (pair.removeprefix("mem=") for pair in text.split(",") if pair.startswith("mem="))
    return round(float(amount[:-1]) * {"M": 1024, "G": 1024**2}[amount[-1]])
