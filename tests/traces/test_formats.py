"""Which format a log has; every real log is tested with its reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.pbs.pbs_lines import end_record
from tests.traces.slurm.slurm_lines import document, job_line
from traces.common.log import LogError
from traces.formats import guess_format


@pytest.mark.parametrize(
    ("content", "log_format"),
    [
        ("; Version: 2.2\n", "swf"),
        ("\n\n" + " ".join(["1"] * 18), "swf"),
        (end_record(), "pbs"),
        ("rubbish\n" + end_record(), "pbs"),
        (document(job_line()), "slurm"),
        ("JobID|State\n", "slurm"),
    ],
)
def test_the_first_line_that_tells_counts(tmp_path: Path, content: str, log_format: str) -> None:
    (tmp_path / "log").write_text(content)
    assert guess_format(tmp_path / "log") == guess_format(tmp_path) == log_format


def test_what_is_empty_or_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\n \n")
    with pytest.raises(LogError, match="the log is empty"):
        guess_format(tmp_path)
    (tmp_path / "b").write_text("a,b,c\n")
    with pytest.raises(LogError, match=r"unknown log format.*--format"):
        guess_format(tmp_path)
