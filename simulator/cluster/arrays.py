"""A described cluster as arrays: nodes, partitions, accounts and reservations. Limits are in `limits.py`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.cluster.accounts import ROOT_ACCOUNT
from traces.cluster.description import ClusterDescription, Partition

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

NO_PARENT = -1
"""Parent of an account at the top of the tree."""
UNBOUNDED = 1 << 61
"""A bound that nothing reaches."""
STATES = ("up", "down", "drain", "inactive")
_WORD = re.compile(r"[^\s&|()\[\]]+")


@dataclass(frozen=True)
class ClusterArrays:
    """Nodes are in the scheduler's order. int64 where nothing else is said.

    cpus, memory, weight: (nodes,). gpus: (nodes, types + 1), where the last column counts GPUs of all types. gpu_types names the columns,
    in the order in which nodes name types: jobs that name none take GPUs in it.
    feature_nodes: bool (expressions, nodes), whether a node has what an expression asks for; row 0 asks for nothing. feature_words: the
    expressions.
    partition_nodes: bool (partitions, nodes). tier, factor, max_time, most_nodes, least_nodes: (partitions,), UNBOUNDED for no limit.
    exclusive: (partitions,), 1 where jobs hold whole nodes. state: (partitions,), place in STATES.
    parent: (accounts,), NO_PARENT for those at the top. shares: (accounts,). member_account, member_shares: (members,).
    qos_priority: (qualities,). qos_flags: of each QOS.
    qos_usage: float64 (qualities,), of what its jobs add to usage. billing: float64 (partitions, 3 + types), what a CPU, a MiB, a node and
    a GPU of each type add to usage in a second.
    reservation_nodes: bool (reservations, nodes). reservation_times: (reservations, 3), begin, end, and when it was announced.
    licences: (kinds,). licence_names: their names. switch_nodes: bool (switches, nodes), all nodes below it. switch_level: (switches,), 0
    for those that have nodes of their own. absences: (spans, 4), begin, end and place of a node that is away, and 1 where its jobs are
    lost, by begin.
    """

    cpus: IntArray
    memory: IntArray
    weight: IntArray
    gpus: IntArray
    gpu_types: tuple[str, ...]
    feature_nodes: BoolArray
    feature_words: tuple[str, ...]
    partition_nodes: BoolArray
    tier: IntArray
    factor: IntArray
    max_time: IntArray
    most_nodes: IntArray
    least_nodes: IntArray
    exclusive: IntArray
    state: IntArray
    parent: IntArray
    shares: IntArray
    member_account: IntArray
    member_shares: IntArray
    member_priority: IntArray  # (members,)
    qos_priority: IntArray
    qos_usage: FloatArray
    qos_flags: tuple[tuple[str, ...], ...]
    billing: FloatArray
    reservation_nodes: BoolArray
    reservation_times: IntArray
    licences: IntArray
    licence_names: tuple[str, ...]
    switch_nodes: BoolArray
    switch_level: IntArray
    absences: IntArray

    @property
    def num_nodes(self) -> int:
        """Nodes of the cluster."""
        return len(self.cpus)


def cluster_arrays(cluster: ClusterDescription, features: Iterable[str] = ()) -> ClusterArrays:
    """The arrays of a cluster. features: the expressions that jobs ask for. Raises ValueError for an expression that is none."""
    nodes, partitions = cluster.nodes, cluster.queues
    types = tuple(dict.fromkeys(kind for node in nodes for kind in node.gpus if kind))
    gpus = np.array([[node.gpus.get(kind, 0) for kind in types] + [node.num_gpus] for node in nodes], dtype=np.int64)
    words = ("", *sorted({word for word in features if word}))
    switches = _switches(cluster)
    accounts = {account.name: place for place, account in enumerate(cluster.accounts)} | {ROOT_ACCOUNT: NO_PARENT}
    return ClusterArrays(
        cpus=_column(node.cpus for node in nodes),
        memory=_column(node.memory_mib for node in nodes),
        weight=_column(node.weight for node in nodes),
        gpus=gpus,
        gpu_types=(*types, ""),
        feature_nodes=np.array(
            [[has_features(word, node.features) for node in nodes] for word in words], dtype=np.bool_
        ),
        feature_words=words,
        partition_nodes=_sets(cluster, partitions),
        tier=_column(partition.tier for partition in partitions),
        factor=_column(partition.factor for partition in partitions),
        max_time=_column(_bound(partition.max_time_s) for partition in partitions),
        most_nodes=_column(_bound(partition.max_nodes) for partition in partitions),
        least_nodes=_column(partition.min_nodes for partition in partitions),
        exclusive=_column(partition.oversubscribe == "exclusive" for partition in partitions),
        state=_column(STATES.index(partition.state) for partition in partitions),
        parent=_column(accounts[account.parent] for account in cluster.accounts),
        shares=_column(account.shares for account in cluster.accounts),
        member_account=_column(accounts[member.account] for member in cluster.members),
        member_shares=_column(member.shares for member in cluster.members),
        member_priority=_column(member.priority for member in cluster.members),
        qos_priority=_column(quality.priority for quality in cluster.qualities),
        qos_flags=tuple(quality.flags for quality in cluster.qualities),
        qos_usage=np.array([quality.usage_factor for quality in cluster.qualities], dtype=np.float64),
        billing=np.array([_billing(partition, types) for partition in partitions], dtype=np.float64),
        reservation_nodes=np.array(
            [[not one.nodes or node.name in set(one.nodes) for node in nodes] for one in cluster.reservations],
            dtype=np.bool_,
        ).reshape(-1, len(nodes)),
        reservation_times=_times(cluster),
        licences=_column(cluster.licences.values()),
        licence_names=tuple(cluster.licences),
        switch_nodes=np.array(
            [[node.name in below for node in nodes] for _, below in switches.values()], dtype=np.bool_
        ).reshape(-1, len(nodes)),
        switch_level=_column(level for level, _ in switches.values()),
        absences=_absences(cluster),
    )


def _times(cluster: ClusterDescription) -> IntArray:
    rows = [
        (one.begin_s, one.end_s, -UNBOUNDED if one.announced_s is None else one.announced_s)
        for one in cluster.reservations
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _absences(cluster: ClusterDescription) -> IntArray:
    rows = sorted(
        (away.begin_s, _bound(away.end_s), place, int(away.state != "drain"))
        for place, node in enumerate(cluster.nodes)
        for away in node.absences
    )
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _billing(partition: Partition, types: tuple[str, ...]) -> list[float]:
    """Weights of a CPU, a MiB, a node and each type of GPU. A partition that sets none bills CPUs."""
    weights = {name.lower(): weight for name, weight in (partition.billing or {"cpu": 1.0}).items()}
    names = ("cpu", "mem", "nodes", *(f"gpu:{kind.lower()}" for kind in types), "gpu")
    return [float(weights.get(name, 0.0)) for name in names]


def _switches(cluster: ClusterDescription) -> dict[str, tuple[int, set[str]]]:
    """Level and nodes of each switch, from the lowest level up."""
    named = {switch.name: switch for switch in cluster.switches}
    below: dict[str, tuple[int, set[str]]] = {}

    def visit(name: str) -> tuple[int, set[str]]:
        if name not in below:
            level, nodes = 0, set(named[name].nodes)
            for other in named[name].switches:
                deeper, more = visit(other)
                level, nodes = max(level, deeper + 1), nodes | more
            below[name] = (level, nodes)
        return below[name]

    for name in named:
        visit(name)
    return dict(sorted(below.items(), key=lambda entry: entry[1][0]))


def has_features(expression: str, features: Iterable[str]) -> bool:
    """Whether a node with these features has what the expression asks for: words joined by `&`, `|` and round brackets. `&` binds tighter.

    Raises ValueError for anything else, such as counts of nodes by feature.
    """
    if not expression:
        return True
    words = set(features)
    text = _WORD.sub(lambda word: " True " if word[0] in words else " False ", expression)
    parts = re.sub(r"True|False|[&|()\s]", "", text)
    if parts:
        raise ValueError(f"features {expression!r}: expected words with &, | and round brackets")
    return _value(re.findall(r"True|False|[&|()]", text), expression)


def _value(tokens: list[str], expression: str) -> bool:
    """The value of a whole expression of these tokens."""
    place = 0

    def either() -> bool:
        nonlocal place
        value = both()
        while place < len(tokens) and tokens[place] == "|":
            place += 1
            value = both() or value
        return value

    def both() -> bool:
        nonlocal place
        value = one()
        while place < len(tokens) and tokens[place] == "&":
            place += 1
            value = one() and value
        return value

    def one() -> bool:
        nonlocal place
        token = tokens[place] if place < len(tokens) else ""
        place += 1
        if token == "(":
            value = either()
            if place >= len(tokens) or tokens[place] != ")":
                raise ValueError(f"features {expression!r}: expected a closing bracket")
            place += 1
            return value
        if token not in ("True", "False"):
            raise ValueError(f"features {expression!r}: expected a word, got {token or 'the end'}")
        return token == "True"

    value = either()
    if place != len(tokens):
        raise ValueError(f"features {expression!r}: expected & or | before {tokens[place]}")
    return value


def _column(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)


def _bound(value: int | None) -> int:
    return UNBOUNDED if value is None else value


def _sets(cluster: ClusterDescription, partitions: tuple[Partition, ...]) -> BoolArray:
    sets = [set(cluster.nodes_of(partition)) for partition in partitions]
    return np.array([[node.name in names for node in cluster.nodes] for names in sets], dtype=np.bool_).reshape(
        -1, len(cluster.nodes)
    )
