"""One real run of UB's micro cluster."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.slurm.replaying import Phases
from studies.slurm.micro_cluster import rank_correlation, replay_micro, share_alike
from tests.shared import shared_file


def test_waits_are_near_those_of_the_real_run() -> None:
    ours, real = replay_micro(shared_file("traces", "clusters", "ub-micro"), Phases.drawn(0))
    assert len(ours) == 500
    assert rank_correlation(ours, real) >= 0.85
    assert share_alike(ours, real) >= 0.4
    assert abs(ours.mean() / real.mean() - 1) < 0.08


def test_ranks_share_their_mean_where_values_are_equal() -> None:
    assert rank_correlation(np.array([1, 2, 2, 9]), np.array([5, 6, 6, 7])) == pytest.approx(1.0)
