"""The state of the engine."""

from __future__ import annotations

import numpy as np

from simulator.pbs.replaying import idle_pbs
from simulator.pbs.settings import PbsPhases
from simulator.pbs.state import UNSET
from tests.simulator.pbs_site import asking, pbs_site


def test_nothing_runs_at_first() -> None:
    engine = idle_pbs(pbs_site(), [asking(0, 2, 60), asking(1, 1, 60)], np.array([0, 1]), PbsPhases())
    assert engine.load.total.tolist() == [16] and (engine.running.start == UNSET).all()
    assert engine.running.first.tolist() == [0, 2, 3] and engine.tops.free.shape[1:] == (4, 1)
