"""Windows for the tests of all solvers, what every allocation must satisfy, and the public code's cost."""

from __future__ import annotations

import numpy as np

from models.allocation.window import TOLERANCE, Allocation, IntArray, Window
from simulator.topology.tree import SwitchTree, fat_tree, pair_hops, regular_tree

UNEVEN = SwitchTree(np.array([[0, 0, 0, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1], [0] * 8]), np.array([1, 3, 8]))
SMALL_TREES = (
    UNEVEN,
    regular_tree((2, 2, 2)),
    regular_tree((3, 3)),
    regular_tree((9,)),
    regular_tree((2, 2, 2), (1, 1, 5)),
)
PAPERS_TREE = fat_tree(20, 10)
CODES_TREE = regular_tree((10, 4, 25), (1, 3, 5))


def small_window(rng: np.random.Generator, most_jobs: int = 4) -> Window:
    """At most nine idle nodes of a small tree; every third window is filled to its last node, and sizes often repeat."""
    tree = SMALL_TREES[rng.integers(len(SMALL_TREES))]
    idle = np.sort(rng.permutation(tree.nodes)[: rng.integers(1, tree.nodes + 1)])
    sizes: list[int] = []
    left = len(idle)
    while left and len(sizes) < most_jobs:
        size = int(rng.integers(1, min(left, 4) + 1)) if not sizes or rng.random() < 0.6 else min(left, sizes[-1])
        sizes.append(size)
        left -= size
    if left and rng.random() < 0.33:
        sizes[int(rng.integers(len(sizes)))] += left
    elif len(sizes) > 1 and rng.random() < 0.5:
        sizes.pop()
    return Window(tree, idle, np.array(sizes), integer=bool(rng.random() < 0.3))


def window_of_papers_size(rng: np.random.Generator, most_jobs: int = 5) -> Window:
    """Jobs of 1 to 40 nodes on 1,000 nodes of the paper's or the public code's tree, idle in runs as jobs leave them."""
    published = bool(rng.random() < 0.5)
    tree = CODES_TREE if published else PAPERS_TREE
    sizes = rng.integers(1, 41, rng.integers(1, most_jobs + 1))
    idle = np.zeros(tree.nodes, dtype=bool)
    wanted = min(int(sizes.sum() * rng.uniform(1, 3)), tree.nodes)
    while idle.sum() < wanted:
        first = rng.integers(tree.nodes)
        idle[first : first + rng.integers(1, 30)] = True
    return Window(tree, np.flatnonzero(idle), np.sort(sizes), integer=published)


def check_allocation(window: Window, allocation: Allocation) -> None:
    """Raises ValueError where a job has too few or too many nodes, a node is not idle or has two jobs, or the cost is another."""
    sizes = [len(nodes) for nodes in allocation.nodes]
    if sizes != window.sizes.tolist():
        raise ValueError(f"jobs of {window.sizes.tolist()} nodes were given {sizes}")
    taken = np.concatenate([*allocation.nodes, np.empty(0, dtype=np.int64)])
    busy = np.setdiff1d(taken, window.idle)
    if busy.size:
        raise ValueError(f"node {busy[0]} is not idle")
    nodes, times = np.unique(taken, return_counts=True)
    if (times > 1).any():
        raise ValueError(f"node {nodes[times > 1][0]} has two jobs")
    cost = window.cost_of(list(allocation.nodes))
    if abs(cost - allocation.cost) > TOLERANCE * max(1.0, cost):
        raise ValueError(f"the nodes cost {cost}, not {allocation.cost}")


def integer_hop_cost(tree: SwitchTree, nodes: IntArray) -> int:
    """The public code's cost: hops over unordered pairs, divided by the number of nodes and rounded down, at least 1."""
    return max(1, pair_hops(tree, nodes) // len(nodes))
