"""What keeps jobs, against the reasons of the real Slurm."""

from __future__ import annotations

import pytest

from studies.slurm.reasons import compare_reasons
from tests.shared import shared_file


@pytest.mark.parametrize("scenario", ["S3", "S4-tier", "S7", "S11"])
def test_at_least_nine_in_ten_are_those_of_squeue(scenario: str) -> None:
    total, same, priority, pairs = compare_reasons(shared_file("golden", "slurm", scenario, "run1"))
    assert same >= 0.9 * total > 1000, pairs.most_common(5)
    assert priority < same  # an answer that never looks agrees less often
