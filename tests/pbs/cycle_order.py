"""Which nodes a job gets in the oracle of PBS's cycle: chunk by chunk, the first node in order with room for as long as the job may run.

Hours in the oracle of PBS's cycle: may a job of a queue start in a second, and when does it have to be over?

In which order the oracle of PBS's cycle considers jobs, and which of them a limit blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tests.pbs.cycle_types import (
    EXPRESS_PRIORITY,
    CycleAmounts,
    CycleJob,
    CycleLimit,
    CycleNode,
    CycleShares,
    CycleSite,
)

NOTHING = CycleAmounts(0, 0, 0)


@dataclass(frozen=True)
class CycleHold:
    """Parts of nodes from begin_s to before end_s: of a job that runs, of a top job, of a reservation. is_exclusive: nobody else may use
    these nodes."""

    begin_s: int
    end_s: int
    nodes: Mapping[str, CycleAmounts]
    is_exclusive: bool = False


def has_room(
    node: CycleNode, needs: CycleAmounts, is_exclusive: bool, span: tuple[int, int], holds: Iterable[CycleHold]
) -> bool:
    """Whether the node can give `needs` in the whole span, beside what the holds have of it."""
    beside = [hold for hold in holds if node.name in hold.nodes and hold.begin_s < span[1] and hold.end_s > span[0]]
    if any(hold.is_exclusive for hold in beside) or (is_exclusive and beside):
        return False
    for moment in {span[0], *(hold.begin_s for hold in beside if hold.begin_s > span[0])}:
        total = needs
        for hold in beside:
            if hold.begin_s <= moment < hold.end_s:
                total = total.plus(hold.nodes[node.name])
        if not total.fits_in(node.has):
            return False
    return needs.fits_in(node.has)


def placed(
    job: CycleJob, span: tuple[int, int], nodes: Sequence[CycleNode], holds: Sequence[CycleHold]
) -> dict[str, CycleAmounts] | None:
    """What the job takes of each node if it runs in this span; None where it does not fit."""
    if job.arrangement == "pack":
        for host in dict.fromkeys(node.host or node.name for node in nodes):
            of_host = [node for node in nodes if (node.host or node.name) == host]
            if taken := _first_fit(job, span, of_host, holds):
                return taken
        return None
    return _first_fit(job, span, nodes, holds)


def _first_fit(
    job: CycleJob, span: tuple[int, int], nodes: Sequence[CycleNode], holds: Sequence[CycleHold]
) -> dict[str, CycleAmounts] | None:
    taken: dict[str, CycleAmounts] = {}
    hosts: set[str] = set()
    for chunk in job.chunks:
        for node in nodes:
            host = node.host or node.name
            if job.arrangement == "scatter" and host in hosts:
                continue
            needs = taken.get(node.name, NOTHING).plus(chunk)
            if has_room(node, needs, job.is_exclusive, span, holds):
                taken[node.name] = needs
                hosts.add(host)
                break
        else:
            return None
    return taken


# --- cycle hours


NEVER_S = 1 << 50
"""Later than anything."""


def latest_end_s(queue: str, second: int, site: CycleSite) -> int | None:
    """When a job that starts in a second has to be over by its walltime, None where none of the queue starts then."""
    hours, of_queue = site.hours, next(each.hours for each in site.queues if each.name == queue)
    is_prime = hours.is_prime(second)
    keeps_prime = bool(hours.stays and hours.prime and not (hours.exempts and of_queue in ("", "ded")))
    if second >= hours.ends_s and (hours.dedicated or keeps_prime or of_queue in ("p_", "np_")):
        return None
    if of_queue in ("p_", "np_") and is_prime != (of_queue == "p_"):
        return None
    if hours.dedicated and hours.is_dedicated(second) != (of_queue == "ded"):
        return None
    ends = [NEVER_S]
    if hours.dedicated:
        ends += [each for span in hours.dedicated for each in span if each > second][:1]
    if keeps_prime:
        minutes = _until_change(hours.prime, second % 86_400 // 60)
        ends.append((second // 60 + minutes) * 60 + hours.spill_s[0 if is_prime else 1])
    return min(ends)


@cache
def _until_change(prime: tuple[tuple[int, int], ...], minute: int) -> int:
    """Minutes from a minute of the day to the one in which prime time begins or ends. It is neither never nor always prime time."""
    in_prime = [any(begin <= each % 1440 < end for begin, end in prime) for each in range(minute, minute + 1441)]
    return in_prime.index(not in_prime[0])


def all_openings(site: CycleSite, begin_s: int, end_s: int) -> dict[str, list[int]]:
    """Of each queue, the seconds between two from which on its jobs may start, or may run until another second than before."""
    changes = site.hours.changes(begin_s, end_s)
    return {
        queue.name: [
            second
            for second in changes
            if (latest_s := latest_end_s(queue.name, second, site)) is not None
            and latest_s != latest_end_s(queue.name, second - 1, site)
        ]
        for queue in site.queues
    }


# --- cycle order


_UNKNOWN, _ROOT = "unknown", "root"


def is_blocked(job: CycleJob, running: Iterable[CycleJob], limits: Iterable[CycleLimit]) -> bool:
    """Whether the job would break a limit beside those that run. Jobs in reservations neither count nor are limited."""
    others, limits = [other for other in running if not other.reservation], [one for one in limits if not one.is_soft]
    return any(
        _is_about(limit, job, limits)
        and sum(_amount(limit, each) for each in (job, *others) if _shares_limit(limit, job, each)) > limit.bound
        for limit in limits
    )


def level_of(job: CycleJob, others: Iterable[CycleJob], site: CycleSite) -> int:
    """The place of its level in preempt_prio, 0 for the highest one. others: what runs beside it, or would, when it runs."""
    settings, others = site.settings, [other for other in others if not other.reservation]
    soft = [limit for limit in site.limits if limit.is_soft]
    reasons = {"express_queue"} if is_express(job, site) else set()
    for limit in soft if settings.preempts and not job.reservation else ():
        held = sum(_amount(limit, each) for each in (job, *others) if _shares_limit(limit, job, each))
        if _is_about(limit, job, soft) and held > limit.bound:
            reasons.add("queue_softlimits" if limit.owner else "server_softlimits")
    names = [words for words in settings.levels if words != ("normal_jobs",)]
    level = next((words for words in names if set(words) <= reasons), ("normal_jobs",))
    return [*settings.levels, ("normal_jobs",)].index(level)


def _is_about(limit: CycleLimit, job: CycleJob, limits: list[CycleLimit]) -> bool:
    """A limit for everybody leaves out those who have one of their own."""
    if limit.owner not in ("", job.queue):
        return False
    if limit.each == "all":
        return True
    name = getattr(job, limit.each)
    if limit.who:
        return bool(limit.who == name)
    same = (limit.owner, limit.each, name, limit.resource)
    return not any((other.owner, other.each, other.who, other.resource) == same for other in limits)


def _shares_limit(limit: CycleLimit, job: CycleJob, other: CycleJob) -> bool:
    """Whether both count together."""
    if limit.owner not in ("", other.queue):
        return False
    return limit.each == "all" or getattr(job, limit.each) == getattr(other, limit.each)


def _amount(limit: CycleLimit, job: CycleJob) -> int:
    return int(getattr(job.asks, limit.resource)) if limit.resource else 1


class CycleUsage:
    """Usage of the fair-share tree: of entities and of the groups above them, 1 at first and at least."""

    def __init__(self, shares: CycleShares) -> None:
        self.shares = shares
        self.usage: dict[str, float] = {}
        self.of_pass: dict[str, float] = {}
        self.next_decay_s = shares.began_s + shares.decay_s
        for entity, amount in shares.usage.items():
            self.add(entity, amount - 1)

    def path(self, entity: str) -> list[str]:
        """From below the root to the entity. Entities that the tree lacks are in the group `unknown`."""
        if entity not in self.shares.tree:
            return [_UNKNOWN, entity]
        names = [entity]
        while (parent := self.shares.tree[names[0]][0]) != _ROOT:
            names.insert(0, parent)
        return names

    def add(self, entity: str, amount: float) -> None:
        for name in self.path(entity):
            self.usage[name] = self.usage.get(name, 1.0) + amount

    def add_for_this_pass(self, entity: str, amount: float) -> None:
        for name in self.path(entity):
            self.of_pass[name] = self.of_pass.get(name, 0.0) + amount

    def decay_until(self, now_s: int) -> None:
        while now_s >= self.next_decay_s:
            self.usage = {name: max(1.0, amount * self.shares.decay_factor) for name, amount in self.usage.items()}
            self.next_decay_s += self.shares.decay_s

    def compare(self, first: str, second: str) -> int:
        """Negative where `first` comes first: at the first level where both differ, the smaller usage by share."""
        for mine, other in zip(self.path(first), self.path(second), strict=False):
            if mine != other:
                difference = self._by_share(mine) - self._by_share(other)
                return (difference > 0) - (difference < 0)
        return 0

    def _by_share(self, name: str) -> float:
        shares = self.shares.unknown_shares if name == _UNKNOWN else self.shares.tree.get(name, (_UNKNOWN, 1))[1]
        return (self.usage.get(name, 1.0) + self.of_pass.get(name, 0.0)) / shares if shares else float("inf")


@dataclass(frozen=True)
class CycleCandidate:
    """A job that may start now, or go on. rank: its place in the order of submission. preempted_at_s: None if it was not. level: of
    preemption, the highest is 0."""

    job: CycleJob
    rank: int
    eligible_s: int
    preempted_at_s: int | None = None
    level: int = 0


def is_express(job: CycleJob, site: CycleSite) -> bool:
    return (
        site.settings.preempts
        and not job.reservation
        and any(queue.name == job.queue and queue.priority >= EXPRESS_PRIORITY for queue in site.queues)
    )


def comes_before(first: CycleCandidate, second: CycleCandidate, site: CycleSite, usage: CycleUsage | None) -> int:
    """Negative where `first` is considered before `second`."""
    keys = _first_keys(first, site), _first_keys(second, site)
    if keys[0] != keys[1]:
        return -1 if keys[0] < keys[1] else 1
    if usage and (order := usage.compare(first.job.user, second.job.user)):
        return order
    sign = -1 if site.settings.widest_first else 0
    last = (sign * first.job.asks.ncpus, first.rank), (sign * second.job.asks.ncpus, second.rank)
    return -1 if last[0] < last[1] else 1


def _first_keys(candidate: CycleCandidate, site: CycleSite) -> tuple[float, ...]:
    """Reservation, preemption level, suspension, queue and formula, the smallest first."""
    job, settings, preempted_at_s = candidate.job, site.settings, candidate.preempted_at_s
    place, queue = next((k, queue) for k, queue in enumerate(site.queues) if queue.name == job.queue or job.reservation)
    return (
        0 if job.reservation else 1,
        candidate.level,
        float("inf") if preempted_at_s is None else preempted_at_s,
        *((-queue.priority, place) if settings.by_queue else ()),
        -settings.formula.value(job, candidate.eligible_s) if settings.formula else 0.0,
    )
