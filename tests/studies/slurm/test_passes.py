"""Recorded passes of the main scheduler."""

from __future__ import annotations

import pytest

from studies.slurm.passes import judge_passes
from tests.shared import shared_file


@pytest.mark.parametrize("scenario", ["S2", "S5", "S8", "S11"])
def test_passes_start_the_jobs_of_the_real_ones(scenario: str) -> None:
    count = judge_passes(shared_file("golden", "slurm", scenario, "run1"))
    assert count["jobs"] >= (0.97 if scenario == "S11" else 1) * count["passes"] > 0
    assert count["starting_nodes"] >= (0.92 if scenario == "S11" else 1) * count["starting"] > 0
