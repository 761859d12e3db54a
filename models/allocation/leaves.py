"""Idle nodes by leaf switch. Nodes of one leaf are alike, so an allocation is how many nodes each job has in each leaf.

The cheapest nodes of one job alone: a dynamic programme up the tree, over how many nodes come from below each switch.

A pair saves hops for every switch that it shares, so the cost of a job is a sum over switches, of the nodes that it has below each.
The nodes may also have a price that differs by leaf; with prices this is the pricing of the column generation. And pairs of free
nodes that the job leaves below one switch may have a value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.allocation.compiled import compiled, lean
from models.allocation.window import IntArray, Window


@dataclass(frozen=True)
class IdleLeaves:
    """The leaf switches that have idle nodes, from left to right.

    idle: idle nodes of each, int64 (leaves,). first: entry of its first node in the sequence Q, int64 (leaves,). leaf_of: leaf of each
    entry of Q, int64 (idle,). above: number of the switch above each leaf at each level, the leaf itself first, int64 (levels, leaves).
    saved: hops that a pair saves if it shares a switch of a level, rather than one of the next level only, int64 (levels - 1,).
    farthest: hops of a pair that shares the top only.
    """

    idle: IntArray
    first: IntArray
    leaf_of: IntArray
    above: IntArray
    saved: IntArray
    farthest: int

    def nodes_of(self, window: Window, counts: IntArray) -> list[IntArray]:
        """Nodes of each job: in every leaf, the first job takes the first nodes. counts: int64 (jobs, leaves)."""
        first = self.first + np.cumsum(counts, axis=0) - counts
        nodes = []
        for job in range(len(counts)):
            leaves = np.flatnonzero(counts[job])
            runs = [window.idle[first[job, leaf] : first[job, leaf] + counts[job, leaf]] for leaf in leaves.tolist()]
            nodes.append(np.concatenate(runs))
        return nodes


def idle_leaves(window: Window) -> IdleLeaves:
    """The idle nodes of a window by leaf switch."""
    tree = window.tree
    _, first, leaf_of, idle = np.unique(
        tree.switch[0, window.idle], return_index=True, return_inverse=True, return_counts=True
    )
    above = np.ascontiguousarray(tree.switch[:, window.idle[first]])
    return IdleLeaves(idle, first, leaf_of, above, np.diff(tree.hops), int(tree.hops[-1]))


@lean
def hops_of_counts(above, saved, farthest, counts):
    """Pair hops of a job. counts: its nodes in each leaf, int64 (leaves,). The switches of a level ascend with the leaves."""
    size = np.int64(0)
    for leaf in range(len(counts)):
        size += counts[leaf]
    total = farthest * (size * (size - 1) // 2)
    for level in range(len(saved)):
        within = np.int64(0)
        for leaf in range(len(counts)):
            if leaf > 0 and above[level, leaf] != above[level, leaf - 1]:
                total -= saved[level] * (within * (within - 1) // 2)
                within = np.int64(0)
            within += counts[leaf]
        total -= saved[level] * (within * (within - 1) // 2)
    return total


# --- best set


@lean
def least_cost_set(above, saved, free, prices, left, size, tables):
    """Least cost of a job on free nodes: its hop cost with prices, less what all its pairs would cost across the top, and the value
    of the pairs that it takes from what was left free.

    Also fills the last of the tables with the nodes of the job in each leaf, and returns how many leaves have free nodes; the
    table before it lists them.

    above, saved: of the leaves. free: free nodes of each leaf, int64 (leaves,), `size` or more together. prices: of a node of each
    leaf, float64 (leaves,). left: value of a pair of free nodes that share a switch of a level, float64 (levels - 1,). tables: of
    `set_tables`, for at least this size.
    """
    values, choices, sums, listed, taken, free_below = tables
    levels, leaves = above.shape
    count = 0
    for leaf in range(leaves):
        taken[leaf] = 0
        if free[leaf] > 0:
            listed[count] = leaf
            count += 1
    sums[:] = 0
    values[:, 0] = 0.0
    weight = 2.0 / size
    free_below[:] = 0
    for k in range(count):
        leaf = listed[k]
        own = min(free[leaf], size)
        for level in range(levels):
            free_below[level] += free[leaf]
        for nodes in range(own + 1):
            values[0, nodes] = prices[leaf] * nodes
        if levels > 1:
            _add_pairs(values[0], own, weight * saved[0], left[0], free[leaf])
        sums[0] = own
        for level in range(1, levels + 1):
            _merge(values[level], values[level - 1], sums, level, size, choices[level, k])
            sums[level - 1] = 0
            if level == levels or not _closes(above[level], listed, k, count):
                break
            if level < levels - 1:
                _add_pairs(values[level], sums[level], weight * saved[level], left[level], free_below[level])
            free_below[level] = 0
    least = values[levels, size]
    sums[levels] = size  # from here on, how many nodes the part of each level that is not read yet still gives
    for k in range(count - 1, -1, -1):
        top = 1
        while top < levels and _closes(above[top], listed, k, count):
            top += 1
        for level in range(top, 0, -1):
            part = choices[level, k, sums[level]]
            sums[level] -= part
            sums[level - 1] = part
        taken[listed[k]] = sums[0]
    return least, count


@lean
def put_cheapest(leaves, free, prices, left, size, counts, tables):
    """Gives a job its cheapest free nodes, and returns their pair hops. counts: of the job, is filled, int64 (leaves,).

    leaves: above, saved, farthest and idle of `IdleLeaves`. free: loses the nodes. prices, left, tables: as for `least_cost_set`.
    """
    above, saved, farthest, _ = leaves
    _, count = least_cost_set(above, saved, free, prices, left, size, tables)
    listed, taken = tables[3], tables[4]
    counts[:] = 0
    for k in range(count):
        counts[listed[k]] = taken[listed[k]]
        free[listed[k]] -= taken[listed[k]]
    total = farthest * (size * (size - 1) // 2)
    for level in range(len(saved)):
        within = np.int64(0)
        for k in range(count):
            within += taken[listed[k]]
            if _closes(above[level], listed, k, count):
                total -= saved[level] * (within * (within - 1) // 2)
                within = np.int64(0)
    return total


@lean
def _add_pairs(values, most, saving, left, free):
    """What a job of each number of nodes below a switch saves by their pairs, and takes of the value of free pairs."""
    pairs = free * (free - 1) // 2
    for nodes in range(most + 1):
        kept = (free - nodes) * (free - nodes - 1) // 2
        values[nodes] += left * (pairs - kept) - saving * (nodes * (nodes - 1) // 2)


@lean
def _closes(switches, listed, k, count):
    """Whether this leaf is the last one that is listed below its switch."""
    return k == count - 1 or switches[listed[k]] != switches[listed[k + 1]]


@lean
def _merge(upper, lower, sums, level, size, choice):
    """Adds what a switch below gives to what the earlier ones of the same switch gave: the least cost of each number of nodes."""
    before, more = sums[level], sums[level - 1]
    after = min(before + more, size)
    for nodes in range(after, -1, -1):
        least, part = np.inf, 0
        for k in range(max(0, nodes - before), min(nodes, more) + 1):
            cost = upper[nodes - k] + lower[k]
            if cost < least:
                least, part = cost, k
        upper[nodes] = least
        choice[nodes] = part
    sums[level] = after


@compiled
def set_tables(levels, leaves, size):
    """Memory for `least_cost_set`: for jobs of at most `size` nodes."""
    values = np.empty((levels + 1, size + 1))
    choices = np.empty((levels + 1, leaves, size + 1), dtype=np.int64)
    listed = np.empty(leaves, dtype=np.int64)
    sums = np.empty(levels + 1, dtype=np.int64)
    return values, choices, sums, listed, np.empty(leaves, dtype=np.int64), np.empty(levels, dtype=np.int64)
