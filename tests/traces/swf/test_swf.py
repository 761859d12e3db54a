"""Tests of traces/swf: fields, scan, writer."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import shared_file
from traces.swf.fields import FIELDS, FRACTIONAL, MAY_BE_NEGATIVE, NEVER_UNKNOWN, NUM_FIELDS, TIME_FIELDS
from traces.swf.reader import read_swf
from traces.swf.scan import (
    BAD_NUMBER,
    BAD_VALUE,
    BLANK_LINE,
    COMMENT,
    FRACTION_ROW,
    FURTHER_PART,
    SOUND,
    TOO_FEW,
    TOO_MANY,
    scan_swf,
)
from traces.swf.writer import write_swf

# scan: The compiled scan of SWF: what each line is, and where its numbers go.

LINE = "1 10 0 5 4 2.5 -1 4 100 -1 1 1 1 1 1 1 -1 -1"


def with_word(field: int, word: str, *more: int | str) -> str:
    """The line with another word in a field. more: further fields and their words."""
    words = LINE.split()
    for k, each in ((field, word), *zip(more[::2], more[1::2], strict=True)):
        words[int(k)] = str(each)
    return " ".join(words)


@pytest.mark.parametrize(
    ("line", "code", "field"),
    [
        (LINE, SOUND, 0),
        (f"  {LINE}\t\r", SOUND, 0),
        ("", BLANK_LINE, 0),
        (" \t\r", BLANK_LINE, 0),
        ("; a comment", COMMENT, 0),
        (" ;", COMMENT, 0),
        ("1 2 ; 3", TOO_FEW, 4),
        (LINE + " 7", TOO_MANY, 19),
        (with_word(3, "x"), BAD_NUMBER, 3),
        (with_word(3, "-"), BAD_NUMBER, 3),
        (with_word(3, "1e"), BAD_NUMBER, 3),
        (with_word(4, "1.5"), BAD_VALUE, 4),
        (with_word(3, "-0.5"), BAD_VALUE, 3),
        (with_word(1, "-1", 10, "3"), FURTHER_PART, 0),
        (with_word(1, "-1", 10, "5"), BAD_VALUE, 1),
        (with_word(1, "-1", 4, "-4"), BAD_VALUE, 1),
        (with_word(0, "-1", 1, "-1"), BAD_VALUE, 0),
        (with_word(1, "-1"), BAD_VALUE, 1),
        (with_word(0, "1e12"), BAD_VALUE, 0),
    ],
)
def test_what_a_line_is(line: str, code: int, field: int) -> None:
    for content in (line, line + "\n"):
        scanned = scan_swf(f"{LINE}\n{content}".encode())
        if not content:
            assert scanned.code_of_line.tolist() == [SOUND]
            continue
        assert (scanned.code_of_line[1], scanned.field_of_line[1]) == (code, field)
        assert scanned.line_of.tolist() == ([1, 2] if code == SOUND else [1])


@pytest.mark.parametrize(
    ("word", "value"), [("+7", 7), ("007", 7), ("7.0", 7), ("70e-1", 7), ("0.7e1", 7), ("12345678901", 12345678901)]
)
def test_forms_of_a_whole_number(word: str, value: int) -> None:
    assert scan_swf(with_word(3, word).encode()).whole[3].tolist() == [value]


@pytest.mark.parametrize(
    ("told", "read"),  # submission, wait, run time, requested time, think time
    [
        ("2739.599152 0.0 6.609 67.0 -1", [2740, 0, 7, 67, -1]),
        ("0.4 0.3 0.3 0.2 0.5", [1, 0, 0, 1, 1]),  # all within one second
        (
            "0.1 0.2 0.7 -1 -1",
            [1, 0, 0, -1, -1],
        ),  # the end is second 1, where binary fractions would be a little more or less
        ("10.5 -1 2.25 3 -1", [11, -1, 2, 3, -1]),  # without a wait it started when it was submitted
        ("10.5 -0.5 2.25 3 -2.5", [11, -1, 2, 3, -2]),  # a start before the submission stays negative
        ("10 3 4.5 4.5 -1", [10, 3, 5, 5, -1]),
        ("10 3.5 -1 4 -1", [10, 4, -1, 4, -1]),
    ],
)
def test_times_with_fractions_are_rounded_up_so_that_they_fit_each_other(told: str, read: list[int]) -> None:
    fields = (1, 2, 3, 8, 17)
    pairs = [each for pair in zip(fields, told.split(), strict=True) for each in pair]
    content = with_word(0, "1", *pairs) + f"\n{LINE}\n"
    scanned = scan_swf(content.encode())
    assert scanned.whole[list(fields), 0].tolist() == read
    assert scanned.whole[list(fields), 1].tolist() == [10, 0, 5, 100, -1]  # the next line has none of these fractions


def test_fractional_numbers_have_rows_of_their_own() -> None:
    scanned = scan_swf(with_word(6, "-0.25").encode())
    assert scanned.fractional[FRACTION_ROW[FIELDS.index("average_cpu_s")], 0] == 2.5
    assert scanned.fractional[FRACTION_ROW[FIELDS.index("used_memory_kb")], 0] == -0.25


def test_nothing() -> None:
    assert [len(part) for part in scan_swf(b"")[2:]] == [0, 0, 0]


# fields: The fields of SWF.


def test_there_are_18_and_the_rest_are_some_of_them() -> None:
    assert NUM_FIELDS == len(set(FIELDS)) == 18
    assert set(FIELDS) > FRACTIONAL | TIME_FIELDS | MAY_BE_NEGATIVE | NEVER_UNKNOWN
    assert not FRACTIONAL & TIME_FIELDS
    assert not MAY_BE_NEGATIVE & NEVER_UNKNOWN


def test_their_order_is_that_of_the_format() -> None:
    assert (FIELDS[0], FIELDS[3], FIELDS[7], FIELDS[10], FIELDS[17]) == (
        "job_number",
        "runtime_s",
        "requested_procs",
        "status",
        "think_time_s",
    )


# writer: The SWF writer is the inverse of the reader.

JOBS = st.fixed_dictionaries(
    {
        name: (
            st.integers(0, 10**11)
            if name == "job_number"
            else st.integers(0, 10**10)
            if name == "submit_s"
            else st.none() | st.integers(0, 10**10)
            if name in ("wait_s", "runtime_s")
            else st.none() | st.integers(0, 10**11).map(lambda hundredths: hundredths / 100)
            if name in FRACTIONAL
            else st.none() | st.integers(0, 10**11)
        )
        for name in FIELDS
    }
)


@settings(max_examples=50, deadline=None)
@given(jobs=st.lists(JOBS, min_size=1, max_size=10), suffix=st.sampled_from(["", ".gz"]))
def test_what_is_written_is_read_again(jobs: list[dict[str, float | None]], suffix: str) -> None:
    schema = {name: pl.Float64 if name in FRACTIONAL else pl.Int64 for name in FIELDS}
    frame = pl.DataFrame(jobs, schema=schema)
    header = [("Version", "2.2"), ("MaxProcs", "338 (batch)"), ("Queue", "1 short"), ("Queue", "2 long")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"log.swf{suffix}"
        write_swf(frame, header, path)
        log = read_swf(path)
    assert log.records.drop("line").equals(frame)
    assert log.header == header
    assert (log.lines, log.accepted) == (len(header) + len(jobs), len(jobs))


def test_columns_that_are_not_given_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    write_swf(pl.DataFrame({"submit_s": [0, 5], "job_number": [1, 2], "runtime_s": [None, 9]}), [], path)
    assert path.read_text().splitlines()[1] == "2 5 -1 9" + " -1" * 14
    records = read_swf(path).records
    assert records["runtime_s"].to_list() == [None, 9]
    assert all(records[name].null_count() == 2 for name in FIELDS[4:])


def test_the_same_jobs_give_the_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / "a.swf.gz", tmp_path / "b.swf.gz"]
    for path in paths:
        write_swf(pl.DataFrame({"job_number": [1], "submit_s": [0]}), [("Version", "2.2")], path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_real_log_survives_the_round_trip(tmp_path: Path) -> None:
    log = read_swf(shared_file("traces", "swf", "lublin_256.swf.gz"))
    write_swf(log.records, log.header, tmp_path / "again.swf.gz")
    again = read_swf(tmp_path / "again.swf.gz")
    assert again.records.drop("line").equals(log.records.drop("line"))
    assert again.header == log.header
