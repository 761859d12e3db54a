"""What requested times that are advised would have killed, as it is printed."""

from __future__ import annotations

import pytest

from models.waits.walltime_advice import AdviceTrial
from studies.predicting import walltimes
from studies.publishing.results import stored


def test_a_line_by_hand() -> None:
    trials = [
        AdviceTrial(100, 0.02, 600.0, 1200.0, 0.5, 0.05),
        AdviceTrial(300, 0.06, 600.0, 1200.0, 1.5, 0.05),
        AdviceTrial(100, 0.03, 600.0, None, None, 0.05),
    ]
    assert walltimes.line_of("log", 0.05, trials) == ["log", "5", "3", "4.6", "3.0", "6.0", "33", "1.00"]


@pytest.mark.parametrize("title", ["chosen on", "held out"])
def test_over_all_jobs_five_per_cent_are_kept(title: str) -> None:
    """As published. 2 % are not kept everywhere, and the page says so."""
    rows = [[cell.strip() for cell in line.split("|")] for line in stored()[f"walltimes, {title}"].lines[2:]]
    assert len(rows) == 4 and all(float(row[4]) <= 5 for row in rows if row[2] == "5")
