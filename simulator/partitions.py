"""Replays of a cluster in partitions: jobs of some queues own processors, and no other job runs there.

Rules: docs/reference/semantics.md, "Partitions".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.engine.replay import NeverStarts, replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.policies.registry import Policy

IntArray = NDArray[np.int64]


def shares_of(owned: Mapping[str, int], cluster_procs: int) -> list[int]:
    """Processors of each partition, in the order of `owned`, and at the end what no queue owns.

    owned: processors by queue. cluster_procs: of all partitions together. Raises ValueError where the cluster has fewer.
    """
    rest = cluster_procs - sum(owned.values())
    if rest < 0:
        raise ValueError(
            f"partitions: the queues own {sum(owned.values())} processors, the cluster has {cluster_procs}: correct their sizes, or "
            "give the cluster more"
        )
    return [*owned.values(), rest]


def replay_partitions(
    jobs: Jobs,
    partition: IntArray,
    shares: Sequence[int],
    policy: str | Policy = "FCFS",
    backfill: str = "easy",
    correction: str = "requested",
) -> Schedule:
    """Replays the jobs of each partition on its own processors.

    partition: of each job, int64 (jobs,). shares: processors by partition. The rest is as for `replay`. Usage that fair share counts is
    that in the partition alone. Raises as `replay`, with the index of the job among all.
    """
    start = np.full(len(jobs), CANCELLED, dtype=np.int64)
    backfilled = np.zeros(len(jobs), dtype=np.bool_)
    for number, procs in enumerate(shares):
        index = np.flatnonzero(partition == number)
        if not len(index):
            continue
        widest = int(jobs.procs[index].max())
        if widest > procs:
            first = int(index[np.argmax(jobs.procs[index])])
            raise NeverStarts(first, widest, procs)
        schedule = replay(jobs.only(index), procs, policy, backfill, correction=correction)
        start[index], backfilled[index] = schedule.start, schedule.backfilled
    return Schedule(start, backfilled)
