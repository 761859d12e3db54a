"""Priorities and Fair Tree against sprio and sshare."""

from __future__ import annotations

import pytest

from studies.slurm.priorities import compare_priorities
from tests.shared import shared_file


@pytest.mark.parametrize("scenario", ["S5", "S6", "S11"])
def test_sums_and_factors_are_those_of_the_real_one(scenario: str) -> None:
    count = compare_priorities(shared_file("golden", "slurm", scenario, "run1"))
    assert count["sum"] == count["jobs"] > 0
    assert count["fair"] >= 0.99 * count["users"]
