"""The SWF reader accounts for every line, on real logs and on broken ones.

What a line should become is decided here by two independent readers: numpy's for the real logs, and one line of plain
Python at a time (`line_of_log`) for everything that may be broken.
"""

from __future__ import annotations

import gzip
import re
import tempfile
from collections import Counter
from decimal import Decimal
from functools import lru_cache
from math import ceil, floor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import shared_file
from tests.traces.common.logs import assert_adds_up, written
from traces.common.log import ParsedLog
from traces.formats import guess_format
from traces.swf.fields import FIELDS, FRACTIONAL, MAY_BE_NEGATIVE, TIME_FIELDS
from traces.swf.reader import header_value, read_swf

HPC2N = "HPC2N-2002-2.2-cln.swf.gz"
CTC = "CTC-SP2-1996-3.1-cln.swf.gz"
NASA = "NASA-iPSC-1993-3.1-cln.swf.gz"
LUBLIN = "lublin_256.swf.gz"

REAL_LOGS = {  # file: (jobs, processors), from the README beside the logs
    LUBLIN: (10_000, 256),
    "lublin_256_new2.swf.gz": (10_000, 256),
    HPC2N: (202_871, 240),
    "KTH-SP2-1996-2.1-cln.swf.gz": (28_476, 100),
    CTC: (77_222, 338),
    "SDSC-SP2-1998-derived.swf.gz": (54_006, 128),
    NASA: (18_239, 128),
}

LARGEST = 10**11
"""In any field: more than three thousand years of seconds."""

GOOD = "7 100 5 60 4 59.5 -1 4 120 -1 1 3 2 9 1 1 -1 -1"
"""A sound line; tests change one field of it."""


def read(folder: Path, content: bytes | str, name: str = "log.swf") -> ParsedLog:
    return read_swf(written(folder, content, name))


def with_field(name: str, value: str) -> str:
    fields = GOOD.split()
    fields[FIELDS.index(name)] = value
    return " ".join(fields)


# Real logs.


@lru_cache(maxsize=1)  # the largest has 200,000 jobs: read once, not kept beside the next
def real_log(name: str) -> ParsedLog:
    return read_swf(shared_file("traces", "swf", name))


@pytest.mark.parametrize("name", REAL_LOGS)
class TestRealLog:
    """Grouped by log, so that each is read once."""

    def test_every_line_is_a_comment_blank_or_a_job(self, name: str) -> None:
        log = real_log(name)
        assert_adds_up(log)
        assert (log.accepted, log.rejected) == (REAL_LOGS[name][0], 0)
        with gzip.open(shared_file("traces", "swf", name), "rb") as lines:
            kinds = [line.strip()[:1] for line in lines]
        assert log.lines == len(kinds)
        assert log.ignored == {"comment": kinds.count(b";"), "blank line": kinds.count(b"")}

    def test_values_are_those_that_numpy_reads_and_minus_one_is_null(self, name: str) -> None:
        with gzip.open(shared_file("traces", "swf", name), "rt", encoding="utf-8") as lines:
            numbers = np.loadtxt(lines, comments=";")
        records = real_log(name).records
        for i, field in enumerate(FIELDS):
            column = records[field]
            assert column.dtype == (pl.Float64 if field in FRACTIONAL else pl.Int64)
            np.testing.assert_array_equal(column.is_null().to_numpy(), numbers[:, i] == -1, err_msg=field)
            np.testing.assert_array_equal(column.fill_null(-1).to_numpy(), numbers[:, i], err_msg=field)

    def test_the_header_tells_the_size_of_the_cluster(self, name: str) -> None:
        header = real_log(name).header
        assert header_value(header, "MaxProcs", "MaxNodes") == REAL_LOGS[name][1]

    def test_its_format_is_found_out(self, name: str) -> None:
        assert guess_format(shared_file("traces", "swf", name)) == "swf"


def test_header_of_a_real_log() -> None:
    header = real_log(CTC).header
    assert ("Computer", "IBM SP2") in header
    assert ("MaxNodes", "338 (batch partition; 512 total)") in header
    assert header_value(header, "MaxNodes") == 338
    assert header_value(header, "UnixStartTime") == 835_823_160
    assert header_value(header, "TimeZone") == -18_000
    assert [value for key, value in header if key == "Queue"] == ["1 DSI", "2 astro", "3 piofs", "4 informix"]
    # A comment without a key continues the one before.
    assert ("Information", "http://www.tc.cornell.edu/ http://www.cs.huji.ac.il/labs/parallel/workload/") in header
    assert header_value(header, "NoSuchKey", "Computer") is None


def test_the_only_negative_wait_of_a_real_log_is_minus_one_and_so_unknown() -> None:
    waits = real_log(HPC2N).records["wait_s"]
    assert (waits.null_count(), waits.min()) == (1, 0)


def test_a_log_without_waits_and_requests_has_nulls_there() -> None:
    records = real_log(NASA).records
    for field in ("wait_s", "requested_procs", "requested_walltime_s", "average_cpu_s"):
        assert records[field].null_count() == records.height, field


def test_plain_gz_and_zst_give_equal_records(tmp_path: Path) -> None:
    packed = shared_file("traces", "swf", LUBLIN)
    content = gzip.decompress(packed.read_bytes())
    frames = [zstandard.ZstdCompressor().compress(part) for part in (content[:100_000], content[100_000:])]
    gz, plain = real_log(LUBLIN), read(tmp_path, content)
    zst = read(tmp_path, b"".join(frames), "log.swf.zst")  # two frames, as tools that append make them
    for other in (plain, zst):
        assert other.records.equals(gz.records)
        assert (other.lines, other.header, other.ignored) == (gz.lines, gz.header, gz.ignored)
    assert plain.size_bytes == len(content) != gz.size_bytes == packed.stat().st_size
    assert len({log.sha256 for log in (gz, plain, zst)}) == 1  # of the content


# Broken lines.

BROKEN = {
    "too few": ("1 2 3", "expected 18 fields, found 3"),
    "one too few": (GOOD.rpartition(" ")[0], "expected 18 fields, found 17"),
    "one too many": (GOOD + " 5", "expected 18 fields, found 19"),
    "word for a count": ("these words are no job", "expected 18 fields, found 5"),
    "word": (with_field("runtime_s", "ten"), "field 4 (runtime_s) is not a number"),
    "word at the end": (with_field("think_time_s", "x"), "field 18 (think_time_s) is not a number"),
    "first of two words": (with_field("runtime_s", "ten").replace("100", "x"), "field 2 (submit_s) is not a number"),
    "comma for a point": (with_field("average_cpu_s", "59,5"), "field 6 (average_cpu_s) is not a number"),
    "unit": (with_field("used_memory_kb", "5kb"), "field 7 (used_memory_kb) is not a number"),
    "clock": (with_field("runtime_s", "00:01:00"), "field 4 (runtime_s) is not a number"),
    "lone minus": (with_field("wait_s", "-"), "field 3 (wait_s) is not a number"),
    "lone point": (with_field("wait_s", "."), "field 3 (wait_s) is not a number"),
    "two signs": (with_field("wait_s", "--1"), "field 3 (wait_s) is not a number"),
    "two points": (with_field("average_cpu_s", "1.2.3"), "field 6 (average_cpu_s) is not a number"),
    "half an exponent": (with_field("average_cpu_s", "1e"), "field 6 (average_cpu_s) is not a number"),
    "not a number": (with_field("average_cpu_s", "nan"), "field 6 (average_cpu_s) is not a number"),
    "infinity": (with_field("average_cpu_s", "inf"), "field 6 (average_cpu_s) is not a number"),
    "underscore": (with_field("runtime_s", "1_000"), "field 4 (runtime_s) is not a number"),
    "other digits": (with_field("runtime_s", "١٢"), "field 4 (runtime_s) is not a number"),
    "comment after the job": (GOOD + " ; late", "expected 18 fields, found 20"),
    "NUL bytes": ("\0\0\0\0", "expected 18 fields, found 1"),
    "NUL in a number": (with_field("runtime_s", "6\0" + "0"), "field 4 (runtime_s) is not a number"),
    "half a processor": (with_field("allocated_procs", "60.5"), "field 5 (allocated_procs) must be a whole number"),
    "negative exponent": (with_field("status", "5e-1"), "field 11 (status) must be a whole number"),
    "negative run time": (with_field("runtime_s", "-60"), "field 4 (runtime_s) must be a number from 0 (or -1"),
    "negative fraction": (with_field("runtime_s", "-0.5"), "field 4 (runtime_s) must be a number from 0 (or -1"),
    "negative processors": (
        with_field("allocated_procs", "-4"),
        "field 5 (allocated_procs) must be a whole number",
    ),
    "unknown submit time": (with_field("submit_s", "-1"), "field 2 (submit_s) must be a number from 0"),
    "end beyond all dates": (with_field("runtime_s", "99999999999"), "the job ends later than 1e+11 s after"),
    "unknown job number": (with_field("job_number", "-1"), "field 1 (job_number) must be a whole number"),
}


@pytest.mark.parametrize(("line", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_rejected_with_its_number_reason_and_text(tmp_path: Path, line: str, reason: str) -> None:
    log = read(tmp_path, f"; MaxProcs: 8\n{GOOD}\n\n{line}\n{GOOD}\n")
    assert log.rejects.select("line", "text").rows() == [(4, line)]
    assert log.rejects["reason"][0].startswith(reason)
    assert log.records["line"].to_list() == [2, 5]
    assert log.ignored == {"comment": 1, "blank line": 1}
    assert_adds_up(log)


def test_all_broken_lines_in_one_file_keep_their_order(tmp_path: Path) -> None:
    lines = [line for line, _ in BROKEN.values()]
    log = read(tmp_path, "\n".join(lines))
    assert log.rejects["text"].to_list() == lines
    for told, (_, reason) in zip(log.rejects["reason"], BROKEN.values(), strict=True):
        assert told.startswith(reason)
    assert log.rejects["line"].to_list() == list(range(1, len(lines) + 1))
    assert log.accepted == 0


@pytest.mark.parametrize("value", ["100000000001", "-100000000001", "1e300", "1e400", "9" * 400])
@pytest.mark.parametrize("field", ["submit_s", "wait_s", "runtime_s", "average_cpu_s", "preceding_job"])
def test_numbers_larger_than_any_log_has_are_rejected(tmp_path: Path, field: str, value: str) -> None:
    log = read(tmp_path, with_field(field, value))
    assert (log.accepted, log.rejected) == (0, 1)
    assert f"({field})" in log.rejects["reason"][0]


@pytest.mark.parametrize(
    ("field", "value", "wrong_advice"),
    [
        ("average_cpu_s", "1e300", "whole number"),  # a fraction is fine there: the number is too large
        ("wait_s", "1e300", "whole number"),  # it may have a fraction, but is too large
        ("preceding_job", "-2.5", "-1"),  # a negative number is fine: the fraction is not
    ],
)
def test_the_reason_says_what_is_wrong(tmp_path: Path, field: str, value: str, wrong_advice: str) -> None:
    """A reason that describes a rule which the line keeps sends its reader the wrong way."""
    assert wrong_advice not in read(tmp_path, with_field(field, value)).rejects["reason"][0]


@pytest.mark.parametrize("value", ["0e400", "0e9999", "0.0E+401"])
def test_zero_with_a_huge_exponent_is_zero_or_rejected_but_never_nan(tmp_path: Path, value: str) -> None:
    log = read(tmp_path, with_field("average_cpu_s", value))
    assert log.rejected == 1 or log.records["average_cpu_s"].to_list() == [0.0]


@pytest.mark.parametrize(
    ("field", "value", "taken"),
    [
        ("runtime_s", "1e3", 1000),
        ("runtime_s", "1.5E+3", 1500),
        ("runtime_s", "60.0", 60),
        ("runtime_s", "+60", 60),
        ("runtime_s", "060", 60),
        ("runtime_s", "-1", None),
        ("runtime_s", "-1.0", None),
        ("requested_walltime_s", "100000000000", LARGEST),
        ("runtime_s", "0", 0),
        ("wait_s", "-5", -5),
        ("preceding_job", "-2", -2),
        ("average_cpu_s", "552.21", 552.21),
        ("average_cpu_s", ".25", 0.25),
        ("average_cpu_s", "5.", 5.0),
        ("average_cpu_s", "-2.5", -2.5),
        ("average_cpu_s", "25e-1", 2.5),
        ("average_cpu_s", "3e-5", 3e-5),
        ("average_cpu_s", "1e-400", 0.0),
    ],
)
def test_numbers_are_taken_as_written(tmp_path: Path, field: str, value: str, taken: float | None) -> None:
    log = read(tmp_path, with_field(field, value))
    assert log.rejects.rows() == []
    assert log.records[field].to_list() == [taken]


def test_bytes_that_are_not_utf8_are_kept_visible(tmp_path: Path) -> None:
    log = read(tmp_path, b"; caf\xe9\n\xff\xfe " + GOOD.encode() + b"\n" + GOOD.encode() + b"\n")
    assert log.rejects.rows() == [(2, "expected 18 fields, found 19", f"\\xff\\xfe {GOOD}")]
    assert log.accepted == 1
    assert log.header == [("Comment", "caf\\xe9")]


def test_crlf_tabs_and_blanks_are_no_part_of_a_value(tmp_path: Path) -> None:
    tabs = GOOD.replace(" ", "\t")
    log = read(tmp_path, f"; MaxProcs: 8\r\n{GOOD}\r\n\r\n  {tabs} \t\r\n1 2 3\r\n \t \r\n")
    assert log.header == [("MaxProcs", "8")]
    assert log.records["line"].to_list() == [2, 4]
    assert log.records.drop("line").is_duplicated().all()
    assert log.rejects.rows() == [(5, "expected 18 fields, found 3", "1 2 3")]
    assert log.ignored == {"comment": 1, "blank line": 2}
    assert_adds_up(log)


@pytest.mark.parametrize("last", [GOOD, "1 2 3", "; the end", "   "])
def test_a_last_line_without_a_line_end_counts(tmp_path: Path, last: str) -> None:
    without, ended = read(tmp_path, f"{GOOD}\n{last}"), read(tmp_path, f"{GOOD}\n{last}\n")
    assert without.lines == ended.lines == 2
    assert without.records.equals(ended.records)
    assert without.rejects.equals(ended.rejects)
    assert without.ignored == ended.ignored


def test_comments_may_stand_anywhere(tmp_path: Path) -> None:
    log = read(tmp_path, f"{GOOD}\n; Note: half-time\n  ;indented\n;\n{GOOD}\n;{GOOD}\n")
    assert log.records["line"].to_list() == [1, 5]
    assert log.ignored == {"comment": 4, "blank line": 0}
    assert log.header == [("Note", f"half-time indented {GOOD}")]


@pytest.mark.parametrize(("content", "lines"), [("", 0), ("\n", 1), ("\n\n", 2), ("; only a comment\n", 1)], ids=repr)
def test_a_log_without_jobs_has_records_of_the_usual_columns(tmp_path: Path, content: str, lines: int) -> None:
    log = read(tmp_path, content)
    assert (log.lines, log.accepted, log.rejected) == (lines, 0, 0)
    assert log.records.schema == read(tmp_path, GOOD).records.schema
    assert_adds_up(log)


# Any mixture of lines.


def line_of_log(line: bytes) -> str | dict[str, float | None]:
    """The plain reader: "comment", "blank line", "further part", "rejected", or the values of a job."""
    fields = [field for field in re.split(rb"[ \t\r]+", line) if field]
    if not fields:
        return "blank line"
    if fields[0].startswith(b";"):
        return "comment"
    if len(fields) != len(FIELDS):
        return "rejected"
    exact_values: dict[str, Decimal] = {}
    for name, field in zip(FIELDS, fields, strict=True):
        if not re.fullmatch(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", field):
            return "rejected"
        exact = Decimal(field.decode())
        whole = exact == exact.to_integral_value()
        if abs(exact) > LARGEST or (name not in FRACTIONAL | TIME_FIELDS and not whole):
            return "rejected"
        if name not in MAY_BE_NEGATIVE and exact < 0 and exact != -1:
            return "rejected"
        exact_values[name] = exact
    if exact_values["job_number"] < 0:
        return "rejected"
    if exact_values["submit_s"] < 0:
        return "further part" if exact_values["status"] in (2, 3, 4) else "rejected"
    if (
        exact_values["submit_s"] + sum(max(exact_values[name], Decimal(0)) for name in ("wait_s", "runtime_s"))
        > LARGEST
    ):
        return "rejected"
    values = whole_times(
        {name: round(exact, 6) if name in TIME_FIELDS else exact for name, exact in exact_values.items()}
    )
    return {
        name: None if value == -1 else float(value) if name in FRACTIONAL else int(value)
        for name, value in values.items()
    }


def whole_times(values: dict[str, Decimal]) -> dict[str, Decimal | int]:
    """Times as whole seconds. Submission, start and end are rounded up, and so is the request."""
    submit, wait, runtime = (values[name] for name in ("submit_s", "wait_s", "runtime_s"))
    start = submit + max(wait, Decimal(0))
    return values | {
        "submit_s": ceil(submit),
        "wait_s": ceil(start) - ceil(submit) if wait >= 0 else floor(wait),
        "runtime_s": ceil(start + runtime) - ceil(start) if runtime >= 0 else -1,
        "requested_walltime_s": ceil(values["requested_walltime_s"]),
        "think_time_s": ceil(values["think_time_s"]),
    }


@st.composite
def good_lines(draw: st.DrawFn) -> bytes:
    """A job, its values written in the ways that logs write them."""
    fields = []
    for name in FIELDS:
        lowest = 0 if name in ("job_number", "submit_s") else -1
        whole = st.integers(lowest, 10**6) | st.integers(lowest, LARGEST)
        kinds = [whole.map(str), whole.map("{:+d}".format), st.integers(lowest, 10**6).map("{}.0".format)]
        kinds.append(st.integers(0, 9).map("{}e3".format))
        if name in MAY_BE_NEGATIVE:
            kinds.append(st.integers(-(10**6), -1).map(str))
        if name in FRACTIONAL:
            kinds.append(st.decimals(0, 10**9, places=2).map(str))
        if name in TIME_FIELDS:
            kinds.append(st.decimals(0, 10**7, places=3).map(str))
        if name == "submit_s":
            kinds.append(st.just("-1"))
        if name == "status":
            kinds.append(st.integers(0, 5).map(str))
        fields.append(draw(st.one_of(kinds)))
    gaps = st.sampled_from([" ", "  ", "\t", " \t "])
    text = draw(st.sampled_from(["", " ", "\t"])) + fields[0] + "".join(draw(gaps) + field for field in fields[1:])
    return (text + draw(st.sampled_from(["", " ", "\r", " \r"]))).encode()


@st.composite
def spoilt_lines(draw: st.DrawFn) -> bytes:
    """A job of which one field, or the number of fields, was spoilt; it may still be sound by chance."""
    fields = draw(good_lines()).split()
    how = draw(st.sampled_from(["change", "drop", "add", "cut"]))
    place = draw(st.integers(0, len(fields) - 1))
    if how == "change":
        wrong = [b"x", b"1.5", b"-2", b"1e400", b"-", b"1e", b"\0", b"\xff", b";", b"9007199254740992", b"0x10", b"1,5"]
        fields[place] = draw(st.sampled_from(wrong) | st.binary(min_size=1, max_size=6)).replace(b"\n", b"?")
    elif how == "drop":
        del fields[place]
    elif how == "add":
        fields.insert(place, b"1")
    line = b" ".join(fields)
    return line[: draw(st.integers(0, len(line)))] if how == "cut" else line


OTHER_LINES = st.sampled_from([b"", b" ", b"\r", b"; Key: value", b" ;x", b"; \xff", b"\0"]) | st.binary(
    max_size=30
).map(lambda line: line.replace(b"\n", b"?"))


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(good_lines() | spoilt_lines() | OTHER_LINES, max_size=12),
    ended=st.booleans(),
)
def test_any_mixture_adds_up_and_equals_the_plain_reader(lines: list[bytes], ended: bool) -> None:
    content = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    if not ended and lines and not lines[-1]:
        lines = lines[:-1]  # nothing after the last line end is no line
    with tempfile.TemporaryDirectory() as folder:
        log = read(Path(folder), content)
    expected = {number: line_of_log(line) for number, line in enumerate(lines, start=1)}

    assert log.lines == len(lines)
    assert_adds_up(log)
    jobs = [{"line": number} | job for number, job in expected.items() if isinstance(job, dict)]
    assert log.records.to_dicts() == jobs
    assert log.rejects.select("line", "text").rows() == [
        (number, lines[number - 1].rstrip(b"\r").decode("utf-8", errors="backslashreplace"))
        for number, outcome in expected.items()
        if outcome == "rejected"
    ]
    counts = Counter(kind for kind in expected.values() if isinstance(kind, str))
    further = {"partial execution without a submission": counts["further part"]} if counts["further part"] else {}
    assert log.ignored == {"comment": counts["comment"], "blank line": counts["blank line"], **further}
