"""The machine that a scheduler of a log may have had, and replays on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.size_over_time import SizeOverTime
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.partitions import PartitionReplayer, shares_of

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Machine:
    """procs: processors, or those of the largest size. size_over_time: of one that grew or shrank, else None. partitions: queues and the
    processors that each owns. Jobs of other queues have the rest. Empty: all jobs share all processors."""

    procs: int
    size_over_time: SizeOverTime | None = None
    partitions: tuple[tuple[str, int], ...] = ()

    @property
    def cluster(self) -> Cluster:
        """All of it, without its partitions."""
        return self.size_over_time.cluster if self.size_over_time is not None else Cluster(self.procs)

    def replay(self, jobs: Jobs, policy: str, backfill: str, queues: pl.Series | None = None) -> Schedule:
        """All jobs under a scheduler. queues: as for `partitions_of`, where the machine has partitions.

        Raises ValueError where a job is wider than its processors, and where they can never be free (NeverStarts).
        """
        order = OrderReplayer(policy, backfill)
        if not self.partitions:
            return order.replay(jobs, self.cluster).schedule
        assert queues is not None, "partitions are of queues"
        owned = dict(self.partitions)
        parted = PartitionReplayer(order, partitions_of(queues, owned), shares_of(owned, self.procs))
        return parted.replay(jobs, self.cluster).schedule


def partitions_of(queues: pl.Series, owned: Mapping[str, int]) -> IntArray:
    """The partition of each job, a position in `simulator.partitions.shares_of(owned, ...)`, int64 (jobs,).

    queues: of the jobs, text (jobs,), null where a job has none. owned: processors by queue.
    """
    numbers = {queue: number for number, queue in enumerate(owned)}
    return queues.replace_strict(numbers, default=len(owned), return_dtype=pl.Int64).to_numpy()
