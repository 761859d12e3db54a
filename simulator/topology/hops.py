"""Hops between the nodes of a job, and the cost of Neural Simulated Annealing, equation 1.

The hops of a set of nodes are summed over unordered pairs. With `c` nodes of the set below a switch, c (c - 1) / 2 pairs share it;
so a sum over switches takes the place of a sum over pairs, and a node more or less changes one count a level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled, lean
from simulator.topology.tree import SwitchTree

IntArray = NDArray[np.int64]


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
