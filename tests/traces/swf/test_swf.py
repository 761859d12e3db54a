"""Tests of traces/swf: fields, writer."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import shared_file
from traces.swf.fields import FIELDS, FRACTIONAL, MAY_BE_NEGATIVE, NEVER_UNKNOWN, NUM_FIELDS, TIME_FIELDS
from traces.swf.reader import read_swf
from traces.swf.writer import write_swf

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
