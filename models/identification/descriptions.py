"""Rules as parts of a cluster's description, and what a description declares as rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from models.identification.logged_jobs import StartedJobs
from models.identification.replaying import BOUNDARY_S
from models.identification.rules import (
    BOUNDARY,
    HOURS,
    LIMIT_KINDS,
    OUTSTANDING_CPU,
    RUNNING_CPU,
    RUNNING_JOBS,
    Edge,
    IdentifiedRule,
)
from simulator.limits.hours import wall_clock
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.reservations import AdvanceReservation, Gate

LIMIT_WORDS = {
    RUNNING_JOBS: ("running", "jobs"),
    RUNNING_CPU: ("running", "cpu"),
    OUTSTANDING_CPU: ("outstanding", "cpu"),
}
"""What a kind of limit counts, and of what resource, in the words of the cluster file."""
_REPEATS = {(0, 1, 2, 3, 4): "weekday", (5, 6): "weekend", (0, 1, 2, 3, 4, 5, 6): "daily"}
"""Of more than one day."""


@dataclass(frozen=True)
class DescribedRules:
    """Rules as a cluster file has them, with the origin `found`. left_out: rules that no cluster file can have, such as an order."""

    limits: tuple[Limit, ...]
    gates: tuple[Gate, ...]
    reservations: tuple[AdvanceReservation, ...]
    left_out: tuple[IdentifiedRule, ...]


def described_rules(rules: Iterable[IdentifiedRule], zero_s: int, begin_s: int) -> DescribedRules:
    """zero_s: UTC second of the log's second 0. begin_s: second of its clock at which it begins."""
    listed = tuple(rules)
    limits = [limit for rule in listed if rule.kind in LIMIT_KINDS for limit in _limits(rule, zero_s)]
    gates = [_found_gate(rule.gate) for rule in listed if rule.kind == HOURS and rule.gate is not None]
    edges = [edge for rule in listed if rule.kind == BOUNDARY for edge in rule.edges]
    left_out = [rule for rule in listed if rule.kind not in (*LIMIT_KINDS, HOURS, BOUNDARY)]
    reservations = tuple(_reservation(edge, zero_s + begin_s) for edge in edges)
    return DescribedRules(tuple(limits), tuple(gates), reservations, tuple(left_out))


def _limits(rule: IdentifiedRule, zero_s: int) -> Iterator[Limit]:
    counts, resource = LIMIT_WORDS[rule.kind]
    owner, name = ("partition", rule.queue) if rule.queue else ("cluster", "")
    each = rule.scope
    if rule.scope == "queue":
        yield from _queue_limits(rule, zero_s)
        return
    if rule.value:
        yield Limit(owner, name, counts, each, resource, rule.value, rule.holder, source=rule.sentence, origin=FOUND)
    for holder in dict.fromkeys(bound.holder for bound in rule.bounds):
        for begin_s, end_s, value in _spans(rule, holder, zero_s):
            yield Limit(owner, name, counts, each, resource, value, holder, begin_s=begin_s, end_s=end_s, origin=FOUND)


def _queue_limits(rule: IdentifiedRule, zero_s: int) -> Iterator[Limit]:
    """Of one queue each; a common bound of all queues is not among them."""
    counts, resource = LIMIT_WORDS[rule.kind]
    for holder in dict.fromkeys(bound.holder for bound in rule.bounds):
        for begin_s, end_s, value in _spans(rule, holder, zero_s):
            yield Limit("partition", holder, counts, "all", resource, value, begin_s=begin_s, end_s=end_s, origin=FOUND)


def _spans(rule: IdentifiedRule, holder: str, zero_s: int) -> Iterator[tuple[int | None, int | None, int]]:
    """UTC seconds from which to before which each bound of a holder holds. A bound that never changes holds always."""
    own = [bound for bound in rule.bounds if bound.holder == holder]
    changes = len({bound.since_s for bound in rule.bounds}) > 1
    for place, bound in enumerate(own):
        end = own[place + 1].since_s + zero_s if place + 1 < len(own) else None
        if bound.value is not None:
            yield (bound.since_s + zero_s if changes else None), end, bound.value


def _found_gate(gate: Gate) -> Gate:
    times = (gate.begin_minute, gate.end_minute, gate.over_time_s, gate.over_cpus)
    return Gate(gate.days, *times, gate.partition, gate.timezone, FOUND)


def _reservation(edge: Edge, begin_s: int) -> AdvanceReservation:
    """Of all processors, on each of the edge's days."""
    import numpy as np

    minutes = np.arange(begin_s // 60, begin_s // 60 + 8 * 1440, dtype=np.int64) * 60
    minute, day = wall_clock(minutes, edge.timezone)
    first = int(minutes[(minute == edge.minute) & np.isin(day, edge.days)][0])
    name = f"{'closed' if edge.minutes else 'boundary'}-{edge.minute // 60:02d}{edge.minute % 60:02d}"
    repeats = "weekly" if len(edge.days) == 1 else _REPEATS[edge.days]
    end_s = first + max(edge.minutes * 60, BOUNDARY_S)
    return AdvanceReservation(name, first, end_s, repeats=repeats, timezone=edge.timezone, origin=FOUND)


def declared_rules(cluster: ClusterDescription, log: StartedJobs) -> list[IdentifiedRule]:
    """Limits and gates that a cluster declares, as rules that are taken and not searched. Those of names that the log does not have, of
    associations and of qualities of service are not among them."""
    made = [rule for limit in cluster.limits if not limit.is_soft for rule in _declared_limit(limit, log)]
    if log.zero_s is not None:
        made += [
            IdentifiedRule(HOURS, "queue" if gate.partition else "all", gate=gate, origin="declared")
            for gate in cluster.gates
            if not gate.partition or _has(log, "queue", gate.partition)
        ]
    return made


def _declared_limit(limit: Limit, log: StartedJobs) -> Iterator[IdentifiedRule]:
    kinds = {words: kind for kind, words in LIMIT_WORDS.items()}
    kind = kinds.get((limit.counts, limit.resource))
    if kind is None or limit.is_least or limit.begin_s is not None or limit.end_s is not None:
        return
    scope, holder, queue = limit.each, limit.who, ""
    if limit.owner == "partition":
        queue = limit.owner_name
    elif limit.owner in ("user", "account") and "/" not in limit.owner_name and limit.each == "all":
        scope, holder = limit.owner, limit.owner_name
    elif limit.owner != "cluster":
        return
    in_log = (scope == "all" or scope in log.holders) and (not holder or _has(log, scope, holder))
    if in_log and (not queue or _has(log, "queue", queue)):
        yield IdentifiedRule(kind, scope, limit.bound, holder, queue, origin="declared")


def _has(log: StartedJobs, scope: str, name: str) -> bool:
    return scope in log.holders and name in log.holders[scope].names
