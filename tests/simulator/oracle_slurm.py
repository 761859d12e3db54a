"""Slurm's choice of nodes and its limits once more, plain and slow, written from the page on Slurm alone.

`nodes_by_hand` is the greedy rule on Python lists. `fits_somewhere` tries every set of nodes, so it knows what no greedy rule can.
`over_by_hand` adds up what each owner's running jobs use, with no slots and no sums that are carried along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

from simulator.cluster.requests import Request
from traces.cluster.accounts import ROOT_ACCOUNT, Limit
from traces.cluster.description import ClusterDescription


@dataclass
class FreeNode:
    """What is free of a node. holders: jobs that run there. is_whole: one of them has the node for itself."""

    cores: int
    cpus: int
    memory: int
    gpus: int
    weight: int
    holders: int = 0
    is_whole: bool = False


@dataclass(frozen=True)
class Wish:
    """What a job wants, in numbers. tasks_per_node: 0 where it does not say. memory: by node, or by CPU."""

    min_nodes: int
    max_nodes: int
    tasks: int
    cpus_per_task: int = 1
    tasks_per_node: int = 0
    memory: int = 0
    per_cpu: bool = False
    gpus: int = 0
    exclusive: bool = False

    @property
    def cpus(self) -> int:
        """CPUs in all."""
        return max(self.tasks * self.cpus_per_task, self.min_nodes)


def usable_by_hand(node: FreeNode, wish: Wish) -> int:
    """CPUs of the node that the job could use."""
    if node.is_whole or (wish.exclusive and node.holders):
        return 0
    usable = node.cpus
    if wish.gpus > node.gpus:
        return 0
    if wish.gpus and wish.max_nodes == 1 and not wish.exclusive:
        usable = min(usable, wish.cpus)
    if wish.memory and wish.per_cpu and not wish.exclusive:
        usable = min(usable, node.memory // wish.memory)
    elif wish.memory and wish.memory * (usable if wish.per_cpu else 1) > node.memory:
        return 0
    tasks = wish.tasks_per_node or (wish.tasks if wish.max_nodes == 1 else 1)
    return usable if usable >= tasks * wish.cpus_per_task else 0


def nodes_by_hand(nodes: list[FreeNode], wish: Wish) -> dict[int, int]:
    """The nodes with the CPUs on each, none where the job does not fit."""
    usable = {place: cpus for place, node in enumerate(nodes) if (cpus := usable_by_hand(node, wish)) > 0}
    weights = [_weight(node, wish) for node in nodes]
    while len(usable) >= wish.min_nodes and sum(usable.values()) >= wish.cpus:
        taken = _by_runs(usable, weights, wish)
        if taken:
            return _laid_out(taken, nodes, wish)
        if len(usable) <= wish.min_nodes:
            break
        least = min(usable.values())
        usable = {place: cpus for place, cpus in usable.items() if cpus > least}
    return {}


def _weight(node: FreeNode, wish: Wish) -> tuple[int, int]:
    """A test for GPUs marks nodes that have them free."""
    return node.weight, 255 - wish.gpus if wish.gpus and node.gpus >= wish.gpus else 255


def _by_runs(usable: Mapping[int, int], weights: list[tuple[int, int]], wish: Wish) -> dict[int, int]:
    nodes_left, cpus_left = wish.min_nodes, wish.cpus
    taken: dict[int, int] = {}
    while nodes_left > 0 or cpus_left > 0:
        runs = list(_runs({place: cpus for place, cpus in usable.items() if place not in taken}, weights))
        if not runs:
            return {}
        best = min(runs, key=lambda run: _rank(run, usable, weights, nodes_left, cpus_left))
        enough = len(best) >= nodes_left and sum(usable[place] for place in best) >= cpus_left
        single = [place for place in best if usable[place] >= cpus_left]
        if enough and nodes_left <= 1 and single:
            best = [min(single, key=lambda place: usable[place])]
        for place in best:
            if nodes_left <= 0 and cpus_left <= 0:
                break
            if len(taken) >= wish.max_nodes:
                return {}
            if place > best[0] and nodes_left == 1 and usable[place] < cpus_left:
                break
            kept = max(nodes_left - 1, 0)
            taken[place] = usable[place] if wish.exclusive else min(usable[place], max(cpus_left - kept, 1))
            nodes_left -= 1
            cpus_left -= taken[place]
    return taken


def _runs(usable: Mapping[int, int], weights: list[tuple[int, int]]) -> Iterable[list[int]]:
    run: list[int] = []
    for place in sorted(usable):
        if run and (place != run[-1] + 1 or weights[place] != weights[run[-1]]):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _rank(
    run: list[int], usable: Mapping[int, int], weights: list[tuple[int, int]], nodes_left: int, cpus_left: int
) -> tuple[tuple[int, int], bool, int, int]:
    cpus = sum(usable[place] for place in run)
    enough = len(run) >= nodes_left and cpus >= cpus_left
    return weights[run[0]], not enough, cpus if enough else -cpus, run[0]


def _laid_out(taken: dict[int, int], nodes: list[FreeNode], wish: Wish) -> dict[int, int]:
    if wish.exclusive:
        return {place: nodes[place].cores for place in sorted(taken)}
    if wish.tasks_per_node:
        return dict.fromkeys(sorted(taken), wish.tasks_per_node * wish.cpus_per_task)
    if len(taken) == 1:
        return dict.fromkeys(taken, wish.cpus)
    return dict(sorted(taken.items()))


def fits_somewhere(nodes: list[FreeNode], wish: Wish) -> bool:
    """Whether any set of nodes of a size that the job takes has the CPUs."""
    usable = [cpus for node in nodes if (cpus := usable_by_hand(node, wish)) > 0]
    sizes = range(wish.min_nodes, min(wish.max_nodes, len(usable)) + 1)
    return any(sum(chosen) >= wish.cpus for size in sizes for chosen in combinations(usable, size))


@dataclass
class Use:
    """What one running job holds."""

    request: Request
    amounts: dict[str, int] = field(default_factory=dict)


def over_by_hand(cluster: ClusterDescription, running: list[Use], new: Use) -> bool:
    """Whether a limit keeps the new job from running beside the others."""
    hidden: set[tuple[str, str, str]] = set()
    for owner, name in _owners(cluster, new.request):
        mine = [one for one in cluster.limits if (one.owner, one.owner_name) == (owner, name)]
        for limit in mine:
            kind = (limit.counts, limit.each, limit.resource)
            if kind not in hidden and _is_over(cluster, limit, running, new):
                return True
        hidden |= {(one.counts, one.each, one.resource) for one in mine if owner == "qos" or one.each != "all"}
    return False


def _is_over(cluster: ClusterDescription, limit: Limit, running: list[Use], new: Use) -> bool:
    amount = new.amounts[limit.resource]
    if limit.counts == "running":
        for other in running:
            belongs = (limit.owner, limit.owner_name) in set(_owners(cluster, other.request))
            same = limit.each == "all" or getattr(other.request, limit.each) == getattr(new.request, limit.each)
            amount += other.amounts[limit.resource] if belongs and same else 0
    return amount > limit.bound


def _owners(cluster: ClusterDescription, request: Request) -> list[tuple[str, str]]:
    """Who has limits for a job, first those that count before others."""
    partition = cluster.partition_named(request.partitions[0] if request.partitions else "")
    owners = [("qos", partition.qos)] if partition.qos else []
    owners += [("qos", request.qos), ("user", f"{request.account}/{request.user}")]
    parents = {one.name: one.parent for one in cluster.accounts}
    account = request.account
    while account != ROOT_ACCOUNT:
        owners.append(("account", account))
        account = parents[account]
    return [*owners, ("account", ROOT_ACCOUNT), ("cluster", "")]


def asked_as(wish: Wish, **more: object) -> Request:
    """The request of a wish."""
    plain = Request(
        0,
        limit_s=600,
        min_nodes=wish.min_nodes,
        max_nodes=wish.max_nodes,
        tasks=wish.tasks,
        cpus_per_task=wish.cpus_per_task,
        tasks_per_node=wish.tasks_per_node,
        memory_mib=wish.memory,
        memory_per="cpu" if wish.per_cpu else "node",
        gpus={"": wish.gpus} if wish.gpus else {},
        exclusive=wish.exclusive,
    )
    return replace(plain, **more)  # type: ignore[arg-type]
