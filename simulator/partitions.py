"""Replays of a cluster in partitions: jobs of some queues own processors, and no other job runs there.

Rules: docs/reference/semantics.md, "Partitions".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simulator.engine.replay import NeverStarts, OrderReplayer
from simulator.jobs.cluster import Cluster, some_running
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.replayer import BY_ORDER, Outcome

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


@dataclass(frozen=True)
class PartitionReplayer:
    """Replays the jobs of each partition on its own processors, by an order. Usage that fair share counts is that in the partition alone.

    partition: of each job, behind those of the running jobs of a cluster that it takes them from, int64 (running + jobs,). shares:
    processors by partition.
    """

    order: OrderReplayer
    partition: IntArray
    shares: Sequence[int]
    honours: ClassVar = BY_ORDER | {"agent", "inspector", "cancelled", "partitions"}

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """The schedule alone. cluster: of which the running jobs and the beginning are read, as the shares are its processors. Raises as
        `order` does, with the index of the job among all, and for jobs that follow others, which may be of other partitions."""
        jobs.require_open("a replay of partitions")
        start = np.full(len(jobs), CANCELLED, dtype=np.int64)
        backfilled = np.zeros(len(jobs), dtype=np.bool_)
        of_running, of_jobs = np.split(self.partition, [len(self.partition) - len(jobs)])
        for number, procs in enumerate(self.shares):
            index = np.flatnonzero(of_jobs == number)
            if not len(index):
                continue
            widest = int(jobs.procs[index].max())
            if widest > procs:
                first = int(index[np.argmax(jobs.procs[index])])
                raise NeverStarts(first, widest, procs)
            part = Cluster(procs)
            if len(of_running):
                running = some_running(cluster.running, np.flatnonzero(of_running == number))
                waiting = int((index < cluster.waiting).sum())
                part = Cluster(max(procs, int(running.procs.sum())), running, waiting=waiting, begin=cluster.begin)
            schedule = self.order.replay(jobs.only(index), part).schedule
            start[index], backfilled[index] = schedule.start, schedule.backfilled
        return Outcome(Schedule(start, backfilled))
