"""The machine that a scheduler of a log may have had, and replays on it.

How many processors a cluster had, and when, read off a log by what was in use at most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import FOREVER, Cluster, Outages
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.partitions import PartitionReplayer, shares_of

IntArray = NDArray[np.int64]

STRETCHES = 100
"""Equal parts of a log. Sizes are looked for between two of them, and then to the second."""
SHORTEST, SHORTEST_S = 5, 86_400
"""Stretches, and seconds, that a size lasts at least. A quiet night is no smaller cluster."""
LEAST_SAVING = 0.03
"""Share of all processor time that a further size must explain as never there."""


@dataclass(frozen=True)
class SizeOverTime:
    """A cluster that grows or shrinks. procs: processors of each size, in the order of time, two or more of them. ends: when each size
    ends, but for the last, in seconds of the log's clock; ascending.

    Raises ValueError for numbers that do not go together.
    """

    procs: tuple[int, ...]
    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.procs) != len(self.ends) + 1 or not self.ends or min(self.procs) == self.most:
            raise ValueError(f"expected two or more sizes and an end of each but the last, got {self}")
        if list(self.ends) != sorted(set(self.ends)) or self.ends[0] <= 0:
            raise ValueError(f"expected ends in the order of time, got {self.ends}")

    @property
    def most(self) -> int:
        """Processors of the largest size."""
        return max(self.procs)

    @property
    def text(self) -> str:
        """Such as "48 until 86400, then 64"."""
        until = [f"{procs} until {end}" for procs, end in zip(self.procs, self.ends, strict=False)]
        return f"{', '.join(until)}, then {self.procs[-1]}"

    @property
    def missing(self) -> list[tuple[int, int | None, int]]:
        """Start, end and processors of what is missing of the largest size. None is no end."""
        times = zip((0, *self.ends), (*self.ends, None), self.procs, strict=True)
        return [(start, end, self.most - procs) for start, end, procs in times if procs < self.most]

    @property
    def outages(self) -> Outages:
        """What is missing of the largest size, for a replay whose scheduler knows of it from its start on."""
        rows = [(start, FOREVER if end is None else end, procs, start) for start, end, procs in self.missing]
        return Outages(*np.array(rows, dtype=np.int64).T)

    @property
    def cluster(self) -> Cluster:
        """Of a replay."""
        return Cluster(self.most, outages=self.outages)


def parse_size_over_time(text: str) -> SizeOverTime:
    """What `SizeOverTime.text` has written. Raises ValueError for anything else."""
    if not re.fullmatch(r"(\d+ until \d+, )+then \d+", text):
        raise ValueError(f"{text!r}: expected sizes such as '48 until 86400, then 64'")
    *sizes, last = text.split(", ")
    pairs = [each.split(" until ") for each in sizes]
    procs = (*(int(size) for size, _ in pairs), int(last.removeprefix("then ")))
    return SizeOverTime(procs, tuple(int(end) for _, end in pairs))


def sizes_in_use(
    start: IntArray, end: IntArray, procs: IntArray, until: int, least_saving: float = LEAST_SAVING
) -> SizeOverTime | None:
    """Sizes that explain what was in use at most, None where one size does.

    start, end, procs: int64 (jobs,), times in seconds of the log's clock. until: what is in use later does not count. Nor does what is in
    use before the first job ends: whoever ended earlier is not in the log. least_saving: as LEAST_SAVING.
    """
    moments, used = in_use(start, end, procs)
    inside = (moments >= end.min(initial=until)) & (moments < until)
    moments, used = moments[inside], used[inside]
    if not len(moments) or moments[0] >= until - STRETCHES:
        return None
    edges = np.linspace(moments[0], until, STRETCHES + 1).astype(np.int64)
    peaks = _peaks(moments, used, edges)
    shortest = max(SHORTEST, math.ceil(SHORTEST_S * STRETCHES / (until - int(moments[0]))))
    pieces = _pieces(peaks, shortest, least_saving)
    tops = [int(peaks[begin:last].max()) for begin, last in pieces]
    if len(tops) < 2 or min(tops) == max(tops):
        return None
    ends = []
    for k in range(1, len(tops)):
        (begin, between), (_, last) = pieces[k - 1], pieces[k]
        near = np.flatnonzero((moments >= edges[begin]) & (moments < edges[last]))
        above = near[used[near] > min(tops[k - 1], tops[k])]
        if not len(above):
            ends.append(int(edges[between]))
        elif tops[k] > tops[k - 1]:  # it has grown when more than before is in use for the first time
            ends.append(int(moments[above[0]]))
        else:  # it has shrunk when a job started for the last time with more than from then on
            began = above[np.isin(moments[above], start)]
            ends.append(int(moments[began[-1] if len(began) else above[-1]]) + 1)
    try:
        return SizeOverTime(tuple(tops), tuple(ends))
    except ValueError:
        return None  # a change so fast that its two ends cross is none


def in_use(start: IntArray, end: IntArray, procs: IntArray) -> tuple[IntArray, IntArray]:
    """Moments at which jobs start or end, ascending and different, and processors in use from each on. All int64, (jobs,) and
    (moments,)."""
    moments = np.concatenate([start, end])
    changes = np.concatenate([procs, -procs])
    order = np.argsort(moments, kind="stable")
    moments, used = moments[order], np.cumsum(changes[order])
    last = np.append(moments[1:] != moments[:-1], True)[: len(moments)]
    return moments[last], used[last]


def _peaks(moments: IntArray, used: IntArray, edges: IntArray) -> IntArray:
    """Most processors in use in each stretch between two edges, what was in use at its beginning included."""
    peaks = np.zeros(len(edges) - 1, dtype=np.int64)
    for k in range(len(peaks)):
        begin = int(np.searchsorted(moments, edges[k], side="right")) - 1  # what is in use at its first second
        last = int(np.searchsorted(moments, edges[k + 1]))
        peaks[k] = used[begin : max(last, begin + 1)].max()
    return peaks


def _pieces(peaks: IntArray, shortest: int, least_saving: float) -> list[tuple[int, int]]:
    """Stretches of equal size, as [first, behind the last): the cheapest cut by dynamic programming, where each stretch costs the size
    of its piece, and each piece a share of everything. shortest: stretches of a piece at least. None where that is more than there are."""
    count, price = len(peaks), least_saving * int(peaks.max()) * len(peaks)
    cost, cut = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=np.int64)
    cost[0] = 0.0
    if shortest > count:
        return []
    for last in range(shortest, count + 1):
        top = np.maximum.accumulate(peaks[:last][::-1])[::-1]  # of a piece from each stretch to `last`
        lengths = np.arange(last, 0, -1)
        totals = np.where(lengths >= shortest, cost[:last] + top * lengths + price, np.inf)
        cut[last] = int(np.argmin(totals))
        cost[last] = totals[cut[last]]
    pieces, last = [], count
    while last:
        pieces.append((int(cut[last]), last))
        last = int(cut[last])
    return pieces[::-1]


# --- machine


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

        Raises ValueError where a job is wider than its processors, where they can never be free (NeverStarts), and for jobs that follow
        others.
        """
        jobs.require_open("a comparison on one machine")
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
