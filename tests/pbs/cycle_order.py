"""In which order the oracle of PBS's cycle considers jobs, and which of them a limit blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.pbs.cycle_types import EXPRESS_PRIORITY, CycleJob, CycleLimit, CycleShares, CycleSite

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
