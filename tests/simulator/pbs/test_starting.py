"""Starts and ends."""

from __future__ import annotations

import numpy as np

from simulator.pbs.placing import find_nodes
from simulator.pbs.replaying import idle_pbs
from simulator.pbs.settings import PbsPhases
from simulator.pbs.starting import end_pbs_job, start_pbs_job
from simulator.pbs.state import UNSET
from tests.simulator.pbs_site import asking, pbs_site


def test_a_job_gives_back_what_it_took() -> None:
    engine = idle_pbs(pbs_site(), [asking(0, 2, 60)], np.array([0]), PbsPhases())
    rows = find_nodes(engine.site, engine.asks, engine.tops, engine.scratch, engine.load, 0, (0, 60))
    start_pbs_job(engine, 0, rows, 7)
    assert engine.load.total.tolist() == [8] and engine.load.jobs.tolist() == [1, 1, 0, 0]
    assert engine.running.end[0] == 67
    end_pbs_job(engine, 0)
    assert engine.load.total.tolist() == [16] and engine.load.jobs.sum() == 0 and engine.running.end[0] == UNSET
