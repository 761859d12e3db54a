"""The cluster that the product identifies from a planted log, and what it says of changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

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
from studies.planted.changes import BACKFILLING, MORE, RAISED, ClusterChange, more_procs, raised
from studies.planted.changes import ORDER as ANOTHER_ORDER
from studies.planted.clusters import PlantedCluster
from studies.planted.effects import Predictor
from studies.planted.planting import CLASSES, LIMIT, RESERVED, RESOURCES, PlantedLog
from studies.planted.planting import HOURS as PLANTED_HOURS
from studies.planted.workloads import Workload
from traces.cluster.accounts import Limit
from traces.cluster.reservations import AdvanceReservation

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
