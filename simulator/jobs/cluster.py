"""The machine of one replay: its size, what already runs and waits on it, and the times when part of it is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.jobs import column_of

IntArray = NDArray[np.int64]

FOREVER = 1 << 61
"""A time that no replay reaches: the end of an outage that does not end."""


def _none() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Outages:
    """Processors that are missing for a while (nodes down, drained, reserved), int64 arrays of shape (num_outages,).

    start, end: seconds in the log's clock, start < end. `FOREVER` for no end. procs: processors missing, >= 1.
    announced: second from which the scheduler knows of it, <= start. It is the same as `start` for a failure.

    Raises ValueError when a rule is broken, naming the first outage that breaks it.
    """

    start: IntArray = field(default_factory=_none)
    end: IntArray = field(default_factory=_none)
    procs: IntArray = field(default_factory=_none)
    announced: IntArray = field(default_factory=_none)

    def __post_init__(self) -> None:
        _as_columns(self, ("start", "end", "procs", "announced"))
        _require(self.start < self.end, "an outage must end after it starts")
        _require(self.procs >= 1, "an outage must take at least 1 processor")
        _require(self.announced <= self.start, "an outage must be announced before or when it starts")

    def __len__(self) -> int:
        return len(self.start)


def joined_outages(one: Outages, other: Outages) -> Outages:
    """All outages of both."""
    names = ("start", "end", "procs", "announced")
    return Outages(*(np.concatenate([getattr(one, name), getattr(other, name)]) for name in names))


@dataclass(frozen=True)
class RunningJobs:
    """Jobs that already run when the replay begins (a warm start), int64 arrays of shape (num_running,).

    start: second of the log's clock, not later than the beginning of the replay. runtime, procs, estimate,
    limit, user, hold: as in `simulator.jobs.jobs.Jobs`, where hold may be left out. start + runtime must be later than the
    beginning.
    """

    start: IntArray = field(default_factory=_none)
    runtime: IntArray = field(default_factory=_none)
    procs: IntArray = field(default_factory=_none)
    estimate: IntArray = field(default_factory=_none)
    limit: IntArray = field(default_factory=_none)
    user: IntArray = field(default_factory=_none)
    hold: IntArray = field(default_factory=_none)

    def __post_init__(self) -> None:
        if not len(self.hold):
            object.__setattr__(self, "hold", self.estimate)
        _as_columns(self, ("start", "runtime", "procs", "estimate", "limit", "user", "hold"))
        _require(self.procs >= 1, "a running job must hold at least 1 processor")
        _require(self.limit >= self.runtime, "limit must not be shorter than the run time")

    def __len__(self) -> int:
        return len(self.start)


class HeldNodes(NamedTuple):
    """The nodes that running jobs hold: of job j the rows first[j] to first[j + 1], none where nobody knows them."""

    first: IntArray  # (jobs + 1,)
    node: IntArray  # (rows,), places in the description of the cluster, ascending for each job
    cpus: IntArray  # (rows,)


def no_nodes(jobs: int) -> HeldNodes:
    """Where the nodes of so many jobs are not in the log: the scheduler chooses."""
    return HeldNodes(np.zeros(jobs + 1, dtype=np.int64), _none(), _none())


def some_running(running: RunningJobs, which: IntArray) -> RunningJobs:
    """Some of the running jobs, in the order of their places."""
    names = ("start", "runtime", "procs", "estimate", "limit", "user", "hold")
    return RunningJobs(*(getattr(running, name)[which] for name in names))


@dataclass(frozen=True)
class Cluster:
    """procs: processors when nothing is missing. waiting: how many of the first jobs of the replay already wait when it begins. Only the
    jobs behind them are measured. begin: the second at which the replay begins, not after the first submission behind them, and None for
    that one.

    Raises ValueError when the running jobs or an outage exceed the processors.
    """

    procs: int
    running: RunningJobs = field(default_factory=RunningJobs)
    outages: Outages = field(default_factory=Outages)
    waiting: int = 0
    begin: int | None = None

    def __post_init__(self) -> None:
        if self.procs < 1:
            raise ValueError(f"a cluster needs at least 1 processor, got {self.procs}")
        if self.waiting < 0:
            raise ValueError(f"the number of waiting jobs must not be negative, got {self.waiting}")
        if self.running.procs.sum() > self.procs:
            raise ValueError(
                f"the running jobs hold {self.running.procs.sum()} processors, the cluster has {self.procs}"
            )
        _require(self.outages.procs <= self.procs, f"an outage takes more than the cluster's {self.procs} processors")

    def begins(self, submit: IntArray) -> int:
        """The second at which a replay of jobs begins that are submitted then, int64 (jobs,), at least one of them."""
        return int(submit[self.waiting]) if self.begin is None else self.begin

    @staticmethod
    def of(cluster: int | Cluster) -> Cluster:
        """A cluster. One that is given by its processors alone has no running jobs and no outages."""
        return cluster if isinstance(cluster, Cluster) else Cluster(int(cluster))


def _as_columns(owner: object, names: tuple[str, ...]) -> None:
    length = len(getattr(owner, names[0]))
    for name in names:
        column = column_of(getattr(owner, name))
        if column.shape != (length,):
            raise ValueError(f"{type(owner).__name__}.{name} must have one value per row, got shape {column.shape}")
        object.__setattr__(owner, name, column)


def _require(holds: NDArray[np.bool_], rule: str) -> None:
    if not holds.all():
        raise ValueError(f"{rule}: broken at index {int(np.argmin(holds))}")
