"""The cluster that the product identifies from a planted log, in the form of the planted one."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from models.identification.identify import Identification, identify_rules
from models.identification.logged_jobs import Holders, LoggedJobs
from models.identification.rules import BACKFILL, HOURS, LIMIT_KINDS, ORDER, SIZE, IdentifiedRule
from models.judging.size_over_time import SizeOverTime
from studies.planted.clusters import RuledCluster
from studies.planted.planting import RESOURCES, PlantedLog
from studies.planted.workloads import Workload
from traces.cluster.accounts import Limit

HOLDERS = {"user": "user_name", "account": "account", "group": "group_name", "queue": "queue"}


def log_of(planted: PlantedLog) -> LoggedJobs:
    """What the product is shown of a planted cluster."""
    workload = planted.workload
    return LoggedJobs(
        workload.jobs,
        planted.start,
        {name: _holders(workload.rows[column]) for name, column in HOLDERS.items()},
        workload.zero_s,
        workload.time_zone,
    )


def _holders(column: pl.Series) -> Holders:
    names = column.unique().sort().to_list()
    return Holders((column.rank("dense").cast(pl.Int64) - 1).to_numpy(), tuple(names))


def identified_cluster(planted: PlantedLog) -> tuple[RuledCluster, Identification]:
    """What the product makes of the log, and the cluster in the form of the planted ones."""
    identification = identify_rules(log_of(planted), planted.workload.procs)
    return cluster_of(identification, planted.workload), identification


def cluster_of(identification: Identification, workload: Workload) -> RuledCluster:
    """The rules as replays of this study take them. A bound that changes over time is the last one."""
    words = {rule.kind: rule.word for rule in identification.rules if rule.kind in (ORDER, BACKFILL)}
    cluster = RuledCluster(
        identification.procs,
        words.get(ORDER, identification.policy),
        words.get(BACKFILL, identification.backfill),
        gates=tuple(rule.gate for rule in identification.rules if rule.kind == HOURS and rule.gate is not None),
    )
    last = [rule for rule in identification.rules if rule.until_s is None]
    limits = [limit for rule in last if rule.kind in LIMIT_KINDS for limit in _limits(rule, workload)]
    sizes = sorted((rule.since_s or 0, rule) for rule in identification.rules if rule.kind == SIZE and not rule.queue)
    owned = tuple((rule.queue, rule.value) for rule in last if rule.kind == SIZE and rule.queue)
    cluster = replace(cluster, limits=tuple(limits), partitions=owned)
    if len(sizes) < 2:
        return cluster
    over_time = SizeOverTime(tuple(rule.value for _, rule in sizes), tuple(since for since, _ in sizes[1:]))
    return replace(cluster, procs=over_time.most, sizes=over_time)


def _limits(rule: IdentifiedRule, workload: Workload) -> list[Limit]:
    counts, resource = RESOURCES[rule.kind]
    owner = ("partition", rule.queue) if rule.queue else ("cluster", "")
    if rule.scope != "queue":
        return [Limit(*owner, counts, rule.scope, resource, rule.value, who=rule.holder)]
    queues = [rule.holder] if rule.holder else workload.rows["queue"].unique().sort().to_list()
    return [Limit("partition", queue, counts, "all", resource, rule.value) for queue in queues]
