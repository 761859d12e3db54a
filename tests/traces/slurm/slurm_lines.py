"""Lines of `sacct -P` for tests, and what a careful reader of the real logs writes down; all times in UTC."""

from __future__ import annotations

import csv
import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.traces.common.logs import assert_adds_up, written
from traces.common.log import ParsedLog
from traces.slurm.reader import read_slurm

MORE = (
    "priority", "reason", "constraints", "reservation", "usage_in_total", "consumed_energy_j", "admin_comment", "submit_line", "asked_gpus",
    "dependency",
)  # fmt: skip
"""Columns of a record that JOB has no word for."""

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
    "submit_s": 1_705_312_800, "eligible_s": 1_705_312_805, "start_s": 1_705_312_860, "end_s": 1_705_316_460, "local_times": True,
    "elapsed_s": 3600, "suspended_s": 0, "time_limit_s": 7200, "state": "COMPLETED", "exit_code": 0, "signal": 0, "nodes": 2,
    "procs": 8, "requested_procs": 6, "gpus": 0, "requested_memory_kb": 16_777_216, "used_memory_kb": None,
    "used_cpu_s": 12_600.0, "node_list": "n[1-2]",
    "requested_tres": "billing=6,cpu=6,mem=16G,node=2", "allocated_tres": "billing=8,cpu=8,mem=16G,node=2", "memory_per": None,
    **dict.fromkeys(MORE),
}  # fmt: skip
"""The record of JOB, where it is on the second line."""


def words_of(values: dict[str, str]) -> dict[str, Any]:
    """Columns of the record of JOB with other values that have their words as they are, or the unit of ReqMem."""
    words = JOB | values
    unit = {"n": "node", "c": "cpu"}.get(words["ReqMem"][-1:])
    return {
        "requested_tres": words["ReqTRES"] or None, "allocated_tres": words["AllocTRES"] or None, "memory_per": unit,
    }  # fmt: skip


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
    log = read_slurm(written(folder, content, name), **options)
    assert_adds_up(log)
    return log


def one_job(folder: Path, content: str, **options: str) -> dict[str, Any]:
    log = read(folder, content, **options)
    assert log.rejects.rows() == []
    (job,) = log.records.to_dicts()
    return job


def unix(text: str) -> int:
    """Unix seconds of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


# What a careful reader makes of a value.

USED_MEMORY = [
    ("0", 0), ("3528K", 3528), ("1M", 1024), ("2.50M", 2560), ("2G", 2_097_152), ("1T", 2**30), ("1P", 2**40), ("", None),
    ("4308992", 4208),  # --noconvert, and what is left of a division by 1024: bytes
    ("999999999999999P", None),  # too large for 64 bits
]  # fmt: skip
"""MaxRSS, kilobytes."""

LOCAL_TIMES = [
    ("UTC", "2024-07-01T12:00:00", "2024-07-01T12:00:00"),
    ("Europe/Berlin", "2024-01-01T00:30:00", "2023-12-31T23:30:00"),
    ("Europe/Berlin", "2024-07-01T00:30:00", "2024-06-30T22:30:00"),
    ("America/New_York", "2024-03-10T01:59:59", "2024-03-10T06:59:59"),
    ("America/New_York", "2024-03-10T03:00:00", "2024-03-10T07:00:00"),  # the next second
    ("Asia/Kolkata", "2024-02-29T05:00:00", "2024-02-28T23:30:00"),
    # clocks were put back from 3 to 2 o'clock: the first of two hours
    ("Europe/Berlin", "2024-10-27T01:59:59", "2024-10-26T23:59:59"),
    ("Europe/Berlin", "2024-10-27T02:30:00", "2024-10-27T00:30:00"),
    ("Europe/Berlin", "2024-10-27T03:00:00", "2024-10-27T02:00:00"),
    # clocks were put forward from 2 to 3 o'clock: one that was not shows 2:30 for 3:30
    ("Europe/Berlin", "2024-03-31T02:30:00", "2024-03-31T01:30:00"),  # the clock leaves it out
]
"""Time zone, time there, time in UTC."""

_MEMORY = {
    "1024K": 1024, "500M": 512_000, "16G": 2**24, "1T": 2**30, "1P": 2**40, "4000": 4_096_000, "62.50G": 65_536_000, "0": 2**24,
    "0n": 2**24, "0c": 2**24, "16Gn": 2**25, ".50Gn": 2**20, "62.50Gn": 131_072_000, "500Mn": 1_024_000, "2Gc": 2**24,
    "3000Mc": 24_576_000, ".50Gc": 2**22, "2000c": 16_384_000, "": 2**24, "lots": 2**24, "G": 2**24,
}  # fmt: skip
"""ReqMem of a job on 2 nodes and 8 processors, kilobytes: n is of a node, c of a processor; a bare number is megabytes.
Where it is none or 0, which is all memory of the nodes, ReqTRES has 16G."""
_DURATIONS = {
    "00:00:00": 0, "00:01:05": 65, "01:00:00": 3600, "23:59:59": 86_399, "1-00:00:00": 86_400, "05:07": 307, "00:05:07": 307,
    "20-20:00:00": 1_800_000, "125-00:00:00": 10_800_000, "1-02:03:04": 93_784,
}  # fmt: skip
_TRES: list[tuple[str, str, int | None]] = [
    ("cpu=8,gres/gpu=4,node=1", "", 4),
    ("cpu=8,gres/gpu=4,gres/gpu:a100=4", "", 4),
    ("cpu=8,gres/gpu:a100=2,gres/gpu:v100=1,mem=1G", "", 3),
    ("gres/gpu:a100_1g.5gb=7", "", 7),
    ("cpu=8,gres/gpumem=40G,gres/gpuutil=93,node=1", "", 0),
    ("cpu=8,gres/gpu=1", "cpu=8,gres/gpu=2", 1),
    ("cpu=8", "cpu=8,gres/gpu=2", 0),
    ("", "cpu=8,gres/gpu=2", 2),
    ("", "cpu=8,gres/gpu:a100=3", 3),
    ("", "cpu=8", 0),
    ("", "", None),
]
"""AllocTRES, ReqTRES, GPUs."""
_ARRAYS = {
    "12": 1, "12_7": 1, "12+1": 1, "12_[4]": 1, "12_[1-3]": 3, "12_[0-999]": 1000, "12_[1,5]": 2, "12_[1-10%2]": 10,
    "12_[1,5-7%1]": 4, "12_[9-11,13,16-20]": 9,
}  # fmt: skip

VALUES: dict[str, list[tuple[dict[str, str], dict[str, Any]]]] = {
    "ReqMem": [
        ({"ReqMem": text, "ReqCPUS": "8"}, {"requested_memory_kb": kb, "requested_procs": 8}) for text, kb in _MEMORY.items()
    ],
    "durations": [
        (dict.fromkeys(("Elapsed", "Suspended", "Timelimit", "TotalCPU"), text),
         dict.fromkeys(("elapsed_s", "suspended_s", "time_limit_s", "used_cpu_s"), duration))
        for text, duration in _DURATIONS.items()
    ],
    "TotalCPU": [
        ({"TotalCPU": text}, {"used_cpu_s": cpu}) for text, cpu in {"00:00.500": 0.5, "05:07.250": 307.25, "": None}.items()
    ],
    "no limit": [({"Timelimit": text}, {"time_limit_s": None}) for text in ("UNLIMITED", "Partition_Limit", "")],
    "INVALID": [({"Suspended": "INVALID"}, {"suspended_s": None})],
    "GPUs": [
        ({"AllocTRES": given, "ReqTRES": asked, "NCPUS": "8"}, {"gpus": count}) for given, asked, count in _TRES
    ],
    "arrays": [({"JobID": text}, {"job_id": text, "array_tasks": count}) for text, count in _ARRAYS.items()],
    "exit codes": [
        ({"ExitCode": text}, {"exit_code": code, "signal": signal})
        for text, code, signal in (
            ("1:0", 1, 0), ("127:0", 127, 0), ("0:9", 0, 9), ("0:125", 0, 125), ("", None, None), ("x:y", None, None),
        )
    ],
    "states": [
        ({"State": text}, {"state": state})
        for text, state in {
            "CANCELLED by 423120": "CANCELLED", "CANCELLED": "CANCELLED", "OUT_OF_MEMORY": "OUT_OF_MEMORY", "": None,
            "NODE_FAIL": "NODE_FAIL", "TIMEOUT": "TIMEOUT", "PREEMPTED": "PREEMPTED", "NEVER_HEARD_OF": "NEVER_HEARD_OF",
        }.items()
    ],
    "processors": [
        ({"NCPUS": ""}, {}),  # AllocTRES
        ({"NCPUS": "", "AllocTRES": "gres/cpu=3,billing=9,cpu=4,license/cpu=5"}, {"procs": 4}),
        ({"NCPUS": "0", "AllocTRES": ""}, {"procs": 6}),  # ReqCPUS
        ({"NCPUS": "", "AllocTRES": "", "ReqCPUS": "", "ReqTRES": "cpu=5,node=3"}, {"procs": 5, "requested_procs": 5}),
        ({"ReqCPUS": ""}, {}),  # ReqTRES
        ({"ReqCPUS": "", "ReqTRES": ""}, {"requested_procs": None}),
        ({"NNodes": "", "AllocTRES": "cpu=8,mem=4G,node=3", "ReqTRES": "node=5"}, {"nodes": 3}),
        ({"NNodes": "", "AllocTRES": "", "ReqTRES": "node=5"}, {"nodes": 5}),
        ({"NNodes": "", "AllocTRES": "", "ReqTRES": "cpu=6"}, {"nodes": None}),
    ],
}  # fmt: skip
"""Values of a job's line, and what they change in its record."""

HUGE = "9" * 25  # beyond 64 bits, and any calendar

BROKEN = {
    "word": ("rubbish", "expected 27 columns, found 1"),
    "blanks around": ("  rubbish \t", "expected 27 columns, found 1"),
    "NUL bytes": ("\0" * 4, "expected 27 columns, found 1"),
    "cut": (job_line()[:-30], "expected 27 columns, found 2\\d"),
    "no id": (job_line(JobID=""), "JobID"),
    "bad submission": (job_line(Submit="yesterday"), "Submit is no time: yesterday"),
    "bad eligible time": (job_line(Eligible="x"), "Eligible is no time: x"),
    "bad start": (job_line(Start="2024-13-01T00:00:00"), "Start is no time: 2024-13-01"),
    "no such day": (job_line(Start="2024-02-30T00:00:00"), "Start is no time: 2024-02-30"),
    "bad end": (job_line(End="2024-01-15"), "End is no time: 2024-01-15"),
    "beyond any calendar": (job_line(End=HUGE), "End is no time"),
    "far too late": (job_line(End="9999-12-31T23:59:59"), "End is no time"),
    "negative time": (job_line(Submit="-5"), "Submit is no time"),
    "no submission": (job_line(Submit="Unknown"), "no Submit"),
    "empty submission": (job_line(Submit=""), "no Submit"),
    "over without end": (job_line(End="Unknown"), "no End"),
    "bad elapsed": (job_line(Elapsed="long"), "Elapsed is no duration: long"),
    "four parts": (job_line(Elapsed="1:02:03:04"), "Elapsed is no duration"),
    "negative duration": (job_line(Elapsed="-01:00:00"), "Elapsed is no duration"),
    "huge duration": (job_line(Elapsed=f"{HUGE}-00:00:00"), "Elapsed is no duration"),
    "bad suspension": (job_line(Suspended="1h"), "Suspended is no duration: 1h"),
    "bad limit": (job_line(Timelimit="forever"), "Timelimit is no duration: forever"),
    "starts before its submission": (job_line(Start="2024-01-15T09:59:59"), "order"),
    "ends before its start": (job_line(End="2024-01-15T10:00:59"), "order"),
    "cancelled before its submission": (job_line(Start="Unknown", End="2024-01-15T09:59:59"), "order"),
    "no processors": (job_line(NCPUS="0", AllocTRES="", ReqCPUS="", ReqTRES="mem=1G"), "no processor count"),
    "huge processors": (job_line(NCPUS=HUGE, AllocTRES="", ReqCPUS="", ReqTRES=""), "NCPUS is no count"),
}
"""A line, and what its reason must say."""


# Real logs.

_ARRAY_NODES = (
    "d07n07s02,d07n19s02,d07n25s01,d07n28s01,d07n29s01,d07n31s02,d07n38s02,d09n04s[01-02],d09n05s02,d09n06s01,d09n07s01,"
    "d09n08s[01-02],d09n09s01,d09n11s[01-02],d09n13s01,d09n14s01,d09n15s01,d09n16s01,d09n17s01,d09n24s01,d09n25s02,"
    "d09n28s01,d09n35s01,d09n38s02,d13n[03,05,07-08,16]"
)
_UB_HPC: dict[str, Any] = {
    "raw_job_id": "4103947", "cluster": "ub-hpc", "partition": "general-compute", "qos": "qos", "account": "anon",
    "group_name": "anon", "user_name": "unknown", "submit_s": 1_435_327_020, "eligible_s": 1_435_327_020,
    "start_s": 1_435_460_150, "end_s": 1_435_719_350, "local_times": True, "elapsed_s": 259_200, "suspended_s": None,
    "time_limit_s": 259_200, "state": "TIMEOUT", "exit_code": 1, "signal": 0, "used_memory_kb": None, "used_cpu_s": None,
}  # fmt: skip
_PHILLIPS: dict[str, Any] = {
    "array_tasks": 1, "local_times": True, "cluster": "phillips", "qos": "qos", "suspended_s": None, "time_limit_s": 259_200,
    "exit_code": 0,
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
