"""Replays of a log under identified rules.

Rules as parts of a cluster's description, and what a description declares as rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from models.identification.closed_hours import gate_words_of, stopped_by
from models.identification.logged_jobs import StartedJobs
from models.identification.orders import queue_policy
from models.identification.plateaus import holders_of
from models.identification.rules import (
    BACKFILL,
    BOUNDARY,
    CYCLE,
    HOURS,
    LIMIT_KINDS,
    ORDER,
    OUTSTANDING_CPU,
    RUNNING_CPU,
    RUNNING_JOBS,
    SIZE,
    Edge,
    IdentifiedRule,
)
from simulator.engine.replay import NeverStarts, OrderReplayer
from simulator.jobs.cluster import FOREVER, Cluster, Outages
from simulator.jobs.schedule import CANCELLED
from simulator.limits import rules as simulated
from simulator.limits.replaying import LimitedReplayer
from simulator.limits.rules import BOUNDLESS, NO_KEY, JobLimit, StartGate, gate_changes, wall_clock
from simulator.limits.shares import ShareTree
from simulator.policies.registry import Policy
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate

IntArray = NDArray[np.int64]

SIMULATED_COUNTS = {
    RUNNING_JOBS: simulated.RUNNING_JOBS,
    RUNNING_CPU: simulated.RUNNING_PROCS,
    OUTSTANDING_CPU: simulated.OUTSTANDING,
}
DEFAULT_ORDER, DEFAULT_BACKFILL = "FCFS", "easy"
QUEUE_ORDER = "queues:"
"""Beginning of the word of an order in which one queue goes before another."""
FAIRSHARE = "fairshare"
GATES_S = 365 * 86_400
"""How long after the last submission gates come back. Then they are open."""
BOUNDARY_S = 1
"""How long a boundary takes all processors: no job runs past it."""


@dataclass(frozen=True)
class RuledCluster:
    """What replays a log: the processors that it has, and the rules that it is under."""

    procs: int
    rules: tuple[IdentifiedRule, ...] = ()

    @property
    def order(self) -> str:
        """The policy, in the words of --policy."""
        return self._word(ORDER, DEFAULT_ORDER)

    @property
    def backfill(self) -> str:
        """The rule of backfilling."""
        return self._word(BACKFILL, DEFAULT_BACKFILL)

    def _word(self, kind: str, default: str) -> str:
        return next((rule.word for rule in self.rules if rule.kind == kind), default)

    def waits(self, log: StartedJobs) -> IntArray | None:
        """Wait of each job, seconds, int64 (jobs,). None where a job never starts."""
        replayer = LimitedReplayer(
            OrderReplayer(self._policy(log), self.backfill),
            [limit_on_jobs(rule, log) for rule in self.rules if rule.kind in LIMIT_KINDS],
            [start_gate(rule, log) for rule in self.rules if rule.kind == HOURS],
            user_shares(log) if self.order.startswith(FAIRSHARE) else None,
            cycle_s=next((rule.value for rule in self.rules if rule.kind == CYCLE), 0),
        )
        try:
            start = replayer.replay(log.jobs, self._cluster(log)).schedule.start
        except NeverStarts:
            return None
        return None if (start == CANCELLED).any() else start - log.jobs.submit

    def _policy(self, log: StartedJobs) -> str | Policy:
        if self.order.startswith(QUEUE_ORDER):
            return queue_policy(log, self.order.removeprefix(QUEUE_ORDER).split(","))
        return self.order

    def _cluster(self, log: StartedJobs) -> Cluster:
        missing = [rule for rule in self.rules if rule.kind == SIZE]
        edges = [edge for rule in self.rules if rule.kind == BOUNDARY for edge in rule.edges]
        rows = _missing(missing, self.procs) + boundary_rows(edges, log, self.procs)
        if not rows:
            return Cluster(self.procs)
        return Cluster(self.procs, outages=Outages(*np.array(sorted(rows), dtype=np.int64).T))


def limit_on_jobs(rule: IdentifiedRule, log: StartedJobs) -> JobLimit:
    """A limit on the jobs of a log."""
    holders = holders_of(log, rule.scope)
    key = holders.number.copy()
    if rule.queue:
        queues = log.holders["queue"]
        key[queues.number != queues.names.index(rule.queue)] = NO_KEY
    if rule.holder:
        key[key != holders.names.index(rule.holder)] = NO_KEY
    count = max(len(holders.names), 1)
    if not rule.bounds:
        return JobLimit(SIMULATED_COUNTS[rule.kind], rule.value, key)
    number = {name: place for place, name in enumerate(holders.names)}
    changes = [
        (bound.since_s, number[bound.holder], BOUNDLESS if bound.value is None else bound.value)
        for bound in rule.bounds
        if bound.holder in number
    ]
    return JobLimit(
        SIMULATED_COUNTS[rule.kind],
        np.full(count, rule.value or BOUNDLESS),
        key,
        np.array(changes, dtype=np.int64).reshape(-1, 3),
    )


def start_gate(rule: IdentifiedRule, log: StartedJobs) -> StartGate:
    """A gate on the jobs of a log with dates."""
    assert rule.gate is not None and log.zero_s is not None
    gate = rule.gate
    changes = _gate_changes(gate, log.zero_s, int(log.jobs.submit[0]), int(log.jobs.submit[-1]))
    until = int(np.searchsorted(changes, int(log.jobs.submit[-1]) + GATES_S))
    return StartGate(stopped_by(log, gate_words_of(gate)), changes[: until + until % 2])


_gate_changes = lru_cache(1024)(gate_changes)


def boundary_rows(edges: Sequence[Edge], log: StartedJobs, procs: int) -> list[tuple[int, int, int, int]]:
    """Begin, end, processors and announcement of each boundary, from the first to the last start that the log has."""
    if not edges:
        return []
    assert log.zero_s is not None
    early = 2 * int(log.jobs.limit.max(initial=0))
    minutes = np.arange((log.zero_s + int(log.jobs.submit[0])) // 60, (log.zero_s + int(log.start.max())) // 60 + 1)
    half_hours = minutes[minutes % 30 == 0] * 60
    rows = []
    for edge in edges:
        minute, day = wall_clock(half_hours, edge.timezone)
        for second in half_hours[(minute == edge.minute) & np.isin(day, edge.days)].tolist():
            begin = second - log.zero_s
            rows.append((begin, begin + max(edge.minutes * 60, BOUNDARY_S), procs, begin - early))
    return rows


def _missing(sizes: Iterable[IdentifiedRule], procs: int) -> list[tuple[int, int, int, int]]:
    """Begin, end, processors and announcement of what is missing of the largest size."""
    rows = []
    for rule in sizes:
        bounds = [*rule.bounds]
        ends = [bound.since_s for bound in bounds[1:]] + [FOREVER]
        for bound, end in zip(bounds, ends, strict=True):
            if bound.value is not None and bound.value < procs:
                rows.append((bound.since_s, end, procs - bound.value, bound.since_s))
    return rows


def user_shares(log: StartedJobs) -> ShareTree:
    """Equal shares of all users, below those of their accounts where the log has several."""
    floors = [log.holders[scope] for scope in ("account", "user") if scope in log.holders]
    floors = [holders for holders in floors if len(holders.names) > 1]
    columns, count = [], 0
    for holders in floors:
        columns.append(np.where(holders.number < 0, NO_KEY, holders.number + count))
        count += len(holders.names)
    path = np.stack(columns, axis=1) if columns else np.zeros((len(log.jobs), 1), dtype=np.int64)
    return ShareTree(path, np.ones(max(count, 1)))


# --- descriptions


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
    """Rules as a cluster file has them, with the origin `found`. order: as a cluster's scheduler has it. left_out: rules that no cluster
    file can have, such as a size."""

    limits: tuple[Limit, ...]
    gates: tuple[Gate, ...]
    reservations: tuple[AdvanceReservation, ...]
    order: Mapping[str, str | int]
    left_out: tuple[IdentifiedRule, ...]


def described_rules(rules: Iterable[IdentifiedRule], zero_s: int, begin_s: int) -> DescribedRules:
    """zero_s: UTC second of the log's second 0. begin_s: second of its clock at which it begins."""
    listed = tuple(rules)
    limits = [limit for rule in listed if rule.kind in LIMIT_KINDS for limit in _limits(rule, zero_s)]
    gates = [_found_gate(rule.gate) for rule in listed if rule.kind == HOURS and rule.gate is not None]
    edges = [edge for rule in listed if rule.kind == BOUNDARY for edge in rule.edges]
    left_out = [rule for rule in listed if rule.kind not in (*LIMIT_KINDS, HOURS, BOUNDARY) and not _order_word(rule)]
    reservations = tuple(_reservation(edge, zero_s + begin_s) for edge in edges)
    order = {word[0]: word[1] for rule in listed if (word := _order_word(rule))}
    return DescribedRules(tuple(limits), tuple(gates), reservations, order, tuple(left_out))


def _order_word(rule: IdentifiedRule) -> tuple[str, str | int] | None:
    """The rule as a word of a cluster's order, None where it is none."""
    if rule.kind == CYCLE:
        return "cycle_s", rule.value
    if rule.kind == ORDER and not rule.word.startswith(QUEUE_ORDER):
        return "policy", rule.word
    return ("backfill", rule.word) if rule.kind == BACKFILL else None


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
