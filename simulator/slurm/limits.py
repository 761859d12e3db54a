"""Limits of QOS and associations. Rules: docs/reference/slurm.md, "Limits".

Which limits hold for which job, as slots. Rules: docs/reference/slurm.md, "Limits".

Limits of the partition's QOS come first, then those of the job's QOS, then those of its association and of all accounts above.
A limit hides the same limit of those that come later. Limits on a group of jobs hold on every floor of the tree of accounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.compiled import referring, referring_apart
from simulator.slurm.nodes.usable import node_gpus, node_memory, wanted_cpus, wants_gpus
from simulator.slurm.settings import enforces_limits
from simulator.slurm.state import Limits
from traces.cluster.accounts import ROOT_ACCOUNT, Limit
from traces.cluster.description import ClusterDescription

RUNNING, ONE_JOB, USED, OUTSTANDING, SUBMITTED = range(5)
"""What a slot counts: all running jobs of its owner with this one, this job alone, resource-seconds that were used in all, or that running
jobs may still use, or all jobs that wait or run. Of used ones a job starts as long as the bound is not reached; with `safe`, only if all
jobs would stay below it until their limits."""
JOBS, NODES, CPUS, MEMORY, TIME, GPUS = range(6)
"""Resources of slots. Behind GPUS, which counts all, are the types of GPUs, which count what jobs ask for by name."""


@referring
def resource_amount(engine, job, resource, nodes, cpus, memory):
    """How much of a resource the job takes on so many nodes with so many CPUs and so much memory in all."""
    if resource == JOBS:
        return 1
    if resource == NODES:
        return nodes
    if resource == CPUS:
        return cpus
    if resource == MEMORY:
        return memory
    if resource == TIME:
        return engine.jobs.limit[job]
    column = resource - GPUS - 1 if resource > GPUS else engine.jobs.gpus.shape[1] - 1
    return node_gpus(engine.jobs, job, column) * nodes


@referring
def too_many_jobs(engine, job):
    """Whether a limit on the number of jobs, or on one job's time, keeps the job from starting. This is looked at before nodes."""
    return slot_before_nodes(engine, job) >= 0


@referring
def slot_before_nodes(engine, job):
    """The slot of the first such limit, NOT_GIVEN for none."""
    limits = engine.limits
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        resource = limits.resource[slot] if limits.checked[entry] > 0 else -1
        if resource == JOBS and limits.counts[slot] == RUNNING and limits.used[slot] >= limits.bound[slot]:
            return slot
        if resource == TIME and limits.counts[slot] == ONE_JOB and engine.jobs.limit[job] > limits.bound[slot]:
            return slot
    return np.int64(NOT_GIVEN)


@referring
def lacks_licences(engine, job):
    """Whether licences that the job needs are all in use. This is looked at before nodes."""
    lacks = False
    for kind in range(len(engine.free.licences)):
        lacks = lacks or engine.jobs.licences[job, kind] > engine.free.licences[kind]
    return lacks


@referring
def over_limit(engine, job, chosen):
    """Whether the job on the `chosen` nodes of the scratch would exceed a limit on a resource. chosen: 0 for what it asked for."""
    return slot_exceeded(engine, job, chosen) >= 0


@referring
def is_over_anywhere(engine, job):
    """Whether the job would exceed a limit on whatever nodes it got, since it takes no less than it asked for. Then nobody needs to look
    for nodes. Not said of jobs with GPUs, since a test for these leaves marks on nodes, and of tasks that may be on fewer nodes."""
    jobs, limits = engine.jobs, engine.limits
    if limits.first[job] == limits.first[job + 1] or wants_gpus(jobs, job) > 0:
        return False
    on_nodes = jobs.min_nodes[job] * jobs.tasks_per_node[job] * jobs.cpus_per_task[job]
    return (on_nodes == 0 or on_nodes >= wanted_cpus(jobs, job)) and over_limit(engine, job, 0)


@referring_apart
def slot_exceeded(engine, job, chosen):
    """The slot of the first such limit, NOT_GIVEN for none."""
    limits, jobs, scratch = engine.limits, engine.jobs, engine.scratch
    if limits.first[job] == limits.first[job + 1]:
        return np.int64(NOT_GIVEN)
    nodes, cpus, memory = chosen, 0, 0
    if chosen == 0:
        nodes = jobs.min_nodes[job]
        cpus = wanted_cpus(jobs, job)
        memory = jobs.memory[job] * cpus if jobs.memory_per[job] == 1 else node_memory(jobs, job, cpus) * nodes
    for k in range(chosen):
        cpus += scratch.cpus[k]
        memory += node_memory(jobs, job, scratch.cpus[k])
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        resource = limits.resource[slot]
        if resource in (JOBS, TIME) or limits.checked[entry] == 0:
            continue
        more = resource_amount(engine, job, resource, nodes, cpus, memory)
        if limits.counts[slot] == USED:
            more *= jobs.limit[job]
            past = np.int64(limits.past[slot])
            if engine.site.settings.safe > 0 and past + limits.used[slot] + more > limits.bound[slot]:
                return slot
            if past + limits.elapsed[slot] >= limits.bound[slot]:
                return slot
            continue
        if limits.counts[slot] == OUTSTANDING:
            more = more * jobs.limit[job] + limits.used[slot] - limits.elapsed[slot]
        if limits.counts[slot] == RUNNING:
            more += limits.used[slot]
        if more > limits.bound[slot]:
            return slot
    return np.int64(NOT_GIVEN)


@referring
def change_used(engine, job, sign):
    """A job that runs counts in its slots (sign 1), one that has ended does not (-1)."""
    limits, running = engine.limits, engine.running
    if limits.first[job] == limits.first[job + 1]:
        return
    cpus = 0
    memory = 0
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        cpus += running.cpus[row]
        memory += node_memory(engine.jobs, job, running.cpus[row])
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        amount = resource_amount(engine, job, limits.resource[slot], running.nodes[job], cpus, memory)
        if limits.counts[slot] == SUBMITTED:
            continue
        if limits.counts[slot] == OUTSTANDING and sign < 0:
            limits.elapsed[slot] -= amount * max(limits.counted[0] - running.start[job], 0)
        if limits.counts[slot] in (USED, OUTSTANDING):
            amount *= engine.jobs.limit[job]
        limits.used[slot] += sign * amount


@referring
def may_be_submitted(engine, job):
    """Whether no limit on submitted jobs refuses the job."""
    limits = engine.limits
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        is_checked = limits.checked[entry] > 0 and limits.counts[slot] == SUBMITTED
        if is_checked and limits.used[slot] >= limits.bound[slot]:
            return False
    return True


@referring
def count_submitted(engine, job, sign):
    """The job is submitted (sign 1), or has ended (-1)."""
    limits = engine.limits
    for entry in range(limits.first[job], limits.first[job + 1]):
        if limits.counts[limits.slot[entry]] == SUBMITTED:
            limits.used[limits.slot[entry]] += sign


@referring
def count_past(engine, job, seconds):
    """A job has ended after so many seconds: what it used stays in the slots that count used time."""
    limits = engine.limits
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        if limits.counts[slot] == USED:
            limits.past[slot] += _held(engine, job, limits.resource[slot]) * max(seconds, 0)


@referring
def count_elapsed(engine, now):
    """What running jobs have used by now, in the slots that count used time."""
    limits, running = engine.limits, engine.running
    limits.elapsed[:] = 0
    limits.counted[0] = now
    for k in range(running.length[0]):
        job = running.job[k]
        for entry in range(limits.first[job], limits.first[job + 1]):
            slot = limits.slot[entry]
            if limits.counts[slot] in (USED, OUTSTANDING):
                limits.elapsed[slot] += _held(engine, job, limits.resource[slot]) * max(now - running.start[job], 0)


@referring
def _held(engine, job, resource):
    """How much of a resource a running job has."""
    running = engine.running
    cpus = 0
    memory = 0
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        cpus += running.cpus[row]
        memory += node_memory(engine.jobs, job, running.cpus[row])
    return resource_amount(engine, job, resource, running.nodes[job], cpus, memory)


# --- limit slots


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
        kinds = [kind.lower() for kind in gpu_types]  # names of TRES are the same in any case
        return GPUS + 1 + kinds.index(name.lower()) if name.lower() in kinds else None
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
    of_partition = cluster.queues[partition].qos if partition != NOT_GIVEN else ""
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
        yield "partition", cluster.queues[partition].name
    yield "cluster", ""
