"""The plan of a backfill cycle."""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import Request
from simulator.slurm.slices import begin_slices, is_free, narrow, take_nodes
from tests.simulator.slurm_site import engine_of


def test_plans_take_nodes_and_neighbours_that_are_equal_join() -> None:
    engine = engine_of([Request(0, limit_s=60)] * 9)
    slices = engine.slices
    begin_slices(slices, 130, engine.site.settings)
    assert (slices.begin[0], slices.end[0]) == (120, 3720)
    take_nodes(slices, np.array([0, 1]), 2, 240, 360)
    take_nodes(slices, np.array([0, 1]), 2, 360, 480)
    assert slices.length[0] == 3 and slices.begin[:3].tolist() == [120, 240, 480]
    assert is_free(slices, np.array([0]), 1, 120, 240) and not is_free(slices, np.array([0]), 1, 180, 241)
    base, allowed = np.ones(4, dtype=np.bool_), np.zeros(4, dtype=np.bool_)
    later = narrow(slices, base, allowed, 130, 300)
    assert allowed.tolist() == [False, False, True, True] and later == 480
    # the first slice behind the job is looked at for a later start, and does not narrow
    assert narrow(slices, base, allowed, 130, 200) == 480 and allowed.all()
