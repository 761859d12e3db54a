"""The cluster that the product identifies from a planted log, and what it says of changes.

Are hidden rules found? Identified rules against planted ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from models.identification.identify import Identification, identify_rules
from models.identification.logged_jobs import Holders, StartedJobs
from models.identification.replaying import RuledCluster
from models.identification.rules import (
    BACKFILL,
    BOUNDARY,
    HOURS,
    LIMIT_KINDS,
    ORDER,
    SIZE,
    Bound,
    Edge,
    IdentifiedRule,
)
from models.judging.machine import SizeOverTime
from models.waits.clock import DAY_S
from simulator.policies.registry import parse_policy
from studies.planted.clusters import PlantedCluster, Workload
from studies.planted.effects import BACKFILLING, MORE, RAISED, ClusterChange, Predictor, more_procs, raised
from studies.planted.effects import ORDER as ANOTHER_ORDER
from studies.planted.planting import CLASSES, LIMIT, NONE, RESERVED, RESOURCES, SHARES, SIZES, PlantedLog
from studies.planted.planting import HOURS as PLANTED_HOURS
from traces.cluster.accounts import Limit
from traces.cluster.description import AdvanceReservation, Gate

HOLDERS = {"user": "user_name", "account": "account", "group": "group_name", "queue": "queue"}
LIFTED_KINDS = {PLANTED_HOURS: (HOURS,), RESERVED: (BOUNDARY, HOURS), CLASSES: LIMIT_KINDS}
"""By the kind of rule that an operator lifts: what was identified in its place."""


def log_of(planted: PlantedLog) -> StartedJobs:
    """What the product is shown of a planted cluster."""
    workload = planted.workload
    return StartedJobs(
        workload.jobs,
        planted.start,
        {name: _holders(workload.rows[column]) for name, column in HOLDERS.items()},
        workload.zero_s,
        workload.time_zone,
    )


def _holders(column: pl.Series) -> Holders:
    names = column.unique().sort().to_list()
    return Holders((column.rank("dense").cast(pl.Int64) - 1).to_numpy(), tuple(names))


def identified(planted: PlantedLog) -> tuple[Identification, Predictor]:
    """What the product makes of the log, and what its replays say of changes."""
    log = log_of(planted)
    identification = identify_rules(log, planted.workload.procs)
    cluster = identification.cluster

    def predictor(change: ClusterChange | None) -> object:
        try:
            return (cluster if change is None else changed_cluster(cluster, change)).waits(log)
        except ValueError:  # the scheduler has no such rule
            return None

    return identification, predictor  # type: ignore[return-value]


def changed_cluster(cluster: RuledCluster, change: ClusterChange) -> RuledCluster:
    """An identified cluster with a change that an operator makes."""
    rules = cluster.rules
    if change.name == MORE:
        sizes = [replace(rule, bounds=_bounds(rule, more_procs)) if rule.kind == SIZE else rule for rule in rules]
        return RuledCluster(more_procs(cluster.procs), tuple(sizes))
    if change.name == RAISED and change.value == LIMIT:
        relaxed = [
            replace(rule, value=raised(rule.value), bounds=_bounds(rule, raised)) if rule.kind in LIMIT_KINDS else rule
            for rule in rules
        ]
        return replace(cluster, rules=tuple(relaxed))
    if change.name == RAISED:
        return replace(cluster, rules=tuple(rule for rule in rules if rule.kind not in LIFTED_KINDS[change.value]))
    kind = {ANOTHER_ORDER: ORDER, BACKFILLING: BACKFILL}[change.name]
    kept = tuple(rule for rule in rules if rule.kind != kind)
    return replace(cluster, rules=(*kept, IdentifiedRule(kind, "all", word=change.value)))


def _bounds(rule: IdentifiedRule, more) -> tuple[Bound, ...]:  # type: ignore[no-untyped-def]
    return tuple(replace(bound, value=None if bound.value is None else more(bound.value)) for bound in rule.bounds)


def cluster_of(identification: Identification, workload: Workload) -> PlantedCluster:
    """The rules in the form of planted ones, to be compared with them. Of bounds that change over time the last one counts."""
    rules = identification.rules
    words = {rule.kind: rule.word for rule in rules if rule.kind in (ORDER, BACKFILL)}
    sizes = [rule for rule in rules if rule.kind == SIZE and len(rule.bounds) > 1]
    cluster = PlantedCluster(
        identification.procs,
        words.get(ORDER, identification.policy),
        words.get(BACKFILL, identification.backfill),
        limits=tuple(limit for rule in rules if rule.kind in LIMIT_KINDS for limit in _limits(rule, workload)),
        gates=tuple(rule.gate for rule in rules if rule.kind == HOURS and rule.gate is not None),
        reservations=tuple(_reservation(edge, workload) for rule in rules for edge in rule.edges),
    )
    if not sizes:
        return cluster
    procs = tuple(identification.procs if bound.value is None else bound.value for bound in sizes[0].bounds)
    ends = tuple(bound.since_s for bound in sizes[0].bounds[1:])
    return replace(cluster, sizes=SizeOverTime(procs, ends))


def _reservation(edge: Edge, workload: Workload) -> AdvanceReservation:
    """A second of the week, or hours, in which nothing runs."""
    zone = ZoneInfo(edge.timezone)
    moment = datetime.fromtimestamp(workload.zero_s, UTC).astimezone(zone).replace(hour=0, minute=0, second=0)
    moment += timedelta(days=(edge.days[0] - moment.weekday()) % 7, minutes=edge.minute)
    begin_s = int(moment.timestamp())
    repeats = "weekly" if len(edge.days) == 1 else "daily"
    end_s = begin_s + max(edge.minutes * 60, 1)
    return AdvanceReservation("boundary", begin_s, end_s, repeats=repeats, timezone=edge.timezone)


def _limits(rule: IdentifiedRule, workload: Workload) -> list[Limit]:
    counts, resource = RESOURCES[rule.kind]
    queues = workload.rows["queue"].unique().sort().to_list()
    bounds = [(rule.holder, rule.value)]
    if rule.bounds:
        last = {bound.holder: bound.value for bound in sorted(rule.bounds, key=lambda bound: bound.since_s)}
        bounds = [(holder, value) for holder, value in last.items() if value is not None]
        bounds += [("", rule.value)] if rule.value else []
    if rule.scope == "queue":
        named = [(queue, value) for holder, value in bounds for queue in ([holder] if holder else queues)]
        return [Limit("partition", queue, counts, "all", resource, value) for queue, value in named]
    owner = ("partition", rule.queue) if rule.queue else ("cluster", "")
    return [Limit(*owner, counts, rule.scope, resource, value, who=holder) for holder, value in bounds]


# --- recovery


NEAR = 0.1
"""A value is right within a tenth."""
NEAR_MINUTES, DAY_MINUTES, WEEK_S = 60, 1440, 7 * 86_400
STOPPED_ALIKE = 0.95
"""Share of the jobs that two gates must treat alike, and share of the time in which two sizes must be near."""
OWN_BOUNDS_ALIKE = 2 / 3
STEPS = 200
Signature = tuple[str, str, str]


@dataclass(frozen=True)
class RecoveryScore:
    """kind: whether an identified rule is of the planted kind. value: whether its value is near too. surplus: identified rules of other
    kinds, in words. Orders and backfilling rules are none: every log has some."""

    kind: bool
    value: bool
    surplus: tuple[str, ...]


def recovery_of(planted: PlantedLog, identified: PlantedCluster) -> RecoveryScore:
    """How well the rule of a planted cluster was recovered. Without a rule, kind and value are right where nothing is claimed."""
    ours, theirs = signatures(planted.cluster), signatures(identified)
    surplus = {each for each in theirs - ours if each[0] != SHARES}
    if planted.kind == NONE:
        return RecoveryScore(not surplus, not surplus, _words(surplus))
    kind = bool(ours) and ours <= theirs
    value = kind and _is_near(planted, identified)
    if planted.kind == RESERVED and not value:
        kind, value, surplus = _as_hours(planted, identified, surplus)
    if planted.kind == CLASSES and not kind:
        by_queue = {limit.owner_name: limit.bound for limit in identified.limits if _scope(limit) == "queue"}
        kind = bool(by_queue) and by_queue.keys() <= dict(planted.cluster.partitions).keys()
        value = kind and _owned_alike(dict(planted.cluster.partitions), by_queue)
        surplus = surplus - {(LIMIT, "running cpu", "queue")} if kind else surplus
    return RecoveryScore(kind, value, _words(surplus))


def _words(surplus: set[Signature]) -> tuple[str, ...]:
    return tuple(sorted(" ".join(each).strip() for each in surplus))


def signatures(cluster: PlantedCluster) -> set[Signature]:
    """The kinds of rules of a cluster: kind, what a limit counts, and whose jobs together. Groups and accounts are the same here."""
    kinds = {(LIMIT, f"{limit.counts} {limit.resource}", _scope(limit)) for limit in cluster.limits}
    others = (
        (PLANTED_HOURS, cluster.gates),
        (RESERVED, cluster.reservations),
        (CLASSES, cluster.partitions),
        (SIZES, cluster.sizes),
    )
    kinds |= {(kind, "", "") for kind, has in others if has}
    return kinds | ({(SHARES, "", "")} if half_life_days(cluster.policy) else set())


def half_life_days(policy: str) -> float | None:
    """Of an order that looks at what users have used, None for others."""
    if not policy.startswith(("fairshare", "multifactor")):
        return None
    parsed = parse_policy(policy)
    has_weight = policy.startswith("fairshare") or "fairshare=0," not in f"{policy},"
    return parsed.half_life_s / DAY_S if has_weight else None


def _scope(limit: Limit) -> str:
    if limit.owner == "partition" and limit.each == "all":
        return "queue"
    return "account" if limit.each == "group" else limit.each


def _is_near(planted: PlantedLog, identified: PlantedCluster) -> bool:
    hidden, workload = planted.cluster, planted.workload
    if planted.kind == LIMIT:
        return _bounds_near(hidden.limits, identified.limits)
    if planted.kind == PLANTED_HOURS:
        return any(_gates_alike(hidden.gates[0], gate, workload) for gate in identified.gates)
    if planted.kind == SHARES:
        ours_days, theirs_days = half_life_days(hidden.policy), half_life_days(identified.policy)
        return ours_days is not None and theirs_days is not None and _near(ours_days, theirs_days)
    if planted.kind == CLASSES:
        return _owned_alike(dict(hidden.partitions), dict(identified.partitions))
    if planted.kind == SIZES:
        return _sizes_alike(hidden, identified, workload)
    ours, theirs = hidden.reservations[0], identified.reservations[0]
    ends = (abs(ours.begin_s - theirs.begin_s), abs(ours.end_s - theirs.end_s))
    return ours.repeats == theirs.repeats and max(ends) <= NEAR_MINUTES * 60


def _near(value: float, other: float) -> bool:
    return abs(other - value) <= NEAR * value


def _bounds_near(hidden: tuple[Limit, ...], identified: tuple[Limit, ...]) -> bool:
    """Whether most bounds are near. A limit of one holder is compared with the identified one that holds for them."""
    right = []
    for limit in hidden:
        same = [
            each
            for each in identified
            if (each.counts, each.resource, _scope(each)) == (limit.counts, limit.resource, _scope(limit))
            and (_scope(limit) != "queue" or each.owner_name == limit.owner_name)
        ]
        own = [each for each in same if each.who == limit.who] or [each for each in same if not each.who]
        own = own or (same if not limit.who else [])
        right.append(bool(own) and _near(limit.bound, float(np.median([each.bound for each in own]))))
    return float(np.mean(right)) >= OWN_BOUNDS_ALIKE


def _gates_alike(hidden: Gate, identified: Gate, workload: Workload) -> bool:
    pairs = ((hidden.begin_minute, identified.begin_minute), (hidden.end_minute, identified.end_minute))
    apart = max(min((a - b) % DAY_MINUTES, (b - a) % DAY_MINUTES) for a, b in pairs)
    stopped = [_stops(gate, workload) for gate in (hidden, identified)]
    return apart <= NEAR_MINUTES and float((stopped[0] == stopped[1]).mean()) >= STOPPED_ALIKE


def _stops(gate: Gate, workload: Workload) -> np.ndarray:
    jobs = workload.jobs
    stops = np.ones(len(jobs), dtype=np.bool_)
    if gate.over_time_s is not None:
        stops &= jobs.limit > gate.over_time_s
    if gate.over_cpus is not None:
        stops &= jobs.procs > gate.over_cpus
    return stops & (workload.rows["queue"].to_numpy() == gate.partition) if gate.partition else stops


def _owned_alike(hidden: dict[str, int], identified: dict[str, int]) -> bool:
    return all(_near(hidden[queue], procs) for queue, procs in identified.items() if queue in hidden)


def _sizes_alike(hidden: PlantedCluster, identified: PlantedCluster, workload: Workload) -> bool:
    """Whether the sizes are near most of the time."""
    times = np.linspace(*workload.span, STEPS)
    sizes = []
    for cluster in (hidden, identified):
        assert cluster.sizes is not None
        sizes.append(np.array(cluster.sizes.procs)[np.searchsorted(cluster.sizes.ends, times, side="right")])
    return float((np.abs(sizes[0] - sizes[1]) <= NEAR * sizes[0]).mean()) >= STOPPED_ALIKE


def _as_hours(
    planted: PlantedLog, identified: PlantedCluster, surplus: set[Signature]
) -> tuple[bool, bool, set[Signature]]:
    """A weekly reservation of all nodes may come out as a moment of the week past which nothing runs, or as hours in which nothing starts.
    Its value is right where begin and length are."""
    ours = planted.cluster.reservations[0]
    weekly = [each for each in identified.reservations if each.repeats == "weekly"]
    gates = [gate for gate in identified.gates if gate.over_time_s is None and gate.over_cpus is None]
    lengths = [((gate.end_minute - gate.begin_minute) % DAY_MINUTES) * 60 for gate in gates if len(gate.days) == 1]
    is_near = [abs(length - (ours.end_s - ours.begin_s)) <= NEAR_MINUTES * 60 for length in lengths]
    begins = [min((each.begin_s - ours.begin_s) % WEEK_S, (ours.begin_s - each.begin_s) % WEEK_S) for each in weekly]
    ends = [abs((each.end_s - each.begin_s) - (ours.end_s - ours.begin_s)) for each in weekly]
    right = any(max(pair) <= NEAR_MINUTES * 60 for pair in zip(begins, ends, strict=True))
    kind = any(is_near) or any(begin <= NEAR_MINUTES * 60 for begin in begins)
    return kind, right, surplus - {(PLANTED_HOURS, "", "")} if gates else surplus
