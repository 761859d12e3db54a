"""The PBS reader accounts for every line, on real accounting files and on broken ones; the writer is its inverse.

What the real records say was worked out by hand from the files.
"""

from __future__ import annotations

import gzip
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import shared_file
from traces.log import LogError, ParsedLog, guess_format
from traces.pbs import RECORD_SCHEMA, duration_s, kilobytes, read_pbs, write_pbs

NOT_A_RECORD = "not an accounting record (date time;type;id;message)"
PAIRS = {
    "user": "u1", "group": "g1", "queue": "short", "jobname": "STDIN", "ctime": "1000", "qtime": "1001", "etime": "1002",
    "start": "1010", "end": "1070", "exec_host": "n1/0-3", "Resource_List.walltime": "00:02:00", "Exit_status": "0",
    "resources_used.walltime": "00:00:58", "resources_used.cput": "00:03:52",
}  # fmt: skip


def end_record(job_id: str = "1.head", without: tuple[str, ...] = (), **changes: str) -> str:
    """A sound end-of-job record; a key of `changes` has __ for its point."""
    pairs = PAIRS | {key.replace("__", "."): value for key, value in changes.items()}
    message = " ".join(f"{key}={value}" for key, value in pairs.items() if key not in without)
    return f"04/05/2017 13:06:53;E;{job_id};{message}"


def read(folder: Path, content: bytes | str, name: str = "20170405") -> ParsedLog:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_pbs(path)


def one_job(folder: Path, line: str) -> dict[str, object]:
    log = read(folder, line)
    assert log.rejects.rows() == []
    (job,) = log.records.to_dicts()
    return job


def assert_adds_up(log: ParsedLog) -> None:
    assert log.lines == log.accepted + sum(log.ignored.values()) + log.rejected
    assert log.lines == sum(lines for _, _, lines in log.line_counts())


# Real accounting files.


@dataclass(frozen=True)
class Expected:
    """Outcome of every line, and per job: line, id, processors, requested processors, requested walltime, used walltime
    (s), exit status."""

    lines: int
    ignored: str
    rejected: tuple[int, ...]
    jobs: tuple[tuple[object, ...], ...]


REAL_FILES = {
    "bookie-torque.log": Expected(
        lines=3,  # the last one is blank
        ignored="S",
        rejected=(),
        jobs=((2, "1026666[24252].github.com", 1, 1, 7200, 67, 0),),
    ),
    "bookie-torque-invalid-lines.log": Expected(
        lines=5, ignored="S", rejected=(1, 4, 5), jobs=((3, "1026666[24252].github.com", 1, 1, 7200, 67, 0),)
    ),
    "bookie-torque-invalid-lines-2.log": Expected(
        lines=4, ignored="S", rejected=(3, 4), jobs=((2, "1026666[24252].github.com", 1, 1, 7200, 67, 0),)
    ),
    "hnormalise-torque-spec.log": Expected(
        lines=11,
        ignored="QQQDASS",
        rejected=(),
        jobs=(
            # two named nodes of 2 slots each: .../0-1+.../0-1, nodes=a:ppn=2+b:ppn=2
            (1, "45.mymaster.somecluster.somedomain", 4, 4, 3600, 104, 0),
            # 16 slots named one by one, nodes=1:ppn=16
            (2, "161299[389].mymaster.somecluster.somedomain", 16, 16, 18_000, 201, 0),
            (3, "621344.master15.delcatty.gent.vsc", 16, 16, 259_200, 74, 271),
            # .../0-19+.../0-19, nodes=2:ppn=20, ran 30 s past its limit
            (4, "268279.master21.swalot.gent.vsc", 40, 40, 43_140, 43_170, -11),
        ),
    ),
    "ncar-pbsparse-tests.log": Expected(
        lines=9,
        ignored="RDAYaC",
        rejected=(),
        jobs=(
            (1, "4413086.casper-pbs", 1, 1, 14_400, 3326, 271),
            (8, "2281314.casper-pbs", 1, 1, 3600, 1, 0),
            (9, "2281981.casper-pbs", 2, 2, 3600, 1, 0),  # two nodes: select=2:ncpus=1
        ),
    ),
    "ncar-qhist-casper-testdata.log": Expected(
        lines=18,
        ignored="QQSQQRSSQQSQQS",
        rejected=(),
        jobs=(
            (9, "4215033.casper-pbs", 1, 1, 21_600, 0, -1),  # requeued once (R), then ended
            (10, "4215034.casper-pbs", 1, 1, 21_600, 216, 0),
            (17, "4215265.casper-pbs", 5, 5, 1500, 19, 0),  # select=1:ncpus=5, crhtc72/0*5
            (18, "4215065.casper-pbs", 1, 1, 21_600, 2007, 0),
        ),
    ),
    "osc-pbstools-pbsacct-unittest.log": Expected(
        lines=5,
        ignored="SS",
        rejected=(),
        jobs=(
            (2, "13512.pitzer-batch.ten.osc.edu", 80, None, 3600, 33, 0),  # p0221/0-79; the request is Moab's
            (4, "16057.pitzer-batch.ten.osc.edu", 2, None, 3600, 84, 271),
            # exec_host=node01/1+node02/2 is what it got, nodes=2:ppn=4 what it asked for; the status is lower case
            (5, "123456.fakehost.lan", 2, 8, 3600, 1, 0),
        ),
    ),
}


@pytest.mark.parametrize("name", REAL_FILES)
def test_real_files(name: str) -> None:
    log, expected = read_pbs(shared_file("traces", "pbs", name)), REAL_FILES[name]
    assert_adds_up(log)
    assert log.lines == expected.lines
    # of the requeues in these files all tell their times
    told = Counter("requeue" if kind == "R" else f"record type {kind}" for kind in expected.ignored)
    blank = expected.lines - len(expected.ignored) - len(expected.rejected) - len(expected.jobs)
    assert log.ignored == told | ({"blank line": blank} if blank else {})
    assert log.rejects["line"].to_list() == list(expected.rejected)
    assert set(log.rejects["reason"].to_list()) <= {NOT_A_RECORD}
    columns = ("line", "job_id", "procs", "requested_procs", "requested_walltime_s", "used_walltime_s", "exit_status")
    assert tuple(log.records.select(columns).rows()) == expected.jobs


def test_every_real_file_has_its_expectation() -> None:
    found = {path.name for path in shared_file("traces", "pbs").iterdir()}
    assert found == set(REAL_FILES)


@pytest.mark.parametrize("name", REAL_FILES)
def test_the_format_of_a_real_file_is_found_out(name: str) -> None:
    assert guess_format(shared_file("traces", "pbs", name)) == "pbs"


def test_a_record_of_18_words_is_no_swf(tmp_path: Path) -> None:
    """SWF lines have 18 fields, but so may any record of PBS have 18 words."""
    line = end_record(jobname="a b c d")
    assert len(line.split()) == 18
    (tmp_path / "20170405").write_text(line)
    assert guess_format(tmp_path / "20170405") == "pbs"


def test_a_real_record_in_full() -> None:
    log = read_pbs(shared_file("traces", "pbs", "ncar-qhist-casper-testdata.log"))
    assert log.records.filter(line=17).to_dicts() == [
        {
            "line": 17,
            "job_id": "4215265.casper-pbs",
            "user_name": "bneuman",
            "group_name": "ncar",
            "account": "SCSG0001",  # quoted in the file
            "project": "_pbs_project_default",
            "queue": "htc",
            "job_name": "bneuman_matlab",
            "ctime_s": 1_743_442_446,
            "qtime_s": 1_743_442_446,
            "etime_s": 1_743_442_446,
            "start_s": 1_743_442_452,
            "end_s": 1_743_442_475,
            "exec_host": "crhtc72/0*5",
            "procs": 5,
            "requested_procs": 5,
            "requested_walltime_s": 1500,
            "used_walltime_s": 19,
            "used_cpu_s": 30,
            "exit_status": 0,
            "eligible_wait_s": 8,
            "gpus": 0,
            "nodes": 1,
            "run_count": 1,
            "requested_memory_kb": 10_485_760,  # 10gb
            "used_memory_kb": 3_163_632,
        }
    ]


def test_a_real_requeue_is_an_attempt_with_its_usage() -> None:
    log = read_pbs(shared_file("traces", "pbs", "ncar-pbsparse-tests.log"))
    (requeue,) = log.requeues.to_dicts()
    told = (
        "line",
        "job_id",
        "start_s",
        "end_s",
        "procs",
        "exit_status",
        "run_count",
        "eligible_wait_s",
        "requested_memory_kb",
    )
    assert [requeue[name] for name in told] == [
        2, "4400521.casper-pbs", 1_744_751_695, 1_744_751_698, 1, -3, 21, 13, 4_194_304,
    ]  # fmt: skip
    assert log.ignored["requeue"] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0b", 0), ("1b", 1), ("1024b", 1), ("1025", 2), ("30", 1), ("10kb", 10), ("10KB", 10), ("3mb", 3072), ("5k", 5),
        ("10gb", 10 << 20), ("1tb", 1 << 30), ("4224531456b", 4_125_519), ("143425316860b", 140_063_786), ("2w", 1),
        ("512kw", 4096), ("1gw", 8 << 20), ("", None), ("kb", None), ("1.5gb", None), ("-1kb", None), ("10gbx", None),
        ("1eb", None),
    ],
)  # fmt: skip
def test_sizes(text: str, expected: int | None) -> None:
    assert kilobytes(text) == expected


def test_a_real_value_with_blanks_hides_nothing_after_it() -> None:
    log = read_pbs(shared_file("traces", "pbs", "osc-pbstools-pbsacct-unittest.log"))
    twotasks = log.records.filter(line=4).to_dicts()[0]  # Resource_Request_2.0=-L tasks=... -L tasks=... session=...
    assert (twotasks["end_s"], twotasks["exit_status"], twotasks["job_name"]) == (1_541_167_558, 271, "twotasks")


def test_the_rejected_text_is_verbatim() -> None:
    log = read_pbs(shared_file("traces", "pbs", "bookie-torque-invalid-lines.log"))
    assert log.rejects.rows() == [
        (1, NOT_A_RECORD, "invalid line"),
        (4, NOT_A_RECORD, "another; invalid line"),
        (5, NOT_A_RECORD, "yet another;E;invalid line"),
    ]


# Values.


@pytest.mark.parametrize(
    ("pairs", "procs", "requested"),
    [
        ({"exec_host": "n1/0"}, 1, None),
        ({"exec_host": "n1/0-3"}, 4, None),
        ({"exec_host": "n1/0-3,7,9-10"}, 7, None),
        ({"exec_host": "n1/3+n1/2+n2/0"}, 3, None),
        ({"exec_host": "n1/0*4"}, 4, None),
        ({"exec_host": "n1/0*16+n2/0*16+n3/1"}, 33, None),
        ({"exec_host": "n1/0-1+n2/0*3"}, 5, None),
        ({"exec_host": "n1/0-3", "Resource_List__nodes": "1:ppn=4"}, 4, 4),
        ({"exec_host": "n1/0-3", "Resource_List__nodes": "2:ppn=4+1:gpus=1:ppn=3"}, 4, 11),
        ({"exec_host": "n1/0-3", "Resource_List__nodes": "3"}, 4, 3),
        ({"exec_host": "n1/0-3", "Resource_List__nodes": "node7:ppn=2+node9"}, 4, 3),
        # Torque writes ncpus=1 beside nodes: the nodes tell more
        ({"exec_host": "n1/0-7", "Resource_List__nodes": "2:ppn=4", "Resource_List__ncpus": "1"}, 8, 8),
        ({"exec_host": "n1/0-7", "Resource_List__select": "2:ncpus=4", "Resource_List__ncpus": "8"}, 8, 8),
        # PBS Pro names the chunks of a node, not its processors
        ({"exec_host": "n1/0", "Resource_List__select": "1:ncpus=6", "Resource_List__ncpus": "6"}, 6, 6),
        ({"exec_host": "n1/0", "resources_used__ncpus": "6"}, 6, None),
        ({"exec_host": "n1/0", "total_execution_slots": "12"}, 12, None),
        ({"exec_host": "n1/0", "Resource_List__select": "1:ncpus=0", "Resource_List__ncpus": "0"}, 1, None),
    ],
    ids=str,
)
def test_processors(tmp_path: Path, pairs: dict[str, str], procs: int, requested: int | None) -> None:
    job = one_job(tmp_path, end_record(**pairs))
    assert (job["procs"], job["requested_procs"]) == (procs, requested)


def test_processors_requested_stand_in_for_those_given(tmp_path: Path) -> None:
    job = one_job(tmp_path, end_record(without=("exec_host",), Resource_List__nodes="2:ppn=3"))
    assert (job["procs"], job["requested_procs"], job["exec_host"]) == (6, 6, None)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("plain", "plain"),
        ("two words", "two words"),
        ("many  words - and (signs)", "many  words - and (signs)"),
        ('"quoted"', "quoted"),
        ('"quoted words"', "quoted words"),
        ('"quoted key=value pairs user=root"', "quoted key=value pairs user=root"),
        ("semi;colon", "semi;colon"),
        ("a=b", "a=b"),
        ("/scratch/x.sh", "/scratch/x.sh"),
        ("naïve", "naïve"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("last", [False, True])
def test_names_may_hold_anything(tmp_path: Path, written: str, name: str, last: bool) -> None:
    line = end_record(without=("jobname",)) + f" jobname={written}" if last else end_record(jobname=written)
    job = one_job(tmp_path, line)
    assert job["job_name"] == name
    assert (job["user_name"], job["queue"], job["end_s"], job["procs"]) == ("u1", "short", 1070, 4)


@pytest.mark.parametrize("job_id", ["1.head", "1166970[].head", "161299[389].head.domain", "S3011784.head", "12"])
def test_ids_are_kept_as_they_stand(tmp_path: Path, job_id: str) -> None:
    assert one_job(tmp_path, end_record(job_id))["job_id"] == job_id


def test_times_that_are_missing_are_unknown(tmp_path: Path) -> None:
    job = one_job(tmp_path, end_record(etime="0"))  # PBS writes 0 for a job that was never eligible
    assert job["etime_s"] is None
    job = one_job(tmp_path, end_record(without=("ctime", "etime", "Resource_List.walltime", "Exit_status")))
    assert (job["ctime_s"], job["qtime_s"]) == (1001, 1001)  # queued is submitted, where the creation is not told
    assert (job["etime_s"], job["requested_walltime_s"], job["exit_status"]) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("253", 253), ("1:05", 65), ("00:55:26", 3326), ("72:00:00", 259_200), ("2:01:00:00", 176_400)],
)
def test_durations(text: str, seconds: int) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "1h", "-1", "1:2:3:4:5", "1:", "1.5"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        duration_s(text)


# Broken lines.

HUGE = "9" * 25  # beyond 64 bits, and any calendar
PROCESSORS = "processor|ncpus|nodes|exec_host"

BROKEN = {
    "word": ("rubbish", NOT_A_RECORD),
    "NUL bytes": ("\0" * 20, NOT_A_RECORD),
    "no date": (end_record().partition(";")[2], NOT_A_RECORD),
    "other date": (end_record().replace("04/05/2017", "2017-04-05"), NOT_A_RECORD),
    "cut after the id": ("04/05/2017 13:06:53;E;1.head", NOT_A_RECORD),
    "long type": (end_record().replace(";E;", ";END;"), NOT_A_RECORD),
    "no message": ("04/05/2017 13:06:53;E;1.head;", "end record without ctime, start or end"),
    "no id": (end_record(""), "end record without a job id"),
    "no end": (end_record(without=("end",)), "end record without ctime, start or end"),
    "no start": (end_record(start="0"), "end record without ctime, start or end"),
    "no submission": (end_record(without=("ctime", "qtime")), "end record without ctime, start or end"),
    "word for a time": (end_record(start="noon"), "start is not a Unix time"),
    "fraction of a second": (end_record(end="1070.5"), "end is not a Unix time"),
    "negative time": (end_record(ctime="-5"), "ctime is not a Unix time"),
    "word for an eligible time": (end_record(etime="x"), "etime is not a Unix time"),
    "ends before it starts": (end_record(end="1009"), "times out of order: expected ctime <= start <= end"),
    "starts before it is submitted": (end_record(start="999"), "times out of order: expected ctime <= start <= end"),
    "word for a walltime": (end_record(Resource_List__walltime="long"), "Resource_List.walltime is not a duration"),
    "word for used time": (end_record(resources_used__cput="1h"), "resources_used.cput is not a duration"),
    "no processors": (
        end_record(without=("exec_host",)),
        "end record without a processor count (ncpus, nodes or exec_host)",
    ),
}


@pytest.mark.parametrize(("line", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_rejected_with_its_number_reason_and_text(tmp_path: Path, line: str, reason: str) -> None:
    log = read(tmp_path, f"{end_record()}\n\n{line}\n{end_record('2.head')}\n")
    assert log.rejects.rows() == [(3, reason, line)]
    assert log.records.select("line", "job_id").rows() == [(1, "1.head"), (4, "2.head")]
    assert log.ignored == {"blank line": 1}
    assert_adds_up(log)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (end_record(end=HUGE), "end"),
        (end_record(start=HUGE, end=HUGE), "start"),
        (end_record(etime=HUGE), "etime"),
        (end_record(end="9000000000000000000"), "end"),  # within 64 bits, but beyond any calendar
        (end_record(Resource_List__walltime=f"{HUGE}:00:00"), "Resource_List.walltime"),
        (end_record(exec_host=f"n1/0-{HUGE}"), PROCESSORS),
        (end_record(exec_host=f"n1/0*{HUGE}"), PROCESSORS),
        (end_record(Resource_List__nodes=f"{HUGE}:ppn=4"), PROCESSORS),
        (end_record(end="²⁰"), "end"),  # digits to str.isdigit, but not to int
        (end_record(exec_host="n1/0*²"), PROCESSORS),
    ],
)
def test_a_number_that_cannot_be_stored_costs_its_line_and_not_the_file(tmp_path: Path, line: str, key: str) -> None:
    log = read(tmp_path, f"{end_record()}\n{line}\n")
    assert log.accepted == 1
    assert log.rejects.select("line", "text").rows() == [(2, line)]
    assert re.search(key, log.rejects["reason"][0])
    assert "literal" not in log.rejects["reason"][0]  # of Python, and nothing to its reader


def test_a_count_of_processors_that_cannot_be_is_no_count(tmp_path: Path) -> None:
    """The record is sound otherwise, and exec_host tells: rejecting it is as good."""
    log = read(tmp_path, end_record(resources_used__ncpus=HUGE))
    assert log.rejected == 1 or log.records["procs"].to_list() == [4]


def test_an_exit_status_that_cannot_be_stored_is_unknown_or_rejected(tmp_path: Path) -> None:
    log = read(tmp_path, end_record(Exit_status=HUGE))
    assert log.rejected == 1 or log.records["exit_status"].to_list() == [None]


def test_bytes_that_are_not_utf8_are_kept_visible(tmp_path: Path) -> None:
    log = read(tmp_path, b"\xff\xfe\n" + end_record(jobname="caf?").encode().replace(b"?", b"\xe9") + b"\n")
    assert log.rejects.rows() == [(1, NOT_A_RECORD, "\\xff\\xfe")]
    assert log.records["job_name"].to_list() == ["caf\\xe9"]


def test_line_ends_of_any_kind(tmp_path: Path) -> None:
    lines = [end_record(), "", "rubbish", end_record("2.head")]
    unix, dos, unended = (
        read(tmp_path, text) for text in ("\n".join(lines) + "\n", "\r\n".join(lines) + "\r\n", "\n".join(lines))
    )
    for log in (dos, unended):
        assert log.records.equals(unix.records)
        assert log.rejects.equals(unix.rejects)
        assert (log.lines, log.ignored) == (4, {"blank line": 1})


def test_packed_files_give_equal_records(tmp_path: Path) -> None:
    content = f"{end_record()}\nrubbish\n".encode()
    plain = read(tmp_path, content)
    for name, packed in (("a.gz", gzip.compress(content)), ("a.zst", zstandard.ZstdCompressor().compress(content))):
        log = read(tmp_path, packed, name)
        assert log.records.equals(plain.records)
        assert log.rejects.equals(plain.rejects)
        assert (log.size_bytes, log.lines) == (len(packed), 2)


@pytest.mark.parametrize("content", ["", "\n", "04/05/2017 13:06:53;Q;1.head;queue=q\n"], ids=repr)
def test_a_file_without_jobs_has_records_of_the_usual_columns(tmp_path: Path, content: str) -> None:
    log = read(tmp_path, content)
    assert log.accepted == log.rejected == 0
    assert dict(log.records.schema) == RECORD_SCHEMA
    assert_adds_up(log)


def test_a_missing_file_and_a_cut_one_are_errors(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no such log file"):
        read_pbs(tmp_path / "none")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 1000)[:-4])
    with pytest.raises(LogError, match=r"cut\.gz: damaged"):
        read_pbs(tmp_path / "cut.gz")


# Any mixture of lines.

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N"), include_characters="-_/."), min_size=1, max_size=9)


@st.composite
def good_records(draw: st.DrawFn) -> tuple[bytes, dict[str, object]]:
    """An end record and what must be read from it."""
    submit, wait, run = draw(st.integers(1, 2 * 10**9)), draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6))
    nodes = draw(st.lists(st.integers(1, 128), min_size=1, max_size=4))
    style = draw(st.sampled_from(["{}/0*{}", "{}/0-{}"]))
    hosts = [style.format(f"n{i}", width if "*" in style else width - 1) for i, width in enumerate(nodes)]
    words, user, status = draw(st.lists(NAMES, min_size=1, max_size=3)), draw(NAMES), draw(st.integers(-30, 300))
    job_name, job_id = " ".join(words), f"{draw(st.integers(0, 10**7))}{draw(st.sampled_from(['', '[]', '[7]']))}.head"
    pairs = [
        f"user={user}", f"jobname={job_name}" if draw(st.booleans()) else f'jobname="{job_name}"',
        f"ctime={submit}", f"start={submit + wait}", f"end={submit + wait + run}", f"exec_host={'+'.join(hosts)}",
        f"Exit_status={status}", f"Resource_List.walltime={run // 3600}:{run // 60 % 60:02d}:{run % 60:02d}",
    ]  # fmt: skip
    message = draw(st.sampled_from([" ", "  "])).join(draw(st.permutations(pairs)))
    line = f"04/05/2017 13:06:53;E;{job_id};{message}" + draw(st.sampled_from(["", " ", "\r"]))
    return line.encode(), {
        "job_id": job_id, "user_name": user, "job_name": job_name, "ctime_s": submit, "start_s": submit + wait,
        "end_s": submit + wait + run, "exec_host": "+".join(hosts), "procs": sum(nodes), "exit_status": status,
        "requested_walltime_s": run,
    }  # fmt: skip


OTHER_LINES = st.one_of(
    st.sampled_from("QSDRAaCY").map(lambda kind: f"04/05/2017 13:06:53;{kind};1.head;queue=q"),
    st.sampled_from(["", "  ", "\r", "04/05/2017", "04/05/2017 13:06:53;E;1.head;start=1", end_record(end="x")]),
).map(str.encode) | st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"?"))


@st.composite
def cut_records(draw: st.DrawFn) -> bytes:
    """What a full disk or a crash leaves of a record."""
    line = draw(good_records())[0]
    return line[: draw(st.integers(0, len(line)))]


@settings(max_examples=150, deadline=None)
@given(st.lists(good_records() | OTHER_LINES | cut_records(), max_size=10))
def test_any_mixture_adds_up_and_every_good_record_is_taken(
    parts: list[bytes | tuple[bytes, dict[str, object]]],
) -> None:
    lines = [part if isinstance(part, bytes) else part[0] for part in parts]
    with tempfile.TemporaryDirectory() as folder:
        log = read(Path(folder), b"".join(line + b"\n" for line in lines))
    assert log.lines == len(lines)
    assert_adds_up(log)
    taken = {job["line"]: job for job in log.records.to_dicts()}
    for number, part in enumerate(parts, start=1):
        if not isinstance(part, bytes):
            assert {key: taken[number][key] for key in part[1]} == part[1]
    for number, _, text in log.rejects.rows():
        assert text == lines[number - 1].rstrip(b"\r").decode("utf-8", errors="backslashreplace")
        assert number not in taken


# The writer.


def some_jobs(first_submit: int, step_s: int, count: int) -> pl.DataFrame:
    """Jobs of 30 minutes to a day, one every `step_s` seconds, one to 40 processors."""
    numbers = range(1, count + 1)
    return pl.DataFrame(
        {
            "job_number": list(numbers),
            "submit_s": [first_submit + number * step_s for number in numbers],
            "start_s": [first_submit + number * step_s + 60 * (number % 5) for number in numbers],
            "runtime_s": [1800 * (1 + number % 48) for number in numbers],
            "procs": [1 + number % 40 for number in numbers],
            "requested_walltime_s": [3600 * (1 + number % 120) for number in numbers],
            "user": [f"u{number % 7:03d}" for number in numbers],
            "group": [f"g{number % 3:02d}" for number in numbers],
            "queue": [("short", "normal")[number % 2] for number in numbers],
            "executable": [f"app{number % 11:03d}" for number in numbers],
        }
    )


@pytest.mark.parametrize(
    ("time_zone", "around"),
    [
        ("UTC", "2026-03-08T00:00+00:00"),
        ("America/Denver", "2026-03-08T09:00+00:00"),  # 02:00 becomes 03:00
        ("America/Denver", "2026-11-01T08:00+00:00"),  # 02:00 becomes 01:00
        ("Europe/Stockholm", "2026-10-25T01:00+00:00"),
        ("Australia/Lord_Howe", "2026-04-04T15:00+00:00"),  # by half an hour
        ("America/Santiago", "2026-09-06T04:00+00:00"),  # at midnight: the day begins at 01:00
        ("Asia/Kathmandu", "2026-01-01T00:00+00:00"),  # 05:45 ahead
        ("Pacific/Apia", "2011-12-30T10:00+00:00"),  # a day that never was
    ],
)
def test_what_is_written_is_read_again_in_every_time_zone(tmp_path: Path, time_zone: str, around: str) -> None:
    jobs = some_jobs(int(datetime.fromisoformat(around).timestamp()) - 86_400, 1800, 96)
    paths = write_pbs(jobs, tmp_path, time_zone, "head1")
    assert paths == sorted(tmp_path.iterdir())
    logs = [read_pbs(path) for path in paths]
    records = pl.concat([log.records for log in logs]).sort("ctime_s")

    assert sum(log.rejected for log in logs) == 0
    assert sum(log.ignored.get("record type S", 0) for log in logs) == jobs.height
    assert records["job_id"].to_list() == [f"{number}.head1" for number in jobs["job_number"]]
    killed = jobs["runtime_s"] >= jobs["requested_walltime_s"]
    for column, expected in {
        "user_name": jobs["user"], "group_name": jobs["group"], "account": jobs["group"], "queue": jobs["queue"],
        "job_name": jobs["executable"], "ctime_s": jobs["submit_s"], "etime_s": jobs["submit_s"],
        "start_s": jobs["start_s"], "end_s": jobs["start_s"] + jobs["runtime_s"], "procs": jobs["procs"],
        "requested_procs": jobs["procs"], "requested_walltime_s": jobs["requested_walltime_s"],
        "used_walltime_s": jobs["runtime_s"], "used_cpu_s": jobs["runtime_s"] * jobs["procs"],
        "exit_status": killed.replace_strict({True: -29, False: 0}),
    }.items():  # fmt: skip
        assert records[column].to_list() == expected.to_list(), column

    zone = ZoneInfo(time_zone)
    for path, log in zip(paths, logs, strict=True):
        ends = [datetime.fromtimestamp(end, UTC).astimezone(zone) for end in log.records["end_s"].to_list()]
        assert {f"{end:%Y%m%d}" for end in ends} <= {path.name}
        written = path.read_text().splitlines()
        assert {f"{line[6:10]}{line[:2]}{line[3:5]}" for line in written} == {path.name}
        assert [written[line - 1][:19] for line in log.records["line"]] == [f"{end:%m/%d/%Y %H:%M:%S}" for end in ends]


def test_files_are_named_by_the_local_day_across_a_change_of_clocks(tmp_path: Path) -> None:
    """Denver leaves winter time on 8 March 2026: that day ends at 05:59:59 UTC and the one before at 06:59:59 UTC."""
    ends = ["2026-03-08T06:59:59", "2026-03-08T07:00:00", "2026-03-09T05:59:59", "2026-03-09T06:00:00"]
    seconds = [int(datetime.fromisoformat(end).replace(tzinfo=UTC).timestamp()) for end in ends]
    jobs = some_jobs(0, 1, 4).with_columns(
        submit_s=pl.Series(seconds) - 20, start_s=pl.Series(seconds) - 10, runtime_s=pl.lit(10)
    )
    paths = write_pbs(jobs, tmp_path, "America/Denver", "head1")
    found = {path.name: [job.partition(".")[0] for job in read_pbs(path).records["job_id"].to_list()] for path in paths}
    assert found == {"20260307": ["1"], "20260308": ["2", "3"], "20260309": ["4"]}
    started = {path.name: path.read_text().count(";S;") for path in paths}
    assert started == {"20260307": 2, "20260308": 2, "20260309": 0}  # two of the four started the day before
