"""Who goes first: the order of a log whose queues come one after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.identification.logged_jobs import StartedJobs
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.policies.scoring import FIXED

IntArray = NDArray[np.int64]

BEFORE_S = 1 << 40
"""How much earlier jobs of a queue that goes first seem to have come, for each place. Longer than any log."""


def queue_policy(log: StartedJobs, first: Sequence[str]) -> Policy:
    """First come, first served within a queue; queues go in the order of `first`, and others behind them."""
    queues = log.holders["queue"]
    place = np.array([first.index(name) if name in first else len(first) for name in queues.names] + [len(first)])
    late = place[queues.number] * BEFORE_S

    def score(jobs: Jobs, cluster_procs: int) -> IntArray:
        return jobs.submit + late

    return Policy("queues", FIXED, score)
