"""Tests of traces/pbs: reader, reader_expected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tests.shared import shared_file
from tests.traces.common.logs import assert_adds_up
from tests.traces.pbs.pbs_expected import BLANK_LINES, RECORDS, REJECTS
from tests.traces.pbs.pbs_lines import NOT_A_RECORD, end_record, one_job
from traces.common.log import ParsedLog
from traces.formats import guess_format
from traces.pbs.reader import PBS_RECORD_SCHEMA, read_pbs
from traces.pbs.rules import duration_s, kilobytes

# reader: What the PBS reader makes of real accounting files and of every kind of value.
#
# What the real records say was worked out by hand from the files. Lines that are broken are in test_pbs_lines.py.

# Real accounting files.


@dataclass(frozen=True)
class Expected:
    """Outcome of every line, and per job: line, id, processors, requested processors, requested walltime, used walltime
    (s), exit status."""

    lines: int
    kept: str
    rejected: tuple[int, ...]
    jobs: tuple[tuple[object, ...], ...]


REAL_FILES = {
    "bookie-torque.log": Expected(
        lines=3,  # the last one is blank
        kept="S",
        rejected=(),
        jobs=((2, "1026666[24252].github.com", 1, 1, 7200, 67, 0),),
    ),
    "bookie-torque-invalid-lines.log": Expected(
        lines=5, kept="S", rejected=(1, 4, 5), jobs=((3, "1026666[24252].github.com", 1, 1, 7200, 67, 0),)
    ),
    "bookie-torque-invalid-lines-2.log": Expected(
        lines=4, kept="S", rejected=(3, 4), jobs=((2, "1026666[24252].github.com", 1, 1, 7200, 67, 0),)
    ),
    "hnormalise-torque-spec.log": Expected(
        lines=11,
        kept="QQQDASS",
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
        kept="RDAYaC",
        rejected=(),
        jobs=(
            (1, "4413086.casper-pbs", 1, 1, 14_400, 3326, 271),
            (8, "2281314.casper-pbs", 1, 1, 3600, 1, 0),
            (9, "2281981.casper-pbs", 2, 2, 3600, 1, 0),  # two nodes: select=2:ncpus=1
        ),
    ),
    "ncar-qhist-casper-testdata.log": Expected(
        lines=18,
        kept="QQSQQRSSQQSQQS",
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
        kept="SS",
        rejected=(),
        jobs=(
            (2, "13512.pitzer-batch.ten.osc.edu", 80, 80, 3600, 33, 0),  # p0221/0-79, -L tasks=1:lprocs=80
            (4, "16057.pitzer-batch.ten.osc.edu", 2, 2, 3600, 84, 271),
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
    assert "".join(log.events["record_type"].to_list()) == expected.kept
    blank = expected.lines - len(expected.kept) - len(expected.rejected) - len(expected.jobs)
    assert log.ignored == ({"blank line": blank} if blank else {})
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
            "record_type": "E",
            "logged_s": 1_743_420_875,  # 11:34:35
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
            "requestor": None,
            "message": None,
            "reservation": None,
            "assigned_procs": None,
            "assigned_gpus": None,
            "exec_vnode": "(crhtc72:ncpus=5:mem=10485760kb)",
            "selected_chunks": "1:ncpus=5:ompthreads=5",
            "torque_nodes": None,
            "dependency": None,
            "place": "scatter",
        }
    ]


def test_a_real_requeue_is_an_attempt_with_its_usage() -> None:
    log = read_pbs(shared_file("traces", "pbs", "ncar-pbsparse-tests.log"))
    (requeue,) = log.events.filter(record_type="R").to_dicts()
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0b", 0), ("1b", 1), ("1024b", 1), ("1025", 2), ("30", 1), ("10kb", 10), ("10KB", 10), ("3mb", 3072), ("5k", 5),
        ("10gb", 10 << 20), ("1tb", 1 << 30), ("4224531456b", 4_125_519), ("143425316860b", 140_063_786), ("2w", 1),
        ("512kw", 4096), ("1gw", 8 << 20), ("", None), ("kb", None), ("-1kb", None), ("10gbx", None),
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


@pytest.mark.parametrize("job_id", ["1.head", "161299[389].head.domain", "S3011784.head", "12"])
def test_ids_are_kept_as_they_stand(tmp_path: Path, job_id: str) -> None:
    assert one_job(tmp_path, end_record(job_id))["job_id"] == job_id


def test_times_that_are_missing_are_unknown(tmp_path: Path) -> None:
    job = one_job(tmp_path, end_record(etime="0"))  # PBS writes 0 for a job that was never eligible
    assert job["etime_s"] == 0  # which says that it never was
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


# reader_expected: Every record of the real accounting files against what a careful reader of them wrote down
# (`tests.traces.pbs.pbs_expected`).


def read(name: str) -> ParsedLog:
    return read_pbs(shared_file("traces", "pbs", name))


COPIED = {
    "exec_vnode": "exec_vnode",
    "selected_chunks": "Resource_List.select",
    "torque_nodes": "Resource_List.nodes",
    "dependency": "depend",
    "place": "Resource_List.place",
}
"""Columns with the word of a key as it is."""


def whole_row(name: str, expected: dict[str, object]) -> dict[str, object]:
    text = shared_file("traces", "pbs", name).read_text().split("\n")[int(str(expected["line"])) - 1]
    words = {column: re.search(rf"[ ;]{re.escape(key)}=(\S+)", text) for column, key in COPIED.items()}
    row = expected | {column: word.group(1) if word else None for column, word in words.items()}
    return {column: row.get(column) for column in PBS_RECORD_SCHEMA}


def read_row(name: str, line: int) -> dict[str, object]:
    log = read(name)
    (row,) = pl.concat([log.records, log.events]).filter(pl.col("line") == line).to_dicts()
    return row


def test_there_is_an_expectation_for_every_file() -> None:
    assert {path.name for path in shared_file("traces", "pbs").iterdir()} == set(RECORDS)


@pytest.mark.parametrize("name", RECORDS)
def test_every_line_is_where_it_belongs(name: str) -> None:
    log, expected = read(name), RECORDS[name]
    assert log.records["line"].to_list() == [row["line"] for row in expected if row["record_type"] == "E"]
    assert log.events["line"].to_list() == [row["line"] for row in expected if row["record_type"] != "E"]
    assert [(line, text) for line, _, text in log.rejects.rows()] == REJECTS.get(name, [])
    assert log.ignored == ({"blank line": BLANK_LINES[name]} if name in BLANK_LINES else {})
    assert log.lines == len(expected) + len(REJECTS.get(name, [])) + BLANK_LINES.get(name, 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [pytest.param(name, row, id=f"{name}-{row['line']}") for name, rows in RECORDS.items() for row in rows],
)
def test_every_value_of_every_record(name: str, expected: dict[str, object]) -> None:
    assert read_row(name, int(str(expected["line"]))) == whole_row(name, expected)
