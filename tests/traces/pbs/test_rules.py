"""Tests of traces/pbs: reader_values, rules."""

from __future__ import annotations

import gzip
import re
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.common.logs import assert_adds_up
from tests.traces.pbs.pbs_lines import NOT_A_RECORD, end_record, one_job, read
from traces.common.log import LogError
from traces.pbs.reader import PBS_RECORD_SCHEMA, read_pbs
from traces.pbs.rules import kilobytes

# reader_values: Values that PBS servers write in several ways: Cray widths, GPUs, decimal sizes, nodes; and arrays as
# a whole. The forms are those of Torque and PBS Pro on Cray systems (ALPS), and of sites that named their own GPU
# resource.

ODD = "é"
"""In a name, it sends a line to the rules: both ways of reading are tested."""


def both_ways(folder: Path, without: tuple[str, ...] = (), **pairs: str) -> dict[str, object]:
    """The job of a record as the scan reads it, which has to be what the rules read."""
    scanned = one_job(folder, end_record(without=without, **pairs))
    by_rules = one_job(folder, end_record(without=without, **(pairs | {"jobname": ODD})))
    assert scanned == by_rules | {"job_name": scanned["job_name"]}
    return scanned


LOGIN = {"exec_host": "login1/0", "Resource_List__ncpus": "1"}
"""The job's script runs on one processor of a login node, whatever it starts on compute nodes."""


@pytest.mark.parametrize(
    ("pairs", "procs", "requested"),
    [
        (LOGIN | {"Resource_List__mppwidth": "64"}, 64, 64),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__mppdepth": "4"}, 256, 256),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__mppnppn": "16"}, 64, 64),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__nodes": "1:ppn=1"}, 64, 64),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__nodect": "1", "resources_used__ncpus": "1"}, 64, 64),
        (LOGIN | {"Resource_List__mppwidth": "64", "Resource_List__select": "1:ncpus=1"}, 64, 64),
        # whole nodes were given: more than was asked for
        ({"Resource_List__mppwidth": "60", "resources_used__ncpus": "72"}, 72, 60),
        (LOGIN | {"Resource_List__mppwidth": "0"}, 1, 1),
        # under Torque
        (LOGIN | {"Resource_List__size": "240"}, 240, 240),
        ({"Resource_List__procs": "8", "exec_host": "n1/0-3+n2/0-3"}, 8, 8),
        # beside a default of one node
        ({"Resource_List__procs": "8", "Resource_List__nodes": "1", "exec_host": "n1/0-3+n2/0-3"}, 8, 8),
        ({"Resource_List__procs": "2", "Resource_List__nodes": "2:ppn=4", "exec_host": "n1/0-3+n2/0-3"}, 8, 8),
    ],
    ids=str,
)  # fmt: skip
def test_the_width_of_a_cray_job_counts_more_than_its_login_node(
    tmp_path: Path, pairs: dict[str, str], procs: int, requested: int
) -> None:
    job = both_ways(tmp_path, **pairs)
    assert (job["procs"], job["requested_procs"]) == (procs, requested)


def test_a_width_that_cannot_be_costs_its_line_and_not_the_file(tmp_path: Path) -> None:
    line = end_record(Resource_List__mppwidth="999999999", Resource_List__mppdepth="999999999")
    log = read(tmp_path, f"{line}\n{end_record()}")
    assert log.rejects.rows() == [(1, "mppwidth times mppdepth is no sound count of processors", line)]


@pytest.mark.parametrize(
    ("pairs", "nodes"),
    [
        ({"Resource_List__mppwidth": "64", "Resource_List__mppnppn": "16", "exec_host": "login1/0"}, 4),
        ({"Resource_List__mppwidth": "65", "Resource_List__mppnppn": "16", "Resource_List__nodect": "1"}, 5),
        # without processing elements per node, the login node alone tells nothing
        ({"Resource_List__mppwidth": "64", "exec_host": "login1/0", "Resource_List__nodect": "1"}, None),
        ({"Resource_List__mppwidth": "64", "exec_host": "login1/0", "Resource_List__nodect": "3"}, 3),
        ({"Resource_List__mppwidth": "64", "exec_host": "31/0+31/1+32/0"}, 2),
        ({"exec_host": "n1/0-3+n2/0-3"}, 2),
        ({"exec_host": "n1/3+n1/2+n2/0+n1/1"}, 2),
        # nodect is the number of chunks: both may be on one host
        ({"exec_host": "n1/0*8+n1/1*8", "Resource_List__nodect": "2"}, 1),
        # one host, several vnodes, of which a chunk may have some and several chunks the same
        ({"exec_host": "pbs/0*16+pbs/1*16", "exec_vnode": "(n00:ncpus=16)+(n01:ncpus=16)"}, 2),
        ({"exec_host": "pbs/0*4+pbs/1*4", "exec_vnode": "(n00[0]:ncpus=2+n00[1]:ncpus=2)+(n00[1]:ncpus=4)"}, 2),
        ({"exec_host": "n1/0*4+n2/0*4", "exec_vnode": ""}, 2),
        ({"Resource_List__mppwidth": "64", "exec_host": "login1/0", "exec_vnode": "(nid1:ncpus=32)+(nid2:ncpus=32)"}, 2),
        ({"exec_host": "+".join(f"n{k % 700}/{k}" for k in range(3000))}, 700),
        ({"exec_vnode": "+".join(f"(n{k}:ncpus=1)" for k in range(3000))}, 3000),
        ({"exec_host": "+".join(f"n{k}/0" for k in range(3000))}, 3000),
        ({"exec_host": "", "Resource_List__nodes": "2:ppn=4", "Resource_List__nodect": "2"}, 2),
        ({"exec_host": "+", "Resource_List__nodes": "2:ppn=4", "unique_node_count": "2"}, 2),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_nodes(tmp_path: Path, pairs: dict[str, str], nodes: int | None) -> None:
    assert both_ways(tmp_path, **pairs)["nodes"] == nodes


@pytest.mark.parametrize(
    ("pairs", "gpus"),
    [
        ({}, None),
        ({"Resource_List__ngpus": "4"}, 4),
        ({"Resource_List__gpu": "4"}, 4),
        ({"Resource_List__gpus": "4"}, 4),
        ({"Resource_List__ngpus": "0", "Resource_List__gpu": "4"}, 4),
        ({"Resource_List__ngpus": "0", "Resource_List__select": "1:ncpus=4"}, 0),
        ({"Resource_List__nodes": "1:ppn=4:gpus=4"}, 4),
        ({"Resource_List__nodes": "2:ppn=4:gpu=4+n7:gpus=1"}, 9),
        ({"Resource_List__select": "1:ncpus=8:gpu=4"}, 4),
        ({"Resource_List__select": "2:ncpus=8:ngpus=4+1:ncpus=8:gpus=1"}, 9),
        ({"exec_vnode": "(n1:ncpus=8:gpu=4)"}, 4),
        ({"exec_vnode": "(n1:ncpus=8:gpu=4+n2:gpus=1)+(n3:ncpus=8:ngpus=2)"}, 7),
        ({"exec_vnode": "(n1:ncpus=8)", "Resource_List__select": "1:ncpus=8:gpu=4"}, 4),
        ({"exec_vnode": "(n1:ncpus=8)", "Resource_List__select": "1:ncpus=8"}, 0),
        ({"Resource_List__select": "1:ncpus=8:gpu_type=4:mygpu=4:gpux=4"}, None),
    ],
    ids=str,
)  # fmt: skip
def test_gpus(tmp_path: Path, pairs: dict[str, str], gpus: int | None) -> None:
    assert both_ways(tmp_path, **pairs)["gpus"] == gpus


def test_a_count_of_gpus_that_cannot_be_is_unknown(tmp_path: Path) -> None:
    assert both_ways(tmp_path, Resource_List__select="2:gpu=1234567890", resources_used__ncpus="2")["gpus"] is None


@pytest.mark.parametrize(
    ("text", "kb"),
    [
        ("12.27M", 12_565), ("12.27mb", 12_565), ("1.5gb", 1_572_864), ("0.5k", 1), ("1.0kb", 1), ("1.000001kb", 2),
        ("1024.5b", 2), ("1023.5", 1), ("0.1w", 1), ("127.9w", 1), ("128.1w", 2), ("1.5kw", 12), ("1.9999999gb", 2_097_152),
        ("1.5e3mb", None), ("1.gb", None), (".5gb", None), ("1.5.5gb", None), ("1,5gb", None),
        ("8191.999999pb", 9_007_199_253_641_481), ("9007199254740.5gb", None), ("8388607.9999999pb", 9_223_372_036_854_665_857),
        ("8388608.5pb", None),
    ],
)  # fmt: skip
def test_sizes_with_decimals(tmp_path: Path, text: str, kb: int | None) -> None:
    assert kilobytes(text) == kb
    job = both_ways(tmp_path, resources_used__mem=text, Resource_List__mem=text)
    assert (job["used_memory_kb"], job["requested_memory_kb"]) == (kb, kb)


# An array as a whole.

PARENT = end_record("202[].head", run_count="0")


@pytest.mark.parametrize("job_id", ["202[].head", "202[]"])
def test_the_end_of_an_array_as_a_whole_is_kept_and_no_job(tmp_path: Path, job_id: str) -> None:
    tasks = [end_record(job_id.replace("[]", f"[{k}]")) for k in (1, 2)]
    parents = [end_record(job_id, run_count="0", jobname=name) for name in ("plain", ODD)]
    log = read(tmp_path, "\n".join([*tasks, *parents]))
    assert_adds_up(log)
    assert log.records["job_id"].to_list() == [job_id.replace("[]", f"[{k}]") for k in (1, 2)]
    assert log.events.select("line", "record_type", "job_id", "run_count", "end_s").rows() == [
        (3, "E[]", job_id, 0, 1070),
        (4, "E[]", job_id, 0, 1070),
    ]
    assert log.line_counts() == {("accepted", "job"): 2, ("kept", "record type E[]"): 2}


@pytest.mark.parametrize("gap", ["start", "end", "exec_host", "ctime"])
def test_the_end_of_an_array_is_never_rejected_for_what_it_lacks(tmp_path: Path, gap: str) -> None:
    log = read(tmp_path, end_record("202[].head", without=(gap, "qtime")) + "\n" + PARENT.replace("=1070", "=soon"))
    assert log.rejects.rows() == []
    assert log.events["record_type"].to_list() == ["E[]", "E[]"]


def test_other_records_of_an_array_keep_their_type(tmp_path: Path) -> None:
    log = read(tmp_path, "\n".join(PARENT.replace(";E;", f";{kind};") for kind in "QSRDA"))
    assert log.events["record_type"].to_list() == list("QSRDA")


# rules: The PBS reader accounts for every line: broken ones, and any mixture of them with sound ones.

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
        "end record without a processor count (ncpus, select, nodes, mppwidth or exec_host)",
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
    assert dict(log.records.schema) == PBS_RECORD_SCHEMA
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
    job_name, job_id = " ".join(words), f"{draw(st.integers(0, 10**7))}{draw(st.sampled_from(['', '[7]']))}.head"
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
