"""Which columns a log of sacct has."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.common.log import LogError
from traces.slurm.columns import SACCT_COLUMNS, columns_of, first_lines, is_header_line, looks_like_sacct, text_lines

LOG = Path("a.psv")


def test_a_header_line_counts_more_than_what_is_given() -> None:
    assert columns_of(LOG, ["JobID|JobName%30|State|"], "jobid,submit") == (
        ["jobid", "jobname", "state"],
        "JobID|JobName%30|State|",
    )


def test_columns_that_are_given_or_usual() -> None:
    assert columns_of(LOG, ["1|2"], "JobIDRaw, Submit") == (["jobid", "submit"], "")
    assert columns_of(LOG, ["1|2"], "") == ([name.lower() for name in SACCT_COLUMNS], "")


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
