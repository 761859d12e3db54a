"""Idle nodes by leaf switch. Nodes of one leaf are alike, so an allocation is how many nodes each job has in each leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.allocation.compiled import lean
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
