"""Limits of the server and its queues on what runs, soft ones too, and on what is in the queue. Rules: docs/reference/pbs.md, "Limits"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import referring, referring_apart
from simulator.jobs.followers import NEVER_SUBMITTED
from simulator.pbs.requests import PbsJob
from simulator.pbs.settings import OVER_QUEUE, OVER_SERVER
from simulator.pbs.state import RunLimits
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription

_RESOURCES = {"cpu": "ncpus", "mem": "mem", "gpu": "ngpus"}
_MIB = 1024


def run_limits(
    cluster: ClusterDescription, asked: Sequence[PbsJob], holds: Callable[[Limit], bool] | None = None
) -> RunLimits:
    """The limits that hold for each job, of those for which `holds` is true: by default hard ones on what runs. A limit of one name goes
    before that of all names. Jobs of reservations have none, and do not count."""
    return numbered_run_limits(cluster, asked, holds or is_counted)[0]


def numbered_run_limits(
    cluster: ClusterDescription, asked: Sequence[PbsJob], holds: Callable[[Limit], bool]
) -> tuple[RunLimits, tuple[Limit, ...]]:
    """As `run_limits`, and of each slot its limit."""
    limits = [limit for limit in cluster.limits if holds(limit)]
    of_slots: list[Limit] = []
    places: dict[tuple[str, str, str, str, str], int] = {}
    bound: list[int] = []
    slot: list[int] = []
    amount: list[int] = []
    kind: list[int] = []
    first = [0]
    for one in asked:
        queue = "" if one.reservation else cluster.partition_named(one.queue).name
        for limit in _of_job(limits, one, queue) if not one.reservation else ():
            key = (limit.owner, limit.owner_name, limit.each, _whose(limit, one), limit.resource)
            if key not in places:
                places[key] = len(bound)
                of_slots.append(limit)
                kind.append(OVER_QUEUE if limit.owner == "partition" else OVER_SERVER)
                bound.append(limit.bound * (_MIB if limit.resource == "mem" else 1))
            slot.append(places[key])
            amount.append(_amount(limit, one))
        first.append(len(slot))
    slots = np.array(bound, dtype=np.int64)
    made = RunLimits(
        np.array(first, dtype=np.int64),
        np.array(slot, dtype=np.int64),
        np.array(amount, dtype=np.int64),
        slots,
        np.zeros_like(slots),
        np.zeros_like(slots),
        np.array(kind, dtype=np.int64),
    )
    return made, tuple(of_slots)


def is_counted(limit: Limit) -> bool:
    """Whether the replay follows the limit: a hard one on what runs, of the server or a queue."""
    return _is_ours(limit) and limit.counts == "running" and not limit.is_soft


def is_soft_limit(limit: Limit) -> bool:
    """Whether jobs whose owner is over the limit have a preemption level of their own."""
    return _is_ours(limit) and limit.counts == "running" and limit.is_soft


def is_queue_limit(limit: Limit) -> bool:
    """Whether the limit is on all jobs in the queue, waiting or running. It refuses submissions."""
    return _is_ours(limit) and limit.counts == "submitted"


def _is_ours(limit: Limit) -> bool:
    return not limit.is_least and limit.owner in ("cluster", "partition") and limit.each != "job"


def refused_jobs(
    cluster: ClusterDescription,
    asked: Sequence[PbsJob],
    submit: NDArray[np.int64],
    end: NDArray[np.int64],
    first: int = 0,
) -> int:
    """How many jobs came while a limit on queued jobs was reached, and would have been refused. submit: NEVER_SUBMITTED for jobs that did
    not come. end: when each left, negative for never. first: those before it were not refused.

    They count as being in the queue themselves, since a log has no jobs that were refused."""
    limits = run_limits(cluster, asked, is_queue_limit)
    if not len(limits.bound):
        return 0
    far = np.where(end < 0, np.iinfo(np.int64).max, end)
    count = len(asked)
    moments = np.lexsort((np.arange(2 * count) < count, np.concatenate([submit, far])))
    moments = moments[submit[moments % count] != NEVER_SUBMITTED]
    used, over = limits.used.tolist(), 0
    for event in moments.tolist():
        job, is_over = event % count, False
        for entry in range(limits.first[job], limits.first[job + 1]):
            slot, amount = int(limits.slot[entry]), int(limits.amount[entry])
            used[slot] += amount if event < count else -amount
            is_over = is_over or used[slot] > limits.bound[slot]
        over += first <= event < count and is_over
    return over


def _of_job(limits: Sequence[Limit], one: PbsJob, queue: str) -> list[Limit]:
    """Those that hold for a job, the narrowest of each kind."""
    narrowest: dict[tuple[str, str, str], Limit] = {}
    for limit in limits:
        if limit.owner == "partition" and limit.owner_name != queue:
            continue
        if limit.who and limit.who != _whose(limit, one):
            continue
        key = (limit.owner, limit.each, limit.resource)
        if key not in narrowest or limit.who:
            narrowest[key] = limit
    return list(narrowest.values())


def _whose(limit: Limit, one: PbsJob) -> str:
    return "" if limit.each == "all" else str(getattr(one, limit.each))


def _amount(limit: Limit, one: PbsJob) -> int:
    if limit.resource == "jobs":
        return 1
    if limit.resource == "nodes":
        return sum(piece.count for piece in one.pieces)
    return one.amount(_RESOURCES.get(limit.resource, limit.resource))


@referring_apart
def is_within(limits, tops, used, job, span):
    """Whether no limit keeps the job from a span of time, with `used` of each slot in use at its begin, and more of it when the plans of
    the pass begin."""
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot, amount = limits.slot[entry], limits.amount[entry]
        if used[slot] + amount > limits.bound[slot]:
            return False
        for top in range(tops.length[0]):
            if span[0] < tops.start[top] < span[1] and tops.used[top, slot] + amount > limits.bound[slot]:
                return False
    return True


@referring
def copy_use(source, target):
    """Makes the use of limits in one array like that in another."""
    for slot in range(len(source)):
        target[slot] = source[slot]


@referring
def count_limits(limits, used, job, sign):
    """A job starts (1) or ends (-1)."""
    for entry in range(limits.first[job], limits.first[job + 1]):
        used[limits.slot[entry]] += sign * limits.amount[entry]
