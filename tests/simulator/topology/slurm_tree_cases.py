"""Slurm's best fit on a tree, worked out by hand from its public documentation.

The Topology Guide says of topology/tree that Slurm takes the lowest level switch of the hierarchy that can satisfy a
job's request, and then gives resources on its underlying leaf switches by best fit. Best fit of leaves is read as in
the published description of Slurm's selection: the tightest leaf that holds what is left of the job; while none does,
the fullest; of equal ones the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simulator.topology.tree import SwitchTree, default_hops

Shape = int | tuple["Shape", ...]
"""The nodes of a leaf, or what is below a switch; all leaves lie equally deep."""

FLAT: Shape = (4, 4, 4, 4)
"""Four leaves of 4 nodes below one switch: 0-3, 4-7, 8-11, 12-15."""
PODS: Shape = ((4, 4), (4, 4))
"""Two pods of two leaves of 4 nodes: (0-3, 4-7) and (8-11, 12-15)."""
WIDE_PODS: Shape = ((4, 4, 4), (4, 4, 4))
"""Two pods of three leaves of 4 nodes: (0-3, 4-7, 8-11) and (12-15, 16-19, 20-23)."""
UNEVEN: Shape = (2, 6, 3)
"""Leaves of 2, 6 and 3 nodes below one switch: 0-1, 2-7, 8-10."""
UNEVEN_PODS: Shape = ((2, 2), (4,), (3, 3))
"""Pods of leaves of 2 and 2, of 4, of 3 and 3 nodes: (0-1, 2-3), (4-7), (8-10, 11-13)."""
DEEP: Shape = (((2, 2), (2, 2)), ((2, 2), (2, 2)))
"""Four levels: pairs of leaves of 2 nodes, pairs of these, and the top."""


class SlurmTreeCase(NamedTuple):
    """Idle nodes and a job of `size` nodes on a tree: the nodes it gets, as `0-3,6`, and why."""

    shape: Shape
    idle: str
    size: int
    expected: str
    why: str

    @property
    def tree(self) -> SwitchTree:
        """The case's tree."""
        return tree_of_shape(self.shape)


CASES = [
    SlurmTreeCase(FLAT, "0-2,4-7,8-9", 4, "4-7", "one leaf alone holds the job, and exactly"),
    SlurmTreeCase(FLAT, "0-3,4-6,8-9", 2, "8-9", "three leaves hold it, the third without anything left over"),
    SlurmTreeCase(FLAT, "0-3,4-7,12-14", 3, "12-14", "the tightest leaf is the last"),
    SlurmTreeCase(FLAT, "0-3,4-6,8-10", 3, "4-6", "of two leaves equally tight the first"),
    SlurmTreeCase(FLAT, "0-1,4-5,8-11", 2, "0-1", "of two leaves equally tight the first, which is the first of all"),
    SlurmTreeCase(FLAT, "0-3,4-6", 2, "4-5", "no exact fit: the fuller leaf keeps less over"),
    SlurmTreeCase(FLAT, "0-3,5,8-9", 1, "5", "one node: the leaf with a single idle node"),
    SlurmTreeCase(FLAT, "2,7,9", 1, "2", "one node: three leaves with a single idle node, the first"),
    SlurmTreeCase(FLAT, "1,3,4-7", 1, "1", "one node: the first idle node of the tighter leaf"),
    SlurmTreeCase(FLAT, "0,2-3,4-7", 2, "0,2", "a leaf with a hole is as good as another"),
    SlurmTreeCase(FLAT, "0-15", 5, "0-4", "no leaf: the first of equal leaves whole, the rest in the next"),
    SlurmTreeCase(FLAT, "0-3,4-6,8-9,12", 5, "0-3,12", "the fullest leaf first, the rest in the tightest"),
    SlurmTreeCase(FLAT, "0-3,4-6,8-9,12", 6, "0-3,8-9", "the same with a rest of two: an exact fit"),
    SlurmTreeCase(FLAT, "0-3,4-6,8-9,12", 7, "0-3,4-6", "the same with a rest of three"),
    SlurmTreeCase(
        FLAT, "0-3,4-6,8-9,12", 8, "0-3,4-6,12", "a rest of four fits nowhere: the next fullest, then the tightest"
    ),
    SlurmTreeCase(FLAT, "0-3,4-6,8-9,12", 9, "0-3,4-6,8-9", "the same, and two are left"),
    SlurmTreeCase(FLAT, "0-3,4-6,8-9,12", 10, "0-3,4-6,8-9,12", "all that is idle"),
    SlurmTreeCase(FLAT, "0,4-5,8-11,12-14", 6, "4-5,8-11", "the fullest leaf is the third, the exact rest the second"),
    SlurmTreeCase(FLAT, "4-11,12-13", 4, "4-7", "a leaf is broken as a whole: the next"),
    SlurmTreeCase(PODS, "0-15", 5, "0-4", "no leaf; of two equal pods the first"),
    SlurmTreeCase(PODS, "0-7,8-13", 5, "8-12", "the pod with fewer idle nodes, in it the fuller leaf"),
    SlurmTreeCase(PODS, "0-1,4-5,8-15", 4, "8-11", "a leaf is lower than a pod that would be an exact fit"),
    SlurmTreeCase(PODS, "0-2,4-5,8-10,12-14", 5, "0-2,4-5", "a pod that fits exactly"),
    SlurmTreeCase(PODS, "0-2,4,8-10,12", 4, "0-2,4", "two pods that fit exactly: the first"),
    SlurmTreeCase(PODS, "0-2,4,8-10,12", 5, "0-2,8-9", "the top: leaf by leaf, whatever the pod"),
    SlurmTreeCase(PODS, "8-10,12-15", 4, "12-15", "a pod is broken as a whole"),
    SlurmTreeCase(PODS, "0-15", 16, "0-15", "the whole machine"),
    SlurmTreeCase(PODS, "0-7,9-15", 15, "0-7,9-15", "all but a broken node"),
    SlurmTreeCase(PODS, "0-15", 9, "0-8", "one node more than a pod: equal leaves in their order"),
    SlurmTreeCase(WIDE_PODS, "0-3,4-6,8,12-23", 5, "0-3,8", "within the tighter pod the rest in the tightest leaf"),
    SlurmTreeCase(WIDE_PODS, "0-1,4-5,8-9,12-23", 6, "0-1,4-5,8-9", "an exact pod though it takes all of its leaves"),
    SlurmTreeCase(UNEVEN, "0-10", 2, "0-1", "uneven leaves: an exact fit"),
    SlurmTreeCase(UNEVEN, "0-10", 3, "8-10", "uneven leaves: an exact fit in the last"),
    SlurmTreeCase(UNEVEN, "0-10", 4, "2-5", "uneven leaves: one alone holds it"),
    SlurmTreeCase(UNEVEN, "0-10", 7, "0,2-7", "uneven leaves: the largest first, one node in the smallest"),
    SlurmTreeCase(UNEVEN, "0-10", 9, "2-10", "uneven leaves: the rest is an exact fit"),
    SlurmTreeCase(UNEVEN_PODS, "0-13", 4, "4-7", "the only leaf that holds it is a pod's only one"),
    SlurmTreeCase(UNEVEN_PODS, "0-13", 5, "8-12", "the only pod that holds it"),
    SlurmTreeCase(UNEVEN_PODS, "0-3,4-6,8-13", 4, "0-3", "no leaf: the smallest pod is an exact fit"),
    SlurmTreeCase(8, "1,4,6-7", 3, "1,4,6", "a single switch: the first idle nodes"),
    SlurmTreeCase(DEEP, "0-15", 3, "0-2", "four levels: a pair of leaves"),
    SlurmTreeCase(DEEP, "0-7,8-10,12-13", 5, "8-10,12-13", "four levels: the tighter half, an exact fit"),
    SlurmTreeCase(DEEP, "0-2,4-6,8-10,12", 4, "8-10,12", "no pair of leaves has four: the tighter half"),
]


def nodes_of(text: str) -> list[int]:
    """Return the numbers of a list like `0-3,6`."""
    ends = [part.split("-") for part in text.split(",")]
    return [node for part in ends for node in range(int(part[0]), int(part[-1]) + 1)]


def tree_of_shape(shape: Shape) -> SwitchTree:
    """Return the tree with that shape, with the hops 2, 4, 6 and so on."""
    rows: list[list[int]] = []
    switches = [shape]
    while True:
        sizes = [_nodes_below(switch) for switch in switches]
        rows.insert(0, [number for number, size in enumerate(sizes) for _ in range(size)])
        if isinstance(switches[0], int):
            break
        switches = [below for switch in switches for below in switch]
    return SwitchTree(np.array(rows), np.array(default_hops(len(rows))))


def _nodes_below(switch: Shape) -> int:
    return switch if isinstance(switch, int) else sum(_nodes_below(below) for below in switch)
