"""Which columns a log of sacct has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.slurm.slurm_lines import document, job_line, read, step_line
from traces.common.log import LogError
from traces.slurm.columns import (
    SACCT_COLUMNS,
    SacctColumns,
    columns_of,
    first_lines,
    is_header_line,
    looks_like_sacct,
    text_lines,
)

LOG = Path("a.psv")


def test_a_header_line_counts_more_than_what_is_given() -> None:
    header = "JobID|JobName%30|State|"
    assert columns_of(LOG, [header], "jobid,submit") == SacctColumns(["jobid", "jobname", "state"], header, "|")


def test_columns_that_are_given_or_usual() -> None:
    assert columns_of(LOG, ["1|2"], "JobIDRaw, Submit") == SacctColumns(["jobid", "submit"], "", "|")
    assert columns_of(LOG, ["1|2"], "") == SacctColumns([name.lower() for name in SACCT_COLUMNS], "", "|")


def test_a_name_may_be_shortened_as_sacct_takes_it() -> None:
    """Of several columns that begin with it sacct takes the first of its list."""
    given = "USER,Jobname,jobidr,time,elapsed,N,nn,reqc,Unheard"
    names = ["user", "jobname", "jobidraw", "timelimit", "elapsed", "ncpus", "nnodes", "reqcpufreq", "unheard"]
    found = columns_of(LOG, [], given)
    assert found == SacctColumns(["jobid" if name == "jobidraw" else name for name in names], "", "|", ("unheard",))


@pytest.mark.parametrize("delimiter", ["|", "|#", "\t", ";", ",", "||", "#", "@"])
def test_any_delimiter(tmp_path: Path, delimiter: str) -> None:
    """sacct --delimiter."""
    plain = {"ReqTRES": "", "AllocTRES": "gres/gpu=0"}  # no comma in a value
    lines = [job_line(**plain), step_line("12.0", MaxRSS="7M"), job_line(JobID="13", **plain)]
    log = read(tmp_path, document(*lines).replace("|", delimiter))
    assert log.rejects.rows() == []
    assert log.records.select("job_id", "used_memory_kb", "job_name").rows() == [
        ("12", 7168, "run.sh"),
        ("13", None, "run.sh"),
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [("Submit,Start", "no column JobID among submit, start"), ("JobID,Start,JobID", "names column 'jobid' twice")],
)
def test_columns_that_cannot_be(given: str, says: str) -> None:
    with pytest.raises(LogError, match=f"a.psv.*{says}"):
        columns_of(LOG, [], given)


@pytest.mark.parametrize(("text", "is_one"), [("JobID|State", True), ("JobID", False), ("12|COMPLETED", False)])
def test_header_lines(text: str, is_one: bool) -> None:
    assert is_header_line(text) == looks_like_sacct(text) == is_one


def test_a_line_with_the_usual_columns_looks_like_sacct() -> None:
    words = ["12" if name == "JobID" else "2024-01-15T10:00:00" for name in SACCT_COLUMNS]
    assert looks_like_sacct("|".join(words))
    assert not looks_like_sacct("|".join(words[1:]))
    assert not looks_like_sacct("|".join(["no job", *words[1:]]))


def test_lines_are_text_whatever_the_bytes() -> None:
    assert text_lines(b"\xef\xbb\xbfa\r\n\xff\0\n").to_list() == ["a", "\\xff\\x00"]
    assert first_lines(b"\n a\n\nb\nhalf") == [" a", "b"]
    assert first_lines(b"half") == ["half"]
