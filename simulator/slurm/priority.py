"""Priorities of waiting jobs: basic, or the sum of factors (multifactor). Rules: docs/reference/slurm.md, "Priority".

Fair share as a tree (Slurm's FAIR_TREE) or as it was before (classic), and the usage that it weighs.

Rules: docs/reference/slurm.md, "Priority".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import ClusterArrays
from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.compiled import compiled, referring, referring_apart
from simulator.slurm.nodes.usable import node_gpus, node_memory, wanted_cpus
from simulator.slurm.settings import slurm_version
from traces.cluster.description import SchedulerSettings

_MIB = {"k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2, "p": 1024.0**3}


@compiled
def add_usage(usage, parent, owner, used):
    """Adds used billing-seconds to a node of the tree and to all above it."""
    node = owner
    while node >= 0:
        usage[node] += used
        node = parent[node]


@compiled
def decay_of(seconds, half_life):
    """What is left of usage after so many seconds. Slurm takes (1 - 0.693 / half-life) to the power of the seconds."""
    if half_life <= 0:
        return 1.0
    return (1.0 - 0.693 / half_life) ** seconds


@compiled
def share_out(factor, parent, shares, usage, dampening):
    """Writes the factor of each user. dampening: of classic fair share, 0 for Fair Tree."""
    num_accounts = len(parent) - len(factor)
    if dampening > 0:
        factor[:] = classic_factors(parent, shares, usage, num_accounts, dampening)
    else:
        factor[:] = fair_tree_factors(parent, shares, usage, num_accounts)


@compiled
def fair_tree_factors(parent, shares, usage, num_accounts):
    """The factor of each user, float64 (users,), in (0, 1].

    parent, shares, usage: (accounts + users,), accounts first, parent -1 at the top. The level of a node is its part of its siblings'
    shares by its part of their usage, infinite without usage. Siblings are sorted by it, users before accounts where equal. Accounts
    with equal levels are walked as one. Users get ranks in the order of the walk, and equal ones the same.
    """
    size = len(parent)
    level = np.zeros(size)
    of_shares, of_usage = (
        np.zeros(size + 1, np.int64),
        np.zeros(size + 1),
    )  # of the children of each node, and of the top
    for node in range(size):
        of_shares[parent[node]] += shares[node]
        of_usage[parent[node]] += usage[node]
    for node in range(size):
        if usage[node] <= 0.0:
            level[node] = np.inf
        else:
            level[node] = (shares[node] / of_shares[parent[node]]) / (usage[node] / of_usage[parent[node]])
    factors = np.zeros(size - num_accounts)
    top = np.full(1, -1, np.int64)
    _walk(parent, level, factors, top, np.array([len(factors), len(factors)]), False)
    return factors


@compiled
def classic_factors(parent, shares, usage, num_accounts, dampening):
    """The factor of each user before Fair Tree, float64 (users,): 2 to the power of -(effective usage / shares / dampening).

    Shares and usage are parts of the whole. The effective usage of a node lies between its own and that of the account above, by its part
    of its siblings' shares.
    """
    size = len(parent)
    total = 0.0
    for node in range(size):
        if parent[node] < 0:
            total += usage[node]
    factors = np.ones(size - num_accounts)
    for user in range(num_accounts, size):
        if total <= 0.0:
            continue
        chain = np.zeros(size, np.int64)
        length = 0
        node = user
        while node >= 0:
            chain[length] = node
            length += 1
            node = parent[node]
        part, effective = 1.0, 0.0
        for k in range(length - 1, -1, -1):
            node = chain[k]
            of_shares = 0
            for other in range(size):
                if parent[other] == parent[node]:
                    of_shares += shares[other]
            mine = shares[node] / max(of_shares, 1)
            part *= mine
            own = usage[node] / total
            effective = own if parent[node] < 0 else own + (effective - own) * mine
        factors[user - num_accounts] = 2.0 ** -(effective / part / dampening) if part > 0.0 else 0.0
    return factors


@compiled
def _walk(parent, level, factors, above, ranks, tied_with_previous):
    """Gives ranks to the users below the nodes `above`, which are taken as one. ranks: of the last user, and the next one without ties.
    Returns how many users it met."""
    num_accounts = len(parent) - len(factors)
    children = _sorted_children(parent, level, num_accounts, above)
    users = len(factors)
    met = 0
    place = 0
    while place < len(children):
        node = children[place]
        tied = tied_with_previous if place == 0 else level[children[place - 1]] == level[node]
        if node >= num_accounts:
            if not tied:
                ranks[0] = ranks[1]
            factors[node - num_accounts] = ranks[0] / users
            ranks[1] -= 1
            met += 1
            place += 1
            continue
        last = place + 1
        while last < len(children) and level[children[last]] == level[node]:
            last += 1
        met += _walk(parent, level, factors, children[place:last].copy(), ranks, tied)
        place = last
    return met


@compiled
def _sorted_children(parent, level, num_accounts, above):
    """The nodes below those of `above`, by level, users before accounts."""
    children = np.zeros(len(parent), np.int64)
    count = 0
    for node in range(len(parent)):
        for k in range(len(above)):
            if parent[node] == above[k]:
                place = count
                while place > 0 and _comes_before(level, num_accounts, node, children[place - 1]):
                    children[place] = children[place - 1]
                    place -= 1
                children[place] = node
                count += 1
    return children[:count].copy()


@compiled
def _comes_before(level, num_accounts, node, other):
    if level[node] != level[other]:
        return level[node] > level[other]
    return node >= num_accounts and other < num_accounts


# --- priority


FIRST_BASIC = 4294901760
"""Priority of the first job under priority/basic. Each further one has one less."""


class PriorityRules(NamedTuple):
    """Weights and times of priority/multifactor. Times in seconds; half_life 0 for no decay. small_first: 1 where small jobs gain.
    dampening: of classic fair share, 0 for Fair Tree. bills_largest: 1 where a job is billed for its dearest resource on nodes alone
    (MAX_TRES). accrues_always: 1 where jobs gather age before they are eligible. only_rises: 1 where no priority is lowered."""

    age: int
    fair_share: int
    job_size: int
    partition: int
    qos: int
    most_age: int
    half_life: int
    period: int
    small_first: int
    dampening: int
    bills_largest: int
    accrues_always: int
    only_rises: int


class FairShares(NamedTuple):
    """The tree of shares, accounts first, then users. owner: of each job, its place in the tree, NOT_GIVEN for none."""

    parent: NDArray[np.int64]
    shares: NDArray[np.int64]
    usage: NDArray[np.float64]
    owner: NDArray[np.int64]  # (jobs,)
    factor: NDArray[np.float64]  # (users,)
    billing: NDArray[np.float64]  # (partitions, 3 + types), as in `ClusterArrays`
    qos_usage: NDArray[np.float64]  # (qualities,)
    num_accounts: int


class StaticFactors(NamedTuple):
    """Factors that do not change while a job waits, float64. association: its weight is in it.
    resources: what a CPU, a MiB of memory, a node and a GPU of each type add to the priority."""

    partition: NDArray[np.float64]  # (partitions,)
    qos: NDArray[np.float64]  # (qualities,)
    association: NDArray[np.float64]  # (members,)
    resources: NDArray[np.float64]  # (partitions, 3 + types)
    unplanned: NDArray[np.bool_]  # (qualities,), whose jobs have no plan


def priority_rules(scheduler: SchedulerSettings) -> PriorityRules:
    """The weights with Slurm's defaults for what is not set. Times are in seconds."""
    values = scheduler.values
    flags = str(values.get("priorityflags", "")).lower().split(",")

    def number(name: str, default: int = 0) -> int:
        return int(float(values.get(name, default)))

    return PriorityRules(
        age=number("priorityweightage"),
        fair_share=number("priorityweightfairshare"),
        job_size=number("priorityweightjobsize"),
        partition=number("priorityweightpartition"),
        qos=number("priorityweightqos"),
        most_age=number("prioritymaxage", 7 * 86_400),
        half_life=number("prioritydecayhalflife", 7 * 86_400),
        period=number("prioritycalcperiod", 300),
        small_first=int(str(values.get("priorityfavorsmall", "no")).lower() in ("yes", "true", "1")),
        dampening=max(number("fairsharedampeningfactor", 1), 1) if has_classic_shares(scheduler) else 0,
        bills_largest=int("max_tres" in flags),
        accrues_always=int("accrue_always" in flags),
        only_rises=int("incr_only" in flags),
    )


def has_classic_shares(scheduler: SchedulerSettings) -> bool:
    """Whether fair share is the classic one: by flag, or by default before version 19.05, which is taken where a version is known."""
    flags = str(scheduler.values.get("priorityflags", "")).lower().split(",")
    if "no_fair_tree" in flags:
        return True
    return slurm_version(scheduler) < (19, 5) and "fair_tree" not in flags


def fair_shares(arrays: ClusterArrays, jobs: Requests) -> FairShares:
    """The tree of shares in which nobody has used anything."""
    num_accounts = len(arrays.parent)
    parent = np.concatenate([arrays.parent, arrays.member_account]).astype(np.int64)
    return FairShares(
        parent=parent,
        shares=np.concatenate([arrays.shares, arrays.member_shares]).astype(np.int64),
        usage=np.zeros(len(parent)),
        owner=np.where(jobs.member >= 0, jobs.member + num_accounts, NOT_GIVEN).astype(np.int64),
        factor=np.ones(len(arrays.member_account)),
        billing=arrays.billing,
        qos_usage=arrays.qos_usage,
        num_accounts=num_accounts,
    )


def static_factors(arrays: ClusterArrays, scheduler: SchedulerSettings) -> StaticFactors:
    """Each by the largest, unless the flags NO_NORMAL_... say otherwise."""
    flags = str(scheduler.values.get("priorityflags", "")).lower().split(",")

    def by_largest(values: NDArray[np.int64], kind: str) -> NDArray[np.float64]:
        if f"no_normal_{kind}" in flags or "no_normal_all" in flags:
            return values.astype(np.float64)
        return values / max(int(values.max(initial=0)), 1)

    weight = float(scheduler.values.get("priorityweightassoc", 0))
    return StaticFactors(
        by_largest(arrays.factor, "part"),
        by_largest(arrays.qos_priority, "qos"),
        weight * by_largest(arrays.member_priority, "assoc"),
        _resource_weights(arrays, scheduler, by_total="no_normal_tres" not in flags and "no_normal_all" not in flags),
        np.array(["noreserve" in each for each in arrays.qos_flags], dtype=np.bool_),
    )


def _resource_weights(arrays: ClusterArrays, scheduler: SchedulerSettings, by_total: bool) -> NDArray[np.float64]:
    """PriorityWeightTRES for each partition. by_total: of the part of the partition's resources that a job asks for, not of the amount."""
    words = [word.partition("=") for word in str(scheduler.values.get("priorityweighttres", "")).lower().split(",")]
    given = {name.strip().replace("gres/", ""): _weight(value) for name, _, value in words if value}
    # names of TRES are the same in any case: slurmctld's assoc_mgr_find_tres_pos
    names = ("cpu", "mem", "node", *(f"gpu:{kind.lower()}" for kind in arrays.gpu_types[:-1]), "gpu")
    amounts = np.column_stack([arrays.cpus, arrays.memory, np.ones(arrays.num_nodes), arrays.gpus])
    totals = arrays.partition_nodes @ amounts if by_total else np.ones((len(arrays.max_time), len(names)))
    return np.array([given.get(name, 0.0) for name in names]) / np.maximum(totals, 1.0)


def _weight(text: str) -> float:
    """A weight such as 1000. That of memory may have a unit, such as 0.25g, and is for a MiB here."""
    amount = text.strip().removesuffix("b")
    return float(amount.rstrip("kmgtp")) / _MIB.get(amount[-1:], 1.0)


@referring_apart
def job_priority(engine, rules, statics, fair, row, seconds):
    """The sum of weights times factors, cut to a whole number, at least 1. row: job and partition. seconds: since the job gathers age."""
    job, partition = row
    site, jobs = engine.site, engine.jobs
    age = min(1.0, max(seconds, 0) / rules.most_age) if rules.most_age > 0 else 0.0
    share = 0.0
    if fair.owner[job] >= 0:
        share = fair.factor[fair.owner[job] - fair.num_accounts]
    quality = statics.qos[jobs.qos[job]] if jobs.qos[job] >= 0 else 0.0
    total = rules.age * age + rules.fair_share * share
    total += rules.job_size * size_factor(engine, rules, job, partition)
    total += rules.partition * statics.partition[partition] + rules.qos * quality
    if jobs.member[job] >= 0:
        total += statics.association[jobs.member[job]]
    if len(statics.resources) > 0:
        total += resource_priority(jobs, statics.resources[partition], job)
    total -= jobs.nice[job]
    if total < 1.0 or len(site.cpus) == 0:
        return np.int64(1)
    return np.int64(total)


@referring
def resource_priority(jobs, weights, job):
    """What the resources that a job asks for add to its priority."""
    cpus, nodes = wanted_cpus(jobs, job), jobs.min_nodes[job]
    memory = jobs.memory[job] * cpus if jobs.memory_per[job] == 1 else node_memory(jobs, job, cpus) * nodes
    total = weights[0] * cpus + weights[1] * memory + weights[2] * nodes
    for column in range(jobs.gpus.shape[1]):
        total += weights[3 + column] * node_gpus(jobs, job, column) * nodes
    return total


@referring
def size_factor(engine, rules, job, partition):
    """(nodes / all nodes + CPUs / all CPUs) / 2, or what is left of 1 where small jobs gain. Whole-node jobs count all CPUs of their
    nodes as soon as nodes have been looked for."""
    site, jobs = engine.site, engine.jobs
    nodes = jobs.min_nodes[job]
    cpus = wanted_cpus(jobs, job)
    all_cpus = site.all_cpus
    whole = jobs.exclusive[job] > 0 or site.partition_exclusive[partition] > 0
    if whole and engine.scratch.tested[job]:
        cpus = max(cpus, nodes * all_cpus // len(site.cpus))
    size = (nodes / len(site.cpus) + cpus / all_cpus) / 2
    return 1.0 - size if rules.small_first > 0 else size


@referring_apart
def count_usage(engine, rules, fair, since, until):
    """Usage of a period: what was there decays, and running jobs add their CPUs' seconds. Then the factors are computed."""
    left = decay_of(until - since, rules.half_life)
    for node in range(len(fair.usage)):
        fair.usage[node] *= left
    for k in range(engine.running.length[0]):
        job = engine.running.job[k]
        count_job(engine, rules, fair, job, max(since, engine.running.start[job]), until)
    share_out(fair.factor, fair.parent, fair.shares, fair.usage, rules.dampening)


@referring
def count_job(engine, rules, fair, job, since, until):
    """Adds one job's use of the seconds from `since` to `until`."""
    if fair.owner[job] < 0 or until <= since:
        return
    seconds = until - since
    used = billed(engine, rules, fair, job) * seconds * decay_of(seconds, rules.half_life)
    add_usage(fair.usage, fair.parent, fair.owner[job], used)


@referring
def billed(engine, rules, fair, job):
    """What a running job adds to usage in a second: weights times CPUs, memory, nodes and GPUs."""
    running, jobs = engine.running, engine.jobs
    weights = fair.billing[running.partition[job]]
    nodes = running.nodes[job]
    cpus, memory = 0, 0
    for row in range(running.first[job], running.first[job] + nodes):
        cpus += running.cpus[row]
        memory += node_memory(jobs, job, running.cpus[row])
    total = weights[0] * cpus + weights[1] * memory + weights[2] * nodes
    largest = max(weights[0] * cpus, max(weights[1] * memory, weights[2] * nodes))
    for column in range(jobs.gpus.shape[1]):
        gpus = node_gpus(jobs, job, column) * nodes
        total += weights[3 + column] * gpus
        largest = max(largest, weights[3 + column] * gpus)
    factor = fair.qos_usage[jobs.qos[job]] if jobs.qos[job] >= 0 else 1.0
    return (largest if rules.bills_largest > 0 else total) * factor
