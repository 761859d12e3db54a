"""Runs under the Slurm of a described cluster."""

from __future__ import annotations

import numpy as np

from assets.replay.own.slurm.way import by_order
from simulator.cluster.requests import Request
from tests.simulator.slurm_site import columns_of


def test_the_lowest_score_has_the_highest_priority() -> None:
    priority = by_order(columns_of([Request(0), Request(1), Request(2)]), np.array([5.0, 1.0, 5.0])).priority
    assert priority[1] > priority[0] > priority[2]
