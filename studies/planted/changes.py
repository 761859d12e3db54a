"""What an operator might change on a planted cluster, and on the one that was identified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from studies.planted.clusters import ORDERS, PBS, SLURM, PlantedCluster
from studies.planted.planting import CLASSES, HOURS, LIMIT, RESERVED, SHARES, PlantedLog
from studies.planted.workloads import CORES

MORE, RAISED, ORDER, BACKFILLING = "20 % more nodes", "rule relaxed", "another order", "another backfilling"
MORE_SHARE, RAISED_SHARE = 1.2, 1.5
OTHER_BACKFILLING = {"none": "easy", "easy": "any"}
"""The others change to EASY."""
LONG_HALF_LIFE = "fairshare:half_life_days=28"
LIFTED = {HOURS: "gates", RESERVED: "reservations", CLASSES: "partitions"}
"""Kinds of rules that can be lifted. Limits are raised."""


@dataclass(frozen=True)
class ClusterChange:
    """name: one of the four above. value: the order or the backfilling rule that it brings, or the kind of rule that is relaxed."""

    name: str
    value: str = ""

    def on(self, cluster: PlantedCluster) -> PlantedCluster:
        """The changed cluster. Limits are raised by half. Hours, reservations and queues that own nodes are lifted."""
        if self.name == MORE:
            sizes = cluster.sizes
            if sizes is not None:
                sizes = replace(sizes, procs=tuple(more_procs(procs) for procs in sizes.procs))
            partitions = tuple((queue, more_procs(procs)) for queue, procs in cluster.partitions)
            procs = sum(procs for _, procs in partitions) if partitions else more_procs(cluster.procs)
            procs = procs if sizes is None else sizes.most
            return replace(cluster, procs=procs, sizes=sizes, partitions=partitions)
        if self.name == RAISED:
            return replace(cluster, **self._relaxed(cluster))
        if self.name == ORDER:
            return replace(cluster, policy=self.value)
        return replace(cluster, backfill=self.value)

    def _relaxed(self, cluster: PlantedCluster) -> dict[str, Any]:
        if self.value == LIMIT:
            return {"limits": tuple(replace(limit, bound=raised(limit.bound)) for limit in cluster.limits)}
        return {LIFTED[self.value]: ()}


def changes_of(planted: PlantedLog) -> Iterator[ClusterChange]:
    """The changes that are tried on a planted cluster."""
    cluster = planted.cluster
    yield ClusterChange(MORE)
    if planted.kind == LIMIT or planted.kind in LIFTED:
        yield ClusterChange(RAISED, planted.kind)
    if planted.kind == SHARES:
        yield ClusterChange(ORDER, LONG_HALF_LIFE)
    elif cluster.engine == SLURM:
        yield ClusterChange(ORDER, "fairshare:half_life_days=7")
    elif cluster.engine == ORDERS:
        yield ClusterChange(ORDER, "SAF" if cluster.policy == "FCFS" else "FCFS")
    if cluster.engine not in (SLURM, PBS):
        yield ClusterChange(BACKFILLING, OTHER_BACKFILLING.get(cluster.backfill, "easy"))


def raised(bound: int) -> int:
    """The bound of a limit that is relaxed."""
    return int(bound * RAISED_SHARE + 0.5)


def more_procs(procs: int) -> int:
    """Processors of a cluster, or of a part of it, with more nodes."""
    return max(round(procs * MORE_SHARE / CORES), procs // CORES + 1) * CORES
