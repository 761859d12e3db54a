"""All recorded decisions of the real Slurm."""

from __future__ import annotations

import pytest

from studies.slurm.decisions import judge
from studies.slurm.golden_runs import read_golden_run
from tests.shared import shared_file

SCENARIOS = [
    "S1-backfill",
    "S1-bfcont",
    "S10",
    "S11",
    "S2",
    "S3",
    "S4-tier",
    "S5",
    "S6",
    "S7",
    "S8",
    "S9-interval",
    "S9-jobtest",
    "S9-window",
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_decisions_are_those_of_the_real_one(scenario: str) -> None:
    count = (tally := judge(read_golden_run(shared_file("golden", "slurm", scenario, "run1")))).counts
    assert count["same"] >= 0.998 * count["decisions"] > 0, tally.differences[:5]
    assert count["same_start_nodes"] >= (0.98 if scenario == "S4-tier" else 1) * count["starts"], tally.differences[:5]
    assert count["same_plan"] >= (0.98 if scenario == "S4-tier" else 0.995) * count["plans"], tally.differences[:5]
