"""What the oracle of PBS's cycle takes and gives: a cluster, its rules, jobs, and their starts. Times are seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

FIVE_YEARS_S = 5 * 365 * 86_400
"""What PBS takes a job without a walltime to run for."""
EXPRESS_PRIORITY = 150
"""Queues of at least this priority are express queues, whose jobs preempt others."""


class CycleAmounts(NamedTuple):
    """What a chunk asks for, or a node has."""

    ncpus: int
    memory: int = 0
    gpus: int = 0

    def plus(self, other: CycleAmounts) -> CycleAmounts:
        return CycleAmounts(*(a + b for a, b in zip(self, other, strict=True)))

    def fits_in(self, other: CycleAmounts) -> bool:
        return all(a <= b for a, b in zip(self, other, strict=True))


@dataclass(frozen=True)
class CycleNode:
    """A vnode. Several of the same host are parts of one machine."""

    name: str
    has: CycleAmounts
    host: str = ""
    priority: int = 0


@dataclass(frozen=True)
class CycleJob:
    """A job, and what becomes of it where it starts: it runs for runtime_s.

    chunks: each chunk of its select, those of `4:ncpus=2` one by one. arrangement: free, pack or scatter. reservation: the name of the one
    that it was submitted to. released_s: until when it is held. array: name of its array, of which at most array_limit tasks may run.
    """

    name: str
    submit_s: int
    runtime_s: int
    chunks: tuple[CycleAmounts, ...]
    walltime_s: int | None = None
    soft_walltime_s: int | None = None
    arrangement: str = "free"
    is_exclusive: bool = False
    queue: str = "workq"
    user: str = "u"
    group: str = "g"
    project: str = ""
    reservation: str = ""
    released_s: int = 0
    array: str = ""
    array_limit: int | None = None

    @property
    def asks(self) -> CycleAmounts:
        """All chunks together."""
        return CycleAmounts(*(sum(amounts) for amounts in zip(*self.chunks, strict=True)))

    @property
    def planned_s(self) -> int:
        """What it is taken to run for."""
        lengths = (self.soft_walltime_s, self.walltime_s, FIVE_YEARS_S)
        return next(length for length in lengths if length is not None)

    @property
    def limit_s(self) -> int:
        """What it is taken to run for once it has outlived its soft walltime."""
        return max(self.planned_s, FIVE_YEARS_S if self.walltime_s is None else self.walltime_s)


@dataclass(frozen=True)
class CycleQueue:
    """hours: "" for any, "p_" for prime time, "np_" for other hours, "ded" for dedicated time. The name begins with it."""

    name: str
    priority: int = 0
    hours: str = ""


@dataclass(frozen=True)
class CycleLimit:
    """max_run (resource "") or max_run_res, of the server (owner "") or a queue.

    each: user, group, project or all. who: the name that it is for; "" is PBS_GENERIC, everybody without a limit of their own. is_soft:
    jobs of who is over it have a preemption level of their own, and no job waits for it.
    """

    owner: str
    each: str
    bound: int
    who: str = ""
    resource: str = ""
    is_soft: bool = False


@dataclass(frozen=True)
class CycleReservation:
    """A confirmed reservation. nodes: what it has of each. announced_s: since when the scheduler knows of it."""

    name: str
    begin_s: int
    end_s: int
    nodes: Mapping[str, CycleAmounts]
    announced_s: int = 0


@dataclass(frozen=True)
class CycleShares:
    """Fair share. tree: name of a group or entity -> its parent ("root" at the top) and shares. began_s: the scheduler's start, from which
    steps of decay count. usage: of entities at the beginning.

    polls_s: seconds between the times at which the scheduler learns what running jobs have used, from its start on. So it never learns of
    what a job used after the last one before its end.
    """

    tree: Mapping[str, tuple[str, int]]
    unknown_shares: int = 10
    decay_s: int = 86_400
    decay_factor: float = 0.5
    began_s: int = 0
    usage: Mapping[str, float] = field(default_factory=dict)
    polls_s: float = 1.0


@dataclass(frozen=True)
class CycleHours:
    """When jobs may start. prime: minutes of each day from and to before which it is prime time, in order and apart.

    stays: whether jobs have to be over when prime time begins or ends. spill_s: by how many seconds they may be over it, for those that
    start in prime time and for others. exempts: whether this is for queues of prime time and of other hours alone. dedicated: spans of
    dedicated time, in order and apart, in seconds. ends_s: from then on no job of a queue with hours starts.
    """

    prime: tuple[tuple[int, int], ...] = ()
    stays: bool = False
    spill_s: tuple[int, int] = (0, 0)
    exempts: bool = False
    ends_s: int = 1 << 60
    dedicated: tuple[tuple[int, int], ...] = ()

    def is_prime(self, second: int) -> bool:
        return any(begin <= second % 86_400 // 60 < end for begin, end in self.prime)

    def is_dedicated(self, second: int) -> bool:
        return any(begin <= second < end for begin, end in self.dedicated)

    def changes(self, begin_s: int, end_s: int) -> list[int]:
        """Seconds from one to before another at which something begins or ends, in order."""
        midnights = range(begin_s // 86_400 * 86_400, end_s, 86_400)
        of_days = {midnight + 60 * minute for midnight in midnights for span in self.prime for minute in span}
        return sorted(
            second
            for second in of_days | {each for span in self.dedicated for each in span}
            if begin_s <= second < end_s
        )


@dataclass(frozen=True)
class CycleFormula:
    """job_sort_formula: eligible time less a bounded product of walltime and the root of processors. No walltime is zero in it."""

    cap_s: float

    @property
    def text(self) -> str:
        return f"eligible_time - min(walltime*sqrt(ncpus), {self.cap_s:g})"

    def value(self, job: CycleJob, eligible_s: float) -> float:
        return eligible_s - min((job.walltime_s or 0) * math.sqrt(job.asks.ncpus), self.cap_s)


@dataclass(frozen=True)
class CycleSettings:
    """Of the scheduler. formula: highest first. widest_first: job_sort_key is `ncpus HIGH`.

    merges_events: one pass for all events of a second, in place of one for each. linger_s: how long a reservation keeps its nodes that
    ends with a job in it. preempts: whether express jobs take nodes of others, in which way preempt_order says: it suspends (S),
    checkpoints (C), queues again (R) or deletes (D). levels: preempt_prio, the highest level first, each of one or more words.
    iteration_s: a pass comes at least so often while jobs wait.
    """

    strict_ordering: bool = False
    by_queue: bool = True
    backfill_depth: int = 1
    formula: CycleFormula | None = None
    widest_first: bool = False
    shares: CycleShares | None = None
    preempts: bool = False
    preempt_order: str = "SCR"
    levels: tuple[tuple[str, ...], ...] = (("express_queue",), ("normal_jobs",))
    iteration_s: int = 600
    merges_events: bool = False
    linger_s: int = 30


@dataclass(frozen=True)
class CycleSite:
    """All that does not change as time goes by. Nodes are in the order in which they are tried, but for their priority."""

    nodes: tuple[CycleNode, ...]
    queues: tuple[CycleQueue, ...] = (CycleQueue("workq"),)
    limits: tuple[CycleLimit, ...] = ()
    reservations: tuple[CycleReservation, ...] = ()
    settings: CycleSettings = CycleSettings()
    hours: CycleHours = CycleHours()


@dataclass(frozen=True)
class CycleStart:
    """nodes: name -> what the job took. eligible_s: its eligible time when it started. end_s: when it ended. suspended_s: how long it was
    suspended between both."""

    name: str
    start_s: int
    nodes: Mapping[str, CycleAmounts]
    eligible_s: int
    end_s: int
    suspended_s: int = 0
