"""The machine that a scheduler of a log may have had, and replays on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.judging.partitions import partitions_of, replay_partitions, shares_of
from models.judging.size_over_time import SizeOverTime
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule


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

    def replay(self, jobs: Jobs, policy: str, backfill: str, queues: Sequence[str | None] = ()) -> Schedule:
        """All jobs under a scheduler. queues: those of the jobs, where the machine has partitions.

        Raises ValueError where a job is wider than its processors, and where they can never be free (NeverStarts).
        """
        if not self.partitions:
            return replay(jobs, self.cluster, policy, backfill)
        owned = dict(self.partitions)
        partition = partitions_of(queues, owned)
        return replay_partitions(jobs, partition, shares_of(owned, self.procs), policy, backfill)


def partitions_text(partitions: Mapping[str, int]) -> str:
    """For people, such as "debug=16, gpu=64"."""
    return ", ".join(f"{queue}={procs}" for queue, procs in partitions.items())
