"""A tree of switches over the nodes of a cluster, as arrays.

Hops between the nodes of a job, and the cost of Neural Simulated Annealing, equation 1.

The hops of a set of nodes are summed over unordered pairs. With `c` nodes of the set below a switch, c (c - 1) / 2 pairs share it;
so a sum over switches takes the place of a sum over pairs, and a node more or less changes one count a level.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled, lean
from simulator.jobs.jobs import column_of

IntArray = NDArray[np.int64]

HOPS_PER_LEVEL = 2
"""Hops between two nodes that each level of switches adds by default: 2 in a leaf, 4 in a pod and so on (section III-A)."""
MOST_HOPS = 1_000_000
"""Most hops of a level that users may give, so that sums over pairs of nodes stay far from the largest number."""
MOST_NODES = 10_000_000
"""Nodes of a regular tree: more than any cluster has, and 80 MB a level."""

_REGULAR = re.compile(r"\s*(\d+)\s*(?:[x*]\s*(\d+)\s*)*")


@dataclass(frozen=True)
class SwitchTree:
    """Nodes 0 to n - 1, and the switches above them. The nodes below any switch have consecutive numbers.

    switch: number of the switch above each node at each level, from the leaf switch to the root, int64 (levels, nodes). The switches
    of a level are numbered from 0 in the order of their nodes.
    hops: hops between two nodes whose lowest common switch is at each level, int64 (levels,). They do not decrease.
    node_names: name of each node, or empty. switch_names: the same by level and switch.

    Raises ValueError, with the rule, for arrays that are no tree.
    """

    switch: IntArray
    hops: IntArray
    node_names: tuple[str, ...] = ()
    switch_names: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        switch = column_of(self.switch)
        hops = column_of(self.hops)
        if switch.ndim != 2 or min(switch.shape) < 1:
            raise ValueError(f"a tree needs at least one level and one node, got switches of shape {switch.shape}")
        if hops.shape != switch.shape[:1]:
            raise ValueError(f"a tree of {len(switch)} levels needs as many numbers of hops, got {hops.size}")
        if (hops < 0).any() or (hops[1:] < hops[:-1]).any():
            raise ValueError(f"hops must not be negative and not decrease from the leaf up, got {hops.tolist()}")
        for level, above in enumerate(switch):
            steps = np.diff(above)
            if above[0] != 0 or ((steps != 0) & (steps != 1)).any():
                raise ValueError(f"level {level}: switches must be numbered from 0 in the order of their nodes")
            if level and (steps > np.diff(switch[level - 1])).any():
                raise ValueError(f"level {level}: a switch below has nodes under two switches")
        if switch[-1, -1] != 0:
            raise ValueError(f"a tree has one switch at the top, got {switch[-1, -1] + 1}")
        if self.node_names and len(self.node_names) != switch.shape[1]:
            raise ValueError(f"{switch.shape[1]} nodes need as many names, got {len(self.node_names)}")
        object.__setattr__(self, "switch", switch)
        object.__setattr__(self, "hops", hops)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.switch.shape[1]

    @property
    def levels(self) -> int:
        """Levels of switches. 1 is a single switch."""
        return self.switch.shape[0]

    def switches(self, level: int) -> int:
        """How many switches a level has."""
        return int(self.switch[level, -1]) + 1

    def name_of(self, node: int) -> str:
        """The node's name, or its number."""
        return self.node_names[node] if self.node_names else str(node)


def regular_tree(sizes: tuple[int, ...], hops: tuple[int, ...] | None = None) -> SwitchTree:
    """A tree in which all switches of a level are alike. sizes: nodes of a leaf, leaves of a pod, pods, and so on up.

    hops: by level, by default 2, then 4 and so on. Raises ValueError for sizes below 1.
    """
    if not sizes or min(sizes) < 1:
        raise ValueError(f"every level of a tree needs at least 1 switch or node, got {sizes}")
    if prod(sizes) > MOST_NODES:
        raise ValueError(
            f"a tree has at most {MOST_NODES:,} nodes, and {'x'.join(map(str, sizes))} has {prod(sizes):,}"
        )
    below = np.cumprod(np.array(sizes, dtype=np.int64))
    switch = np.arange(below[-1])[None, :] // below[:, None]
    return SwitchTree(switch, np.array(hops if hops is not None else default_hops(len(sizes)), dtype=np.int64))


def fat_tree(radix: int, pods: int | None = None) -> SwitchTree:
    """A fat tree of switches with `radix` ports: radix / 2 nodes a leaf and leaves a pod, pruned to `pods` (section III-A).

    Raises ValueError for an odd radix, and for more pods than ports.
    """
    if radix < 2 or radix % 2:
        raise ValueError(f"the radix of a fat tree must be even and at least 2, got {radix}")
    pods = radix if pods is None else pods
    if not 1 <= pods <= radix:
        raise ValueError(f"a fat tree of radix {radix} has 1 to {radix} pods, got {pods}")
    return regular_tree((radix // 2, radix // 2, pods))


def parse_tree(text: str) -> SwitchTree:
    """The tree of a text such as `16x8x4`, which has 16 nodes in a leaf, 8 leaves in a pod, and four pods.

    Raises ValueError with an example for any other text.
    """
    if not _REGULAR.fullmatch(text):
        raise ValueError(
            f"cannot read the tree {text!r}: write nodes per leaf x leaves per pod x pods, such as 16x8x4, "
            "or name a topology.conf"
        )
    return regular_tree(tuple(int(part) for part in re.findall(r"\d+", text)))


def with_hops(tree: SwitchTree, text: str) -> SwitchTree:
    """The tree with other hops. text: `2,4,6`, hops by the level of the lowest common switch, from the leaf up.

    Raises ValueError, with the number of levels and an example, for a text that does not fit.
    """
    parts = [part.strip() for part in text.split(",")]
    hops = [int(part) for part in parts if re.fullmatch(r"\d{1,7}", part) and int(part) <= MOST_HOPS]
    if not len(parts) == len(hops) == tree.levels or hops != sorted(hops):
        example = ",".join(map(str, default_hops(tree.levels)))
        numbers = f"{tree.levels} whole numbers between commas" if tree.levels > 1 else "1 whole number"
        raise ValueError(
            f"hops {text!r}: expected {numbers}, one for each level of switches from the leaf up, such as {example}. They must not "
            f"decrease, and be at most {MOST_HOPS:,}"
        )
    return replace(tree, hops=np.array(hops, dtype=np.int64))


def first_nodes(tree: SwitchTree, count: int) -> SwitchTree:
    """The tree of its first `count` nodes. It keeps all its levels, so that hops do not change. Raises ValueError if it has fewer."""
    if not 1 <= count <= tree.nodes:
        raise ValueError(f"a tree of {tree.nodes} nodes has first nodes from 1 to {tree.nodes}, got {count}")
    switch = tree.switch[:, :count]
    names = tuple(names[: above[-1] + 1] for names, above in zip(tree.switch_names, switch, strict=False))
    return SwitchTree(switch, tree.hops, tree.node_names[:count], names)


def default_hops(levels: int) -> tuple[int, ...]:
    """2 hops in a leaf, and 2 more for each level above."""
    return tuple(HOPS_PER_LEVEL * (level + 1) for level in range(levels))


def nodes_of_cluster(procs: int, procs_per_node: int) -> int:
    """Nodes that hold `procs` processors; the last may have fewer than the others. Raises ValueError for numbers below 1."""
    if procs_per_node < 1:
        raise ValueError(f"a node needs at least 1 processor, got {procs_per_node}")
    if procs < 1:
        raise ValueError(f"a cluster needs at least 1 processor, got {procs}")
    return -(-procs // procs_per_node)


def fit_tree(
    tree: SwitchTree, procs: int, procs_per_node: int, whole_nodes: bool = False
) -> tuple[SwitchTree, list[str]]:
    """(the tree cut to the first nodes that the cluster needs, sentences on what of the tree is not used).

    procs: processors of the cluster. whole_nodes: jobs take whole nodes.
    Raises ValueError, with the numbers and what to do, for a tree with too few nodes, and for processors that are not a whole number
    of nodes where jobs take whole nodes.
    """
    nodes = nodes_of_cluster(procs, procs_per_node)
    rest = procs % procs_per_node
    if rest and whole_nodes:
        multiples = [str(count) for count in (procs - rest, procs - rest + procs_per_node) if count]
        raise ValueError(
            f"{procs} processors are not a whole number of nodes with {procs_per_node} each: give a number of processors "
            f"a node that divides {procs}, or a cluster of {' or '.join(multiples)} processors, "
            "or share nodes"
        )
    if nodes > tree.nodes:
        raise ValueError(
            f"the tree has {tree.nodes} nodes, and {procs} processors with {procs_per_node} a node need {nodes}: give a "
            f"tree of {nodes} nodes or more, at least {-(-procs // tree.nodes)} processors a node, or a cluster of at most "
            f"{tree.nodes * procs_per_node} processors"
        )
    remarks = []
    if nodes < tree.nodes:
        remarks.append(
            f"The tree has {tree.nodes} nodes; its first {nodes} are used, {tree.name_of(0)} to {tree.name_of(nodes - 1)}, "
            f"since {procs} processors with {procs_per_node} a node need no more."
        )
    if rest:
        remarks.append(f"The last node, {tree.name_of(nodes - 1)}, has {rest} of {procs_per_node} processors.")
    return first_nodes(tree, nodes), remarks


# --- hops


def pair_hops(tree: SwitchTree, nodes: IntArray) -> int:
    """Hops summed over the unordered pairs of these nodes. nodes: int64 (n,), all different."""
    nodes = np.asarray(nodes, dtype=np.int64)
    pairs, total = 0, 0
    for level, hops in enumerate(tree.hops.tolist()):
        counts = np.bincount(tree.switch[level, nodes])
        within = int((counts * (counts - 1) // 2).sum())
        total += hops * (within - pairs)
        pairs = within
    return total


def hop_cost(tree: SwitchTree, nodes: IntArray) -> float:
    """C(N) of equation 1: hops over ordered pairs, divided by the number of nodes. 0 for a single node."""
    return 2.0 * pair_hops(tree, nodes) / len(nodes) if len(nodes) else 0.0


@compiled
def ring_hops(switch, hops, idle, size):
    """Pair hops of `size` consecutive entries of a ring of idle nodes, from each entry on, int64 (idle,).

    switch, hops: of the tree. idle: nodes, ascending, int64 (idle,). 1 <= size <= idle. A step takes one node out and one in.
    """
    levels, count = len(hops), len(idle)
    counts = np.zeros((levels, switch.shape[1]), dtype=np.int64)
    costs = np.empty(count, dtype=np.int64)
    total = np.int64(0)
    for k in range(size):
        total += change_of_hops(switch, hops, counts, idle[k])
        count_node(switch, counts, idle[k], 1)
    for first in range(count):
        costs[first] = total
        leaving, entering = idle[first], idle[(first + size) % count]
        count_node(switch, counts, leaving, -1)
        total -= change_of_hops(switch, hops, counts, leaving)
        total += change_of_hops(switch, hops, counts, entering)
        count_node(switch, counts, entering, 1)
    return costs


@lean
def change_of_hops(switch, hops, counts, node):
    """Hops from a node to all nodes that are counted. counts: nodes of the job below each switch, int64 (levels, nodes)."""
    closer, total = np.int64(0), np.int64(0)
    for level in range(len(hops)):
        within = counts[level, switch[level, node]]
        total += hops[level] * (within - closer)
        closer = within
    return total


@lean
def count_node(switch, counts, node, change):
    """Counts a node below all its switches: `change` is 1 for one that enters the job, -1 for one that leaves it."""
    for level in range(switch.shape[0]):
        counts[level, switch[level, node]] += change
