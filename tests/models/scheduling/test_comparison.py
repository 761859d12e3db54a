"""Intervals of paired differences: by simulation, since that is what an interval promises."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Windows
from models.scheduling.comparison import block_length, disjoint, paired_difference


def windows(spacing: int, count: int = 40, jobs: int = 100) -> Windows:
    return Windows(np.arange(count) * spacing, jobs)


def test_blocks_hold_the_windows_that_share_jobs() -> None:
    assert block_length(windows(100)) == block_length(windows(250)) == 1
    assert block_length(windows(50)) == 2 and block_length(windows(30)) == 4
    uneven = Windows(np.array([0, 10, 20, 300, 390, 500]), 100)
    assert block_length(uneven) == 3 and disjoint(uneven) == 3


@pytest.mark.parametrize("spacing", [100, 25])
def test_intervals_hold_the_truth_as_often_as_they_say(spacing: int) -> None:
    """Costs of windows that share jobs are alike: without blocks the narrow interval would miss far more often."""
    rng = np.random.default_rng(0)
    taken = windows(spacing, 60)
    held = 0
    for _ in range(120):
        per_job = rng.normal(0.0, 1.0, 60 * spacing + 100)
        difference = np.array([per_job[first : first + 100].mean() for first in taken.first])
        base = rng.normal(5.0, 3.0, 60)  # of the windows themselves: pairing takes it away
        found = paired_difference(base + difference, base, taken, 1)
        assert found.low is not None and found.high is not None and found.low <= found.mean <= found.high
        held += found.low <= 0.0 <= found.high
    assert held >= 0.84 * 120


def test_who_is_better_is_told() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(20.0, 5.0, 40)
    better = paired_difference(base - 1.0 + rng.normal(0, 0.5, (3, 40)), base, windows(100), 1)
    assert better.high is not None and better.high < 0 and better.mean == pytest.approx(-1.0, abs=0.3)
    worse = paired_difference(base, base - 1.0, windows(100), 1)
    assert worse.low is not None and worse.low > 0
    assert paired_difference(base, base - 1.0, windows(100), 1) == worse
    few = paired_difference(base[:13], base[:13] - 1, windows(30, 13), 1)  # 460 jobs: four windows that share none
    assert few.low is not None
    none = paired_difference(base[:3], base[:3] - 1, windows(100, 3), 1)
    assert none.low is None and none.high is None
