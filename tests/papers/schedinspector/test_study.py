"""The figures of SchedInspector's rules without learning."""

from __future__ import annotations

import pytest

from papers.schedinspector.study import inspected_costs, jobs_of_window_tables
from tests.shared import shared_file


@pytest.mark.parametrize(
    ("base", "backfill", "figures"),
    [
        ("SJF", "none", [276.6, 92.4, 46.9, 46.9]),
        ("SAF", "easy", [54.0, 32.5, 26.9, 34.4]),
        ("FCFS", "easy", [235.8, 2656.0, 7273.8, 271.4]),
    ],
)
def test_figures_computed_before(base: str, backfill: str, figures: list[float]) -> None:
    shared_file("traces", "swf", "lublin_256.swf.gz")
    jobs, procs = jobs_of_window_tables("Lublin-1")
    assert inspected_costs(jobs, procs, base, backfill) == pytest.approx(figures, abs=0.05)
