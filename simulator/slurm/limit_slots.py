"""Which limits hold for which job, as slots. Rules: docs/reference/slurm.md, "Limits".

Limits of the partition's QOS come first, then those of the job's QOS, then those of its association and of all accounts above.
A limit hides the same limit of those that come later. Limits on a group of jobs hold on every floor of the tree of accounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.slurm.limits import (
    CPUS,
    GPUS,
    JOBS,
    MEMORY,
    NODES,
    ONE_JOB,
    OUTSTANDING,
    RUNNING,
    SUBMITTED,
    TIME,
    USED,
)
from simulator.slurm.settings import enforces_limits
from simulator.slurm.state import Limits
from traces.cluster.accounts import ROOT_ACCOUNT, Limit
from traces.cluster.description import ClusterDescription

RESOURCES = {"jobs": JOBS, "nodes": NODES, "cpu": CPUS, "mem": MEMORY, "time": TIME, "gpu": GPUS}
_MODELLED = {"running": RUNNING, "job": ONE_JOB, "used": USED, "outstanding": OUTSTANDING, "submitted": SUBMITTED}


@dataclass
class _Slots:
    """Slots so far. place: of a limit and whose jobs it counts."""

    place: dict[tuple[int, int], int] = field(default_factory=dict)
    resource: list[int] = field(default_factory=list)
    bound: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def of(self, number: int, limit: Limit, resource: int, whose: int) -> int:
        """The slot of a limit and of whose jobs it counts."""
        key = (number, whose)
        if key not in self.place:
            self.place[key] = len(self.bound)
            self.resource.append(resource)
            self.bound.append(limit.bound)
            self.counts.append(_MODELLED[limit.counts])
        return self.place[key]


def limits_of(cluster: ClusterDescription, jobs: Requests, gpu_types: tuple[str, ...]) -> Limits:
    """The limits of a cluster as slots. Those that Slurm does not enforce are left out, and those that are not modelled, which
    `unmodelled_limits` names."""
    return numbered_limits(cluster, jobs, gpu_types)[0]


def numbered_limits(
    cluster: ClusterDescription, jobs: Requests, gpu_types: tuple[str, ...]
) -> tuple[Limits, tuple[int, ...]]:
    """The limits of a cluster as slots, and of each slot the place of its limit in `cluster.limits`."""
    owned: dict[tuple[str, str], list[tuple[int, Limit]]] = {}
    for number, limit in enumerate(cluster.limits):
        if _is_modelled(limit, gpu_types) and enforces_limits(cluster.scheduler):
            owned.setdefault((limit.owner, limit.owner_name), []).append((number, limit))
    slots = _Slots()
    first, entries = [0], []
    chains: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for job in range(len(jobs.submit)):
        columns = (jobs.qos, jobs.account, jobs.member, jobs.user, jobs.partitions[:, 0])
        key = tuple(int(column[job]) for column in columns)
        if key not in chains:
            chains[key] = _entries(cluster, key, owned, slots, gpu_types)
        entries += chains[key]
        first.append(len(entries))
    count = len(slots.bound)
    limits = Limits(
        first=np.array(first, dtype=np.int64),
        slot=np.array([entry[0] for entry in entries], dtype=np.int64),
        checked=np.array([entry[1] for entry in entries], dtype=np.int64),
        resource=np.array(slots.resource, dtype=np.int64),
        bound=np.array(slots.bound, dtype=np.int64),
        counts=np.array(slots.counts, dtype=np.int64),
        used=np.zeros(count, dtype=np.int64),
        past=np.zeros(count),
        elapsed=np.zeros(count, dtype=np.int64),
        counted=np.zeros(1, dtype=np.int64),
    )
    return limits, tuple(number for number, _ in slots.place)


def unmodelled_limits(cluster: ClusterDescription, gpu_types: tuple[str, ...]) -> tuple[Limit, ...]:
    """Limits that Slurm enforces and this replay does not know, such as those on a node of a job."""
    is_enforced = enforces_limits(cluster.scheduler)
    return tuple(limit for limit in cluster.limits if is_enforced and not _is_modelled(limit, gpu_types))


def _is_modelled(limit: Limit, gpu_types: tuple[str, ...]) -> bool:
    """Of submitted jobs only the number is limited."""
    if limit.counts not in _MODELLED or limit.is_least or _resource(limit, gpu_types) is None:
        return False
    return limit.counts != "submitted" or limit.resource == "jobs"


def _resource(limit: Limit, gpu_types: tuple[str, ...]) -> int | None:
    kind, _, name = limit.resource.partition(":")
    if kind == "gpu" and name:
        return GPUS + 1 + gpu_types.index(name) if name in gpu_types else None
    return RESOURCES.get(limit.resource)


def _entries(
    cluster: ClusterDescription,
    key: tuple[int, ...],
    owned: dict[tuple[str, str], list[tuple[int, Limit]]],
    slots: _Slots,
    gpu_types: tuple[str, ...],
) -> list[tuple[int, int]]:
    """The slots of jobs with this QOS, account, association, user and partition, and whether they are checked. Jobs count for a limit that
    is hidden from them."""
    hidden: set[tuple[str, str, str]] = set()
    entries = []
    for owner in _owners(cluster, key):
        is_account = owner[0] in ("account", "user", "cluster")
        seen = set()
        for number, limit in owned.get(owner, []):
            kind = (limit.counts, limit.each, limit.resource)
            seen.add(kind)
            whose = {"user": key[3], "account": key[1]}.get(limit.each, NOT_GIVEN)
            resource = _resource(limit, gpu_types)
            if resource is not None:
                entries.append((slots.of(number, limit, resource, whose), int(kind not in hidden)))
        # groups of accounts hold on every floor; everything else hides what is above
        hidden |= {kind for kind in seen if not (is_account and kind[1] == "all")}
    return entries


def _owners(cluster: ClusterDescription, key: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Who has limits for such jobs, in the order of precedence."""
    qos, account, member, _, partition = key
    of_partition = cluster.partitions[partition].qos if partition != NOT_GIVEN else ""
    if of_partition:
        yield "qos", of_partition
    if qos != NOT_GIVEN:
        yield "qos", cluster.qualities[qos].name
    if member != NOT_GIVEN:
        yield "user", f"{cluster.members[member].account}/{cluster.members[member].user}"
    parents = {one.name: one.parent for one in cluster.accounts}
    name = cluster.accounts[account].name if account != NOT_GIVEN else ""
    while name and name != ROOT_ACCOUNT:
        yield "account", name
        name = parents[name]
    yield "account", ROOT_ACCOUNT
    if partition != NOT_GIVEN:
        yield "partition", cluster.partitions[partition].name
    yield "cluster", ""
