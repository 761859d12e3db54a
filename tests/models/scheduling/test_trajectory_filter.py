"""The trajectory filter keeps what the paper keeps."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena
from models.scheduling.goals import parse_goal
from models.scheduling.trajectory_filter import filter_trajectories, sample_positions
from tests.models.scheduling.conftest import PROCS


def test_the_filter_keeps_what_the_paper_keeps(arena: Arena) -> None:
    windows = sample_positions(0, 700, 100, 150, np.random.default_rng(1))
    assert len(windows) == len(np.unique(windows.first)) == 150 and windows.first.max() <= 600
    found = filter_trajectories(arena, windows)
    np.testing.assert_allclose(found.score, arena.costs("SJF", windows))
    assert np.array_equal(found.kept, (found.score > np.median(found.score)) & (found.score < 2 * found.score.mean()))
    assert 0 < found.kept.sum() < 76 and len(found.kept_windows) == found.kept.sum()
    centred = found.score - found.score.mean()
    assert found.skewness == pytest.approx((centred**3).mean() / (centred**2).mean() ** 1.5)
    use = Arena(arena.jobs, PROCS, parse_goal("utilisation"))
    assert filter_trajectories(use, windows).kept.all()
