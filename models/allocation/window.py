"""The problem of one window: which idle nodes each job gets, so that the sum of their hop costs is least.

Source: Neural Simulated Annealing, sections III and IV. The cost of a job is C(N) of equation 1, without the paper's factor of 1,000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.allocation.compiled import lean
from simulator.topology.hops import pair_hops
from simulator.topology.tree import SwitchTree

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
