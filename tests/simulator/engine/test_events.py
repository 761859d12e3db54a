"""Events of one second, in their order, and what leaves the queue."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.engine.events import close_gap
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster, Outages
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED

n = np.array


def test_a_gap_is_closed_behind_the_place() -> None:
    queue, score = n([5, 6, 7, 8]), n([1.0, 2.0, 3.0, 4.0])
    close_gap(queue, score, 1, 4)
    assert (queue[:3].tolist(), score[:3].tolist()) == ([5, 7, 8], [1.0, 3.0, 4.0])


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_what_happens_in_one_second(backfill: str) -> None:
    """At 10 s the first job ends, an outage begins, the second job is cancelled and the third is submitted: it gets what the
    outage leaves."""
    jobs = Jobs(n([0, 1, 10]), n([10, 5, 5]), n([4, 4, 2]), n([10, 5, 5]), n([10, 5, 5]), cancel=n([NEVER, 10, NEVER]))
    cluster = Cluster(4, outages=Outages(n([10]), n([20]), n([2]), n([10])))
    assert replay(jobs, cluster, "WFP3", backfill).start.tolist() == [0, CANCELLED, 10]
