"""The jobs of a log as the search for rules takes them: with what happened to them, and whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.jobs import Jobs

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Holders:
    """Of each job its user (account, group, queue): a place in `names`, or -1 for nobody. number: int64 (jobs,)."""

    number: IntArray
    names: tuple[str, ...]


@dataclass(frozen=True)
class StartedJobs:
    """jobs: in order of submission, all of which started. start: int64 (jobs,), when they did, seconds of the log's clock.

    holders: by "user", "account", "group" and "queue", as far as the log has them. zero_s: UTC second of the log's second 0, None where
    the log does not say. time_zone: of the cluster.

    Raises ValueError where the columns have different lengths.
    """

    jobs: Jobs
    start: IntArray
    holders: Mapping[str, Holders] = field(default_factory=dict)
    zero_s: int | None = None
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        for name, column in (("start", self.start), *((key, each.number) for key, each in self.holders.items())):
            if len(column) != len(self.jobs):
                raise ValueError(f"{name} has {len(column)} values, the log has {len(self.jobs)} jobs")

    @property
    def wait(self) -> IntArray:
        """Seconds that each job waited, int64 (jobs,)."""
        return self.start - self.jobs.submit

    def first(self, count: int) -> StartedJobs:
        """The first jobs alone."""
        holders = {scope: Holders(each.number[:count], each.names) for scope, each in self.holders.items()}
        return StartedJobs(self.jobs.window(0, count), self.start[:count], holders, self.zero_s, self.time_zone)


LoggedJobs = StartedJobs
