"""What the benchmark of agents prints is what a replay of the windows gives."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from studies.judging.agents import RULES, TIMED, print_row, rate
from tests.shared import shared_file
from tests.simulator.busy import PROCS, busy_jobs


@pytest.mark.parametrize("text", TIMED)
def test_decisions_are_counted(text: str) -> None:
    assert rate(busy_jobs(2000), PROCS, text) > 1000


def test_a_row_of_closed_windows(capsys: pytest.CaptureFixture[str]) -> None:
    """The reference's figures: bounded slowdown 272 and wait 24,514 s of FCFS with EASY, 28.2 and 10,245 s of SAF."""
    shared_file("traces", "swf", "lublin_256.swf.gz")
    from papers.archive import SHARED, jobs_of_file

    jobs = jobs_of_file(SHARED / "lublin_256.swf.gz")
    windows = Windows(np.linspace(5000, 9000, 50).astype(np.int64), 1000)
    for name, begins in (
        ("FCFS + EASY", "272.4 | 24,514"),
        ("SAF + EASY", "28.2 | 10,245"),
        ("EASY-SJBF", "146.9 | 19,297"),
    ):
        policy, backfill = RULES[name]
        arena = Arena(jobs, 256, parse_goal("bsld"), backfill)
        print_row(name, arena, windows, arena.starts(policy, windows))
        assert capsys.readouterr().out.startswith(f"| {name} | {begins} |")
