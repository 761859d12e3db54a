"""Tests of traces/slurm: reader_lines, reader_requests, values."""

from __future__ import annotations

import csv
import gzip
import json
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.command_line import succeed, use_home
from tests.shared import shared_file
from tests.traces.slurm import slurm_lines
from tests.traces.slurm.slurm_lines import HEADER, RECORD, document, job_line, one_job, read, step_line, unix
from traces.common.log import LogError
from traces.formats import guess_format
from traces.slurm.clock import seconds_of_local
from traces.slurm.reader import read_slurm
from traces.slurm.records import SLURM_RECORD_SCHEMA
from traces.slurm.values import (
    array_tasks,
    duration_seconds,
    gpu_count,
    gres_count,
    local_time,
    memory_per,
    positive_count,
    requested_memory,
    size_kilobytes,
    text_of,
    tres_count,
    unix_seconds,
    whole_number,
)

# reader_lines: Lines of sacct that are no jobs, or jobs in odd ways, and whole logs; values are in test_slurm.py.

# Real logs.


# Lines.


@pytest.mark.parametrize(("line", "reason"), slurm_lines.BROKEN.values(), ids=slurm_lines.BROKEN)
def test_a_broken_line_is_rejected_with_its_number_reason_and_text(tmp_path: Path, line: str, reason: str) -> None:
    log = read(tmp_path, document(job_line(), "", line, job_line(JobID="13")))
    ((number, told, text),) = log.rejects.rows()
    assert (number, text) == (4, line.replace("\0", "\\x00"))
    assert re.search(reason, told)
    assert log.records.select("line", "job_id").rows() == [(2, "12"), (5, "13")]
    assert log.ignored == {"header": 1, "blank line": 1}


@pytest.mark.parametrize(
    "values", [{"NCPUS": "many"}, {"ReqCPUS": "1.5"}, {"NNodes": "-1"}, {"TotalCPU": "much"}], ids=str
)
def test_a_count_that_is_none(tmp_path: Path, values: dict[str, str]) -> None:
    assert read(tmp_path, document(job_line(**values))).rejected == 1


def test_a_bar_in_the_name_of_a_job(tmp_path: Path) -> None:
    name = "a|b||c "
    assert one_job(tmp_path, document(job_line(JobName=name)))["job_name"] == name.strip()
    line = f"{job_line(JobName=name)}|end"  # here JobName is not the last column: nobody can tell where it ends
    log = read(tmp_path, f"{HEADER}|Comment\n{line}\n{job_line()}|sound\n")
    assert log.rejects.rows() == [(2, "expected 28 columns, found 31", line)]
    assert log.records["line"].to_list() == [3]


def test_bytes_that_are_not_utf8_are_kept_visible(tmp_path: Path) -> None:
    content = document(job_line(JobName="caf?"), "??", job_line(JobName="a\0\x0b\x85\u2028b"))
    log = read(tmp_path, content.encode().replace(b"?", b"\xe9"))
    assert log.rejects.select("line", "text").rows() == [(3, "\\xe9\\xe9")]
    # other than for str.splitlines, nothing but a line feed ends a line
    assert log.records.select("line", "job_name").rows() == [(2, "caf\\xe9"), (4, "a\\x00\x0b\x85\u2028b")]


def test_line_ends_of_any_kind(tmp_path: Path) -> None:
    unix_text = document(job_line(), "", "rubbish", job_line(JobID="13"), step_line("13.0", MaxRSS="1M"))
    log, *others = (read(tmp_path, text) for text in (unix_text, unix_text.replace("\n", "\r\n"), unix_text[:-1]))
    assert (log.lines, log.ignored) == (6, {"header": 1, "blank line": 1, "job step": 1})
    for other in others:
        assert other.records.equals(log.records)
        assert other.rejects.equals(log.rejects)
        assert (other.lines, other.ignored, other.header) == (log.lines, log.ignored, log.header)


@pytest.mark.parametrize(
    ("content", "lines", "ignored"),
    [("", 0, {}), ("\n", 1, {"blank line": 1}), ("\r\n \n", 2, {"blank line": 2}), (HEADER, 1, {"header": 1})],
)
def test_next_to_nothing(tmp_path: Path, content: str, lines: int, ignored: dict[str, int]) -> None:
    log = read(tmp_path, content)
    assert (log.lines, log.ignored, log.accepted, log.rejected) == (lines, ignored, 0, 0)
    assert log.records.schema == SLURM_RECORD_SCHEMA


def test_one_line_without_an_end(tmp_path: Path) -> None:
    assert one_job(tmp_path, job_line(), columns=HEADER) == RECORD | {"line": 1}


def test_packed_files_give_equal_records(tmp_path: Path) -> None:
    content = document(job_line(), "rubbish").encode()
    plain = read(tmp_path, content)
    for name, packed in (("a.gz", gzip.compress(content)), ("a.zst", zstandard.ZstdCompressor().compress(content))):
        log = read(tmp_path, packed, name)
        assert log.records.equals(plain.records) and log.rejects.equals(plain.rejects)
        assert (log.size_bytes, log.lines) == (len(packed), 3)
        (tmp_path / name).write_bytes(packed[:-9])
        with pytest.raises(LogError, match="damaged"):
            read_slurm(tmp_path / name)


PIECES = (
    "|",
    "||",
    "\0",
    "\r",
    " ",
    "é",
    "\u2028",
    "-",
    ":",
    ".",
    "0",
    slurm_lines.HUGE,
    "Unknown",
    "RUNNING",
    "12.batch",
    "[1-3:2]",
    '"',
)
ODD = [
    "",
    "  ",
    "rubbish",
    HEADER,
    HEADER.lower(),
    step_line("12.0", MaxRSS="1.5G"),
    "|" * 26,
    job_line(State="PENDING"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    line = draw(st.sampled_from([job_line(), job_line(State="CANCELLED by 7", Start="Unknown"), *ODD]))
    for _ in range(draw(st.integers(0, 3))):
        place, cut = draw(st.integers(0, len(line))), draw(st.integers(0, 12))
        line = line[:place] + draw(st.sampled_from(["", *PIECES])) + line[place + cut :]
    return line.encode() + draw(st.sampled_from([b"", b"", b"\xff", b"\xe9|"]))


@settings(max_examples=40, deadline=None)
@given(st.lists(mutated(), max_size=25))
def test_every_line_is_accounted_for(mixture: list[bytes]) -> None:
    """Whatever stands before and after, a sound line is accepted, and a rejected one is kept."""
    lines = [raw for line in mixture for raw in (line, job_line(JobID=str(len(line) + 10**6)).encode())]
    with tempfile.TemporaryDirectory() as folder:
        log = read(Path(folder), b"\n".join([HEADER.encode(), *lines]) + b"\n")
    assert log.lines == len(lines) + 1
    accepted, rejected = log.records["line"].to_list(), log.rejects["line"].to_list()
    assert len({*accepted, *rejected}) == len(accepted) + len(rejected)
    assert set(range(3, len(lines) + 2, 2)) <= set(accepted)  # each follows one that may be broken
    for number, text in log.rejects.select("line", "text").rows():
        raw = lines[number - 2].replace(b"\0", b"\\x00").rstrip(b"\r")
        assert text == raw.decode(errors="backslashreplace")
    assert None not in log.records["submit_s"].to_list() + log.records["procs"].to_list()
    assert all(reason for reason in log.rejects["reason"])


# Finding the format, and the way into the warehouse.


def test_the_format_is_found_out(tmp_path: Path) -> None:
    for path in shared_file("traces", "slurm").iterdir():
        assert guess_format(path) == "slurm", path
    for path in shared_file("traces", "pbs").iterdir():
        assert guess_format(path) == "pbs", path
    for name in ("lublin_256.swf.gz", "NASA-iPSC-1993-3.1-cln.swf.gz"):
        assert guess_format(shared_file("traces", "swf", name)) == "swf"
    (tmp_path / "month").write_text("\n" + document(job_line()))
    assert guess_format(tmp_path) == "slurm"


def test_bars_alone_are_no_slurm_log(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name|value\n1|2\n" + "1|" * 40)
    with pytest.raises(LogError, match="unknown log format"):
        guess_format(tmp_path / "a.csv")


def test_from_a_log_to_a_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path / "home")
    never = job_line(JobID="13", State="CANCELLED by 7", Start="Unknown", End="2024-01-15T10:20:00", Elapsed="00:00:00")
    failed = job_line(JobID="14", State="TIMEOUT", Partition="long", Eligible="Unknown", Timelimit="UNLIMITED")
    odd = (job_line(JobID="15", State="FOO"), job_line(JobID="16", State="RUNNING", End="Unknown"), "rubbish")
    (tmp_path / "alps.psv").write_text(document(job_line(), step_line("12.0", MaxRSS="2G"), never, failed, *odd))
    told = json.loads(
        succeed("ingest", tmp_path / "alps.psv", "--name", "alps", "--time-zone", "Europe/Berlin", "--json")
    )
    assert (told["lines"], told["accepted"], told["rejected"]) == (8, 4, 1)
    assert told["ignored_by_reason"] == {"header": 1, "job step": 1, "unfinished job: RUNNING": 1}
    assert told["rejected_by_reason"] == {"expected 27 columns, found 1": 1}

    query = (
        "SELECT job_id, wait_s, runtime_s, status, queue, requested_walltime_s, procs, epoch(submit_time)::BIGINT AS submit, "
        "epoch(start_time)::BIGINT AS start, epoch(eligible_time)::BIGINT AS eligible FROM core.jobs ORDER BY job_id"
    )
    rows = [list(row.values()) for row in json.loads(succeed("sql", query, "--format", "json"))]
    submit = unix("2024-01-15T09:00:00")  # in Berlin, an hour before UTC in winter
    assert rows == [
        ["12", 60, 3600, "completed", "short", 7200, 8, submit, submit + 60, submit + 5],
        ["13", 1200, 0, "cancelled", "short", 7200, 8, submit, None, submit + 5],
        ["14", 60, 3600, "timeout", "long", None, 8, submit, submit + 60, submit],
        ["15", 60, 3600, "unknown", "short", 7200, 8, submit, submit + 60, submit + 5],
    ]
    replayed = json.loads(succeed("replay", "alps", "--cancelled", "--json"))
    assert (replayed["jobs"], replayed["cancelled_jobs"]) == (4, 1)


# reader_requests: What jobs asked for, as a real Slurm logged it, is what they were submitted with.


def test_all_jobs_of_the_micro_cluster_ask_for_what_their_request_file_says() -> None:
    """500 jobs on ten nodes with memory and GPUs. sacct of that version has no column of features."""
    log = read_slurm(shared_file("traces", "clusters", "ub-micro", "real_slurm_run", "slurm_acct.out"))
    with shared_file("traces", "clusters", "ub-micro", "v3", "workload", "jobs500.csv").open() as file:
        requests = {f"jobid_{row['job_id']}": row for row in csv.DictReader(file, delimiter=";")}
    jobs = {row["job_name"]: row for row in log.records.to_dicts()}
    assert log.rejects.rows() == [] and jobs.keys() == requests.keys() and len(jobs) == 500
    for name, asked in requests.items():
        job, procs = jobs[name], int(asked["n_tasks"])
        memory_mb = int(asked["mem"]) if asked["mem"] else 2800 * procs  # the partition's DefMemPerCPU
        assert (
            job["time_limit_s"], job["requested_procs"], job["user_name"], job["account"], job["requested_memory_kb"], job["memory_per"],
            job["gpus"] or 0,
        ) == (
            int(asked["wall_limit"]) * 60, procs, asked["user"], asked["account"], memory_mb * 1024, "node" if asked["mem"] else "cpu",
            int(asked["gres"].partition(":")[2] or 0),
        ), name  # fmt: skip


def test_all_jobs_of_the_recorded_runs_ask_for_what_their_scenarios_say() -> None:
    """Each row of accounting, with all tasks of arrays, by the keys that its job has."""
    compared = 0
    for run in sorted(shared_file("golden", "slurm").glob("*/run1")):
        jobs = json.loads(gzip.decompress((run / "scenario.json.gz").read_bytes()))["jobs"]
        log = read_slurm(run / "sacct.txt.gz")
        assert log.rejects.rows() == []
        for row in log.records.to_dicts():
            logged, asked = pairs_of(row, jobs[int(row["job_name"][1:])])
            assert logged == asked, (run.parent.name, row["job_id"])
        compared += log.accepted
    assert compared == 2621


def pairs_of(row: dict[str, Any], job: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a row says, and what the job of a scenario says, by the same keys."""
    resources = dict(pair.split("=") for pair in row["requested_tres"].split(","))
    nodes = str(job.get("nodes", ""))
    pairs = {
        "user": (row["user_name"], f"slu{job.get('user', 1)}"),
        "limit_s": (row["time_limit_s"], job["limit"] * 60),
        "account": (row["account"], (job.get("account") or row["account"]).lower()),
        "partition": (row["partition"], job.get("partition") or row["partition"]),
        "qos": (row["qos"], job.get("qos") or row["qos"]),
        "reservation": (row["reservation"], job.get("reservation")),
        "nodes": (int(resources["node"]), int(nodes) if nodes.isdigit() else int(resources["node"])),
    }
    if job.get("ntasks"):
        pairs["procs"] = (row["requested_procs"], job["ntasks"] * job.get("cpt", 1))
    if job.get("mem") or job.get("mem_per_cpu"):
        pairs["memory_per"] = (row["memory_per"], "node" if job.get("mem") else "cpu")
    if job.get("gres"):
        pairs["gpus"] = (int(resources["gres/gpu"]), int(job["gres"].split(":")[-1]) * int(nodes or 1))
    return {name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()}


# values: What the words of sacct mean.


def value(expression: pl.Expr, **words: str | int) -> object:
    return (
        pl.DataFrame({f"in_{name}" if isinstance(word, str) else name: [word] for name, word in words.items()})
        .select(expression)
        .item()
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("01:00:00", 3600),
        ("2-03:04:05", 2 * 86400 + 3 * 3600 + 245),
        ("05:30", 330),
        ("00:01.250", 1.25),
        ("1-2", 86400 + 7200),
        ("UNLIMITED", None),
        ("", None),
        ("999999-00:00:00", 999999 * 86400),
        ("9999999-00:00:00", None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert value(duration_seconds(pl.col("in_x")), x=text) == seconds


@pytest.mark.parametrize(
    ("text", "zone", "time"),
    [
        ("2024-01-15T10:00:00", "UTC", datetime(2024, 1, 15, 10, tzinfo=UTC)),
        ("2024-01-15T10:00:00", "Europe/Berlin", datetime(2024, 1, 15, 9, tzinfo=UTC)),
        ("2024-10-27T02:30:00", "Europe/Berlin", datetime(2024, 10, 27, 0, 30, tzinfo=UTC)),  # the first of two
        ("2024-03-31T02:30:00", "Europe/Berlin", datetime(2024, 3, 31, 1, 30, tzinfo=UTC)),  # left out by the clock
        ("1705312800", "Asia/Tokyo", datetime(2024, 1, 15, 10, tzinfo=UTC)),
        ("Unknown", "UTC", None),
        ("2024-13-15T10:00:00", "UTC", None),
    ],
)
def test_times(text: str, zone: str, time: datetime | None) -> None:
    local = seconds_of_local(local_time(pl.col("in_x")), zone)
    assert value(pl.coalesce(local, unix_seconds(pl.col("in_x"))), x=text) == (time and time.timestamp())


@pytest.mark.parametrize(
    ("text", "tasks"),
    [("12", 1), ("12_[1-3]", 3), ("12_[1,5]", 2), ("12_[0-9:3%2]", 4), ("12_[1-3,7,...]", 4), ("12_4", 1)],
)
def test_array_tasks(text: str, tasks: int) -> None:
    assert value(array_tasks(pl.col("in_x")), x=text) == tasks


@pytest.mark.parametrize(
    ("text", "kilobytes"), [("48000M", 48000 * 1024), ("1.50G", 1.5 * 1024**2), ("7", 7), ("x", None)]
)
def test_sizes(text: str, kilobytes: float | None) -> None:
    assert value(size_kilobytes(pl.col("in_x"), bare=1.0), x=text) == kilobytes


@pytest.mark.parametrize(
    ("memory", "kilobytes"),
    [("4G", 4 << 20), ("4Gn", 8 << 20), ("1Gc", 6 << 20), ("2147484648", 6000 * 1024), ("", 5 << 20), ("?", 5 << 20)],
)
def test_memory_per_node_and_per_cpu(memory: str, kilobytes: int) -> None:
    assert value(requested_memory(), reqmem=memory, reqtres="cpu=6,mem=5G", procs=6, nodes=2) == kilobytes


@pytest.mark.parametrize(
    ("memory", "line", "per"),
    [
        ("4Gn", "", "node"),
        ("1Gc", "", "cpu"),
        ("2147484648", "", "cpu"),
        ("4G", "sbatch --mem=4G run.sh", "node"),
        ("4G", "sbatch -n 4 --mem-per-cpu 1G run.sh", "cpu"),
        ("4G", "sbatch --mem-per-gpu=1G run.sh", "gpu"),
        ("4G", "sbatch --mem-bind=local run.sh", None),
        ("", "", None),
    ],
)
def test_what_memory_is_asked_for(memory: str, line: str, per: str | None) -> None:
    assert value(memory_per(), reqmem=memory, submitline=line) == per


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gpu:2", 2),
        ("gres:gpu:2", 2),
        ("gpu:a100:2,craynetwork:1", 2),
        ("gpu", 1),
        ("gpu:a100:1,gpu:v100:2", 3),
        ("mic:1", 0),
        ("gpu:2(S:0)", 2),
        ("", None),
    ],
)
def test_gres_of_old_logs(text: str, gpus: int | None) -> None:
    assert value(gres_count("x"), x=text) == gpus


def test_counts() -> None:
    assert value(whole_number("x"), x=" 12 ") == 12 and value(whole_number("x"), x="1.5") is None
    assert value(positive_count("x"), x="0") is None and value(positive_count("x"), x="3") == 3
    assert value(tres_count("x", "node"), x="cpu=8,node=2") == 2 and value(tres_count("x", "pu"), x="cpu=8") is None
    assert value(text_of("x"), x=" a ") == "a" and value(text_of("x"), x="  ") is None


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("cpu=1,gres/gpu=4", 4),
        ("gres/gpu:a100=2,gres/gpu:v100=1", 3),
        ("cpu=1", 0),
        ("", None),
        ("gres/gpu=4,gres/gpu:a=4", 4),
    ],
)
def test_gpus(text: str, gpus: int | None) -> None:
    assert value(gpu_count("x"), x=text) == gpus
