"""What an operator might change on a planted cluster, and on the one that was identified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from studies.planted.clusters import ORDERS, PBS, SLURM, RuledCluster
from studies.planted.planting import CLASSES, HOURS, LIMIT, RESERVED, SHARES, PlantedLog
from studies.planted.workloads import CORES

MORE, RAISED, ORDER, BACKFILLING = "20 % more nodes", "rule relaxed", "another order", "another backfilling"
MORE_SHARE, RAISED_SHARE = 1.2, 1.5
OTHER_BACKFILLING = {"none": "easy", "easy": "any"}
"""The others change to EASY."""
LONG_HALF_LIFE = "fairshare:half_life_days=28"
RELAXABLE = (LIMIT, HOURS, RESERVED, CLASSES)
"""Kinds of rules that can be relaxed, or lifted."""


@dataclass(frozen=True)
class ClusterChange:
    """name: one of the four above. value: the order or the backfilling rule that it brings."""

    name: str
    value: str = ""

    def on(self, cluster: RuledCluster) -> RuledCluster:
        """The changed cluster. Limits are raised by half. Hours, reservations and queues that own nodes are lifted."""
        if self.name == MORE:
            sizes = cluster.sizes
            if sizes is not None:
                sizes = replace(sizes, procs=tuple(_more(procs) for procs in sizes.procs))
            partitions = tuple((queue, _more(procs)) for queue, procs in cluster.partitions)
            procs = sum(procs for _, procs in partitions) if partitions else _more(cluster.procs)
            procs = procs if sizes is None else sizes.most
            return replace(cluster, procs=procs, sizes=sizes, partitions=partitions)
        if self.name == RAISED:
            limits = tuple(replace(limit, bound=int(limit.bound * RAISED_SHARE + 0.5)) for limit in cluster.limits)
            return replace(cluster, limits=limits, gates=(), reservations=(), partitions=())
        if self.name == ORDER:
            return replace(cluster, policy=self.value)
        return replace(cluster, backfill=self.value)


def changes_of(planted: PlantedLog) -> Iterator[ClusterChange]:
    """The changes that are tried on a planted cluster."""
    cluster = planted.cluster
    yield ClusterChange(MORE)
    if planted.kind in RELAXABLE:
        yield ClusterChange(RAISED)
    if planted.kind == SHARES:
        yield ClusterChange(ORDER, LONG_HALF_LIFE)
    elif cluster.engine == SLURM:
        yield ClusterChange(ORDER, "fairshare:half_life_days=7")
    elif cluster.engine == ORDERS:
        yield ClusterChange(ORDER, "SAF" if cluster.policy == "FCFS" else "FCFS")
    if cluster.engine not in (SLURM, PBS):
        yield ClusterChange(BACKFILLING, OTHER_BACKFILLING.get(cluster.backfill, "easy"))


def _more(procs: int) -> int:
    return max(round(procs * MORE_SHARE / CORES), procs // CORES + 1) * CORES
