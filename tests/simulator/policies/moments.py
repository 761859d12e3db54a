"""A moment of a replay that is small enough to reckon with by hand."""

from __future__ import annotations

import numpy as np

from simulator.jobs.jobs import column_of
from simulator.policies.moment import Moment

n = np.array


def moment(now: int = 100, free: int = 2) -> Moment:
    """Three jobs wait and two run on eight processors."""
    return Moment(
        now=now,
        free=free,
        cluster_procs=8,
        queued=3,
        running=2,
        queue=n([2, 3, 4]),
        submit=column_of([0, 0, 40, 90, 100]),
        procs=column_of([2, 4, 1, 4, 8]),
        estimate=column_of([150, 160, 20, 10, 40]),
        user=column_of([0, 1, 0, 1, 1]),
        est_end=n([150, 160]),
        est_job=n([0, 1]),
        usage=n([3.0, 9.0, 12.0]),
        rate=np.zeros(3),
        since=np.full(3, 100),
        half_life_s=50.0,
    )
