"""Grades of the archive logs, as they are printed."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from studies.judging import fidelity as benchmark
from studies.publishing.results import stored
from tests.tiny import swf_line


def test_cells_have_hours_and_per_cent() -> None:
    row: dict[str, object] = dict.fromkeys((column for column, _, _ in benchmark.FIGURES.values()), None)
    row |= {"grade": "D", "logged_wait_s": 7200.0, "alike": 0.25}
    assert benchmark.cells(row) == ["D", "2.0", "-", "-", "-", "25", "-", "-", "-"]


def test_who_waits_and_when_jobs_start(tmp_path: Path) -> None:
    """1 January 1990 was a Monday. User 1 waits an hour until 9 h with 1 h asked, user 2 three until 20 h with 5 h asked; others not."""
    log = tmp_path / "log.swf"
    lines = [(8 * 3600, 3600, 3600, 1), (17 * 3600, 3 * 3600, 5 * 3600, 2), (18 * 3600, 500, 5 * 3600, 3)]
    text = "; MaxProcs: 4\n; UnixStartTime: 631152000\n"
    for number, (submit, wait, asked, user) in enumerate(lines, 1):
        words = swf_line(number, submit, wait, 60, 1).split()
        words[8], words[11] = str(asked), str(user)
        text += " ".join(words) + "\n"
    log.write_text(text)
    assert benchmark.reasons_of(tracehouse.load_log(log).trace()) == [1.0, 0.0, pytest.approx(0.75)]


def test_every_archive_log_has_a_line() -> None:
    rows = stored()["fidelity, grades"].lines[2:] + stored()["fidelity, no grades"].lines[2:]
    assert [row.split("|")[1].strip() for row in rows] == list(benchmark.LOGS)
