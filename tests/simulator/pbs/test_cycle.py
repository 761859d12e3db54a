"""A pass."""

from __future__ import annotations

import numpy as np

from simulator.pbs.cycle import run_pass
from simulator.pbs.queueing import join_pbs_queue
from simulator.pbs.replaying import idle_pbs
from simulator.pbs.settings import PbsPhases
from tests.simulator.pbs_site import asking, pbs_site, starts_on


def test_a_pass_starts_what_fits_beside_its_plan() -> None:
    asked = [asking(0, 3, 100), asking(0, 4, 50), asking(0, 1, 200), asking(0, 1, 90)]
    engine = idle_pbs(pbs_site(), asked, np.zeros(4, dtype=np.int64), PbsPhases())
    for job in range(4):
        join_pbs_queue(engine, job, 0)
    assert run_pass(engine, 0) == 2
    assert engine.running.start.tolist() == [0, -1, -1, 0] and engine.waiting.pending[:2].tolist() == [1, 2]
    assert engine.tops.start[0] == 100


def test_an_array_runs_as_many_tasks_as_it_may() -> None:
    asked = [asking(0, 1, 60, array=0, array_task=k, array_limit=2) for k in range(4)]
    assert starts_on(pbs_site(), asked, [10, 20, 10, 10]) == [0, 0, 10, 20]


def test_without_places_for_top_jobs_nothing_passes_the_first() -> None:
    asked = [asking(0, 3, 100), asking(1, 4, 50), asking(2, 1, 10)]
    assert starts_on(pbs_site(backfill_depth=0), asked, [100, 10, 10]) == [0, 100, 110]
