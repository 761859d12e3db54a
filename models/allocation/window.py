"""The problem of one window: which idle nodes each job gets, so that the sum of their hop costs is least.

Source: Neural Simulated Annealing, sections III and IV. The cost of a job is C(N) of equation 1, without the paper's factor of 1,000.

Allocations without a search: one job after another, at the first idle nodes, by best fit, or at the cheapest place of the ring.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.allocation.compiled import lean
from simulator.topology.choosing import all_idle, change_idle, choose_tree, node_units
from simulator.topology.tree import SwitchTree, pair_hops, ring_hops

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

TOLERANCE = 1e-9
"""Relative difference below which two costs are equal: sums in another order differ in the last digits."""


@dataclass(frozen=True)
class Window:
    """Jobs that all start now, and the nodes that they may have.

    tree: of the cluster. idle: ids of the idle nodes, ascending, int64 (idle,): the sequence Q. sizes: nodes of each job, int64 (jobs,).
    integer: count whole hops as the public code does: pairs without order, divided by the nodes and rounded down, at least 1.

    Raises ValueError, with the remedy, for nodes that are not in the tree, not ascending or too few, and for jobs of no node.
    """

    tree: SwitchTree
    idle: IntArray
    sizes: IntArray
    integer: bool = False

    def __post_init__(self) -> None:
        idle = np.ascontiguousarray(self.idle, dtype=np.int64)
        sizes = np.ascontiguousarray(self.sizes, dtype=np.int64)
        if idle.ndim != 1 or sizes.ndim != 1:
            raise ValueError(f"idle nodes and sizes must be plain lists, got shapes {idle.shape} and {sizes.shape}")
        if (idle[1:] <= idle[:-1]).any():
            raise ValueError("idle nodes must be ascending and all different: sort them, and remove those named twice")
        if idle.size and (idle[0] < 0 or idle[-1] >= self.tree.nodes):
            raise ValueError(
                f"idle nodes {idle[0]} to {idle[-1]} are not all in the tree, whose nodes are 0 to {self.tree.nodes - 1}: "
                "remove the others, or give a larger tree"
            )
        if sizes.size and sizes.min() < 1:
            raise ValueError(f"a job needs at least 1 node, got {sizes.min()}: leave such jobs out")
        if sizes.sum() > idle.size:
            raise ValueError(f"the jobs need {sizes.sum()} nodes, {idle.size} are idle: leave jobs to the next window")
        object.__setattr__(self, "idle", idle)
        object.__setattr__(self, "sizes", sizes)

    def costs(self, pair_hops: IntArray, sizes: IntArray) -> FloatArray:
        """Costs of jobs of these sizes whose nodes have these hops, summed over unordered pairs. Shapes broadcast."""
        if self.integer:
            return np.maximum(1, pair_hops // sizes).astype(np.float64)
        return 2.0 * pair_hops / sizes

    def allocation(self, nodes: list[IntArray], seconds: float, bound: float | None = None) -> Allocation:
        """What a solver found. nodes: of each job, int64 (size,). bound: no allocation of the kind costs less, or None."""
        cost = self.cost_of(nodes)
        # a bound is a sum of other numbers than the cost, so both may differ in the last digits
        bound = None if bound is None else min(bound, cost)
        proven = bound is not None and cost - bound <= TOLERANCE * max(1.0, cost)
        return Allocation(tuple(nodes), cost, bound, proven, seconds)

    def cost_of(self, nodes: list[IntArray]) -> float:
        """Sum of the costs of all jobs."""
        hops = np.array([pair_hops(self.tree, job) for job in nodes], dtype=np.int64)
        return float(self.costs(hops, self.sizes).sum())


@dataclass(frozen=True)
class Allocation:
    """Nodes of each job, each int64 (size,), and what they cost together.

    bound: no allocation of the solver's kind costs less; None where the solver has no bound. proven: the cost is the least of that
    kind. seconds: time of the solver.
    """

    nodes: tuple[IntArray, ...]
    cost: float
    bound: float | None
    proven: bool
    seconds: float

    @property
    def gap(self) -> float | None:
        """How much of the cost might be saved at most, from 0 to 1; None without a bound."""
        if self.bound is None:
            return None
        return (self.cost - self.bound) / self.cost if self.cost else 0.0


@lean
def cost_of_hops(pair_hops, size, integer):
    """The cost of one job, as `Window.costs` has it. pair_hops: over unordered pairs."""
    if integer:
        return float(max(1, pair_hops // size))
    return 2.0 * pair_hops / size


# --- sequential


def sequential_allocation(window: Window) -> Allocation:
    """Each job, in the given order, takes the next idle nodes: the paper's initial solution, "Seq." of its tables."""
    started = time.perf_counter()
    ends = np.cumsum(window.sizes)
    nodes = [window.idle[end - size : end] for end, size in zip(ends.tolist(), window.sizes.tolist(), strict=True)]
    return window.allocation(nodes, time.perf_counter() - started)


def greedy_allocation(window: Window) -> Allocation:
    """The largest job first, each at the cheapest entry of the ring of nodes that are idle by then (DCAS)."""
    started = time.perf_counter()
    tree, idle = window.tree, window.idle
    nodes: list[np.ndarray] = [idle[:0]] * len(window.sizes)
    for job in np.argsort(-window.sizes, kind="stable").tolist():
        size = int(window.sizes[job])
        first = int(ring_hops(tree.switch, tree.hops, idle, size).argmin())
        entries = (first + np.arange(size)) % len(idle)
        nodes[job] = idle[entries]
        idle = np.delete(idle, entries)
    return window.allocation(nodes, time.perf_counter() - started)


def best_fit_allocation(window: Window) -> Allocation:
    """Each job, in the given order, gets what the rule `tree` of docs/reference/semantics.md gives it."""
    started = time.perf_counter()
    units = node_units(window.tree)
    state = all_idle(units)
    busy = np.delete(np.arange(window.tree.nodes, dtype=np.int64), window.idle)
    change_idle(units, state, busy, 0, len(busy), -1)
    nodes = []
    for size in window.sizes.tolist():
        choose_tree(units, state, size)
        nodes.append(state.chosen[:size].copy())
        change_idle(units, state, nodes[-1], 0, size, -1)
    return window.allocation(nodes, time.perf_counter() - started)
