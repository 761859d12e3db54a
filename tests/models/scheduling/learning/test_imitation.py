"""Imitation copies a heuristic."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.imitation import imitate
from models.scheduling.options import (
    ImitationOptions,
)
from simulator.jobs.jobs import Jobs
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import FIXED_SCORES


def test_imitation_copies_a_heuristic(arena: Arena, jobs: Jobs) -> None:
    saf = np.asarray(FIXED_SCORES["SAF"](jobs), dtype=np.float64)
    shares: list[float] = []
    shown = Windows(np.arange(0, 400, 20), 100)
    weights = imitate(
        arena, [shown], [saf], LAYOUTS["plain"], ImitationOptions(), 1, lambda loss, share: shares.append(share)
    )
    # many jobs have the same area, and of those either is as good
    assert shares[-1] > 0.7 and shares[-1] > shares[0] + 0.1
    later = Windows(np.array([500, 600]), 150)
    assert arena.costs(weights, later).mean() == pytest.approx(arena.costs("SAF", later).mean(), rel=0.3)
