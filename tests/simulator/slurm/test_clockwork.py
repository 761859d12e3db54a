"""The state of a replay."""

from __future__ import annotations

import numpy as np

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.slurm.clockwork import NEVER_STOPS, NEXT_EDGE, NEXT_SUBMIT, STOPS
from simulator.slurm.replaying import Phases, new_replay
from tests.simulator.slurm_site import SITE, columns_of


def test_a_clock_has_a_place_for_everything() -> None:
    replay = new_replay(SITE, cluster_arrays(SITE), columns_of([Request(7)]), np.array([60]), Phases())
    assert len(replay.clock) == NEXT_EDGE + 1
    assert (replay.clock[NEXT_SUBMIT], replay.clock[STOPS]) == (0, NEVER_STOPS)
