"""Tables that are printed row by row are tables."""

from __future__ import annotations

import pytest

from papers.markdown import markdown, print_cells, print_heading


def test_rows_one_by_one_are_the_whole_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_heading("log", "wait")
    print_cells("KTH", "12")
    printed = capsys.readouterr().out
    assert printed.replace("---", " --- ").splitlines() == markdown(["log", "wait"], [["KTH", "12"]]).splitlines()
