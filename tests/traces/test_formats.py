"""Which format a log has, and what is said of files that have none; every real log is tested with its reader."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.traces.pbs.pbs_lines import end_record
from tests.traces.slurm.slurm_lines import document, job_line
from traces.common.log import LogError
from traces.formats import _NO_TEXT, guess_format, look_at_log, shown

SWF_LINE = " ".join(["1"] * 18) + "\n"
PBS_LINE = end_record() + "\n"


def fault(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        guess_format(path)
    assert str(caught.value).isprintable()  # one line, and nothing that a terminal would act on
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "log_format"),
    [
        ("; Version: 2.2\n", "swf"),
        ("\n\n" + SWF_LINE, "swf"),
        (end_record(), "pbs"),
        ("rubbish\n" + end_record(), "pbs"),
        ("\ufeff" + end_record(), "pbs"),
        ("\n \n\0\0\n" + 2 * PBS_LINE, "pbs"),
        (document(job_line()), "slurm"),
        ("\ufeff" + document(job_line()), "slurm"),
        ("JobID|State\n", "slurm"),
        ("JobID|State|\n1|COMPLETED|\n2|FAILED|\n", "slurm"),
    ],
)
def test_the_format_of_most_lines_counts(tmp_path: Path, content: str, log_format: str) -> None:
    """Before, a file whose first line had a byte order mark and no second line was of no format."""
    (tmp_path / "log").write_text(content)
    assert guess_format(tmp_path / "log") == guess_format(tmp_path) == log_format
    (tmp_path / "log").unlink()
    (tmp_path / "log.gz").write_bytes(gzip.compress(content.encode()))
    assert guess_format(tmp_path / "log.gz") == log_format


def test_what_is_empty_or_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\n \n")
    assert "the log is empty" in fault(tmp_path)
    (tmp_path / "b").write_text("a,b,c\n1,\x1b[2J2\n")
    message = fault(tmp_path)
    assert "unknown log format; expected SWF" in message and "--format" in message and "--columns" in message
    assert r'It begins with "a,b,c", "1,\x1b[2J2"' in message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        # each of the first four was taken for SWF, which has no such line: "the log is empty"
        ("; PBS server of alps\n" + 3 * "2017-04-05 13:06:53;E;1.head;user=ann ctime=1\n", "a line with 3 fields"),
        (" ".join(["word"] * 18) + "\n", "unknown log format"),
        ("; exported\n" + 3 * "1|COMPLETED|4|ann\n", "SWF's comments, but a line with 1 fields"),
        (SWF_LINE + 9 * "no job at all\n", "Only 1 of the first 10 lines look like swf"),
        (3 * "2017-04-05 13:06:53;E;1.head;user=ann ctime=1\n", "write dates as MM/DD/YYYY HH:MM:SS"),
        (3 * "12|2024-01-15T10:00:00|COMPLETED|4|ann\n", "without a header; name their columns with `--columns"),
        ("JobID,State\n1,COMPLETED\n", "between commas; print them with `sacct -P`"),
        ("JobID\tState\n1\tCOMPLETED\n", "between tabs; print them with `sacct -P`"),
        ("  JobID      State \n-------- ----------\n       1  COMPLETED\n", "between blanks; print them"),
        ('{"jobs": [\n{"job_id": 1}]}\n', "JSON"),
        ("<!DOCTYPE html>\n<title>Log in</title>\n", "a web page or XML; was it downloaded without logging in?"),
    ],
)  # fmt: skip
def test_what_looks_like_something_else_is_said(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "log").write_text(content)
    message = fault(tmp_path / "log")
    assert says in message and "--format" in message and "It begins with " in message
    assert "empty" not in message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (PBS_LINE.encode("utf-16"), "UTF-16 text; convert it with `iconv"),
        (b"PK\x03\x04\x14\0\0\0\x08\0", "an Excel workbook"),
        (gzip.compress(PBS_LINE.encode()), "a name that ends in .gz"),
        (b"BZh91AY&SY", "bunzip2"),
        (b"20170405".ljust(257, b"\0") + b"ustar\x0000", "a tar archive"),
        (bytes(range(8)) * 4 + b"\0" * 64, "binary data"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "log").write_bytes(content)
    assert f"It looks like {says}" in fault(tmp_path / "log") or says in fault(tmp_path / "log")


def test_a_folder_of_mixed_formats(tmp_path: Path) -> None:
    """Before, the first file decided, and all lines of the others were rejected."""
    (tmp_path / "a.swf").write_text(SWF_LINE)
    for day in range(5):
        (tmp_path / f"2017040{day}").write_text(PBS_LINE)
    message = fault(tmp_path)
    assert 'pbs: "20170400", "20170401", "20170402" and 2 more; swf: "a.swf"' in message
    assert "folder of their own" in message and "--format" in message


def test_other_files_beside_logs(tmp_path: Path) -> None:
    (tmp_path / "20170405").write_text(PBS_LINE)
    (tmp_path / "20170406").write_text("")  # of a day without jobs
    assert look_at_log(tmp_path).odd == []
    (tmp_path / "README").write_text("Logs of alps.\n")
    look = look_at_log(tmp_path)
    assert look.format == "pbs" and [file.path.name for file in look.odd] == ["README"]
    (tmp_path / "notes.gz").write_bytes(b"no gzip data")
    message = fault(tmp_path)
    assert 'no log: "README", "notes.gz"' in message and 'pbs: "20170405"' in message


def test_a_file_with_many_other_lines_is_not_taken_silently(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(2 * PBS_LINE + 3 * "rubbish\n")
    look = look_at_log(tmp_path / "log")
    assert look.format == "pbs" and look.odd[0].few == "only 2 of the first 5 lines look like pbs"


def test_one_line_in_three_is_enough_for_a_format(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("; a comment\n\n" + 2 * SWF_LINE + 4 * "rubbish\n")
    assert look_at_log(tmp_path / "log").odd[0].few == "only 2 of the first 6 lines look like swf"
    (tmp_path / "log").write_text("; a comment\n\n" + 2 * SWF_LINE + 5 * "rubbish\n")
    assert "Only 2 of the first 7 lines look like swf." in fault(tmp_path / "log")


def test_what_a_file_looks_like_instead_may_begin_with_any_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_NO_TEXT, b"only", "only a test")
    (tmp_path / "log").write_bytes(b"only\n")
    assert "It looks like only a test." in fault(tmp_path / "log")


def test_text_is_shown_short_and_harmless() -> None:
    assert shown("a\x1b]0;title\x07\u202eb") == r'"a\x1b]0;title\x07\u202eb"'
    assert shown("x" * 100) == '"' + "x" * 60 + '..."'
