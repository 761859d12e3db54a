"""A bound on free allocation by column generation: no allocation of the window costs less.

A column is a job size and how many nodes it takes from each class of leaves. Leaves below one switch with as many idle nodes are alike,
and are one class. The linear programme chooses as many columns of each size as there are jobs, within the idle nodes of each class. Its
dual prices say what a node of each class is worth to the other jobs. Pricing finds the cheapest column of each size, by the dynamic
programme of one job. The cheapest columns also give the bound, which holds in every round: Lagrange's.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from models.allocation.best_set import least_cost_set, put_cheapest, set_tables
from models.allocation.compiled import compiled
from models.allocation.leaves import IdleLeaves, hops_of_counts
from models.allocation.window import FloatArray, IntArray, Window

COLUMN_GAP = 1e-4
"""The rounds end when the bound is this close, relatively, to the linear programme: more rounds would hardly raise it."""
_PLACINGS = 3
"""Times that all jobs are placed in a round, each in another order: columns that fit together."""


@dataclass(frozen=True)
class ColumnBound:
    """What the column generation gives.

    bound: on the sum of the costs. prices: what a node of each leaf is worth, float64 (leaves,). counts: nodes of each job in each leaf
    in the cheapest allocation met on the way, int64 (jobs, leaves). rounds: that were needed.
    """

    bound: float
    prices: FloatArray
    counts: IntArray
    rounds: int


def column_bound(
    window: Window, leaves: IdleLeaves, counts: IntArray, seed: int, rounds: int = 20, seconds: float = math.inf
) -> ColumnBound:
    """The bound for a window with jobs. counts: of an allocation to begin at, int64 (jobs, leaves). rounds: at most.

    seconds: no round begins later.
    """
    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    sizes, kind, jobs = np.unique(window.sizes, return_inverse=True, return_counts=True)
    arrays = (leaves.above, leaves.saved, leaves.farthest, leaves.idle)
    key = leaves.above[min(1, len(leaves.above) - 1)] * (int(leaves.idle.max()) + 1) + leaves.idle
    class_of = np.unique(key, return_inverse=True)[1]
    master = _Master(class_of, leaves.idle, jobs)
    given = np.array([hops_of_counts(*arrays[:3], job) for job in counts])
    master.add(kind, counts, 2.0 * given / window.sizes)
    best = (float((2.0 * given / window.sizes).sum()), counts)
    bound, prices, made = -np.inf, np.zeros(len(leaves.idle)), 0
    for made in range(1, rounds + 1):  # noqa: B007
        for _ in range(_PLACINGS):
            noisy = prices * rng.uniform(0.7, 1.1)
            hops, placed = _place_all(arrays, window.sizes, rng.permutation(len(window.sizes)), noisy)
            costs = 2.0 * hops / window.sizes
            master.add(kind, placed, costs)
            if costs.sum() < best[0]:
                best = (float(costs.sum()), placed)
        least, duals = master.solve()
        values, patterns = _price_all(arrays, sizes, duals[class_of])
        lagrangian = float(values @ jobs - duals[class_of] @ leaves.idle)
        if lagrangian > bound:
            bound, prices = lagrangian, duals[class_of]
        if least - bound <= COLUMN_GAP * least or time.perf_counter() - started >= seconds:
            break
        master.add(np.arange(len(sizes)), patterns, values - patterns @ duals[class_of])
    return ColumnBound(_bound_of_kind(window, bound), prices, best[1], made)


def _bound_of_kind(window: Window, bound: float) -> float:
    """The bound in the cost of the window: rounding to whole hops loses at most (n - 1) / n of a hop for each job."""
    if not window.integer:
        return bound
    return float(np.ceil(bound / 2 - ((window.sizes - 1) / window.sizes).sum() - 1e-6))


class _Master:
    """The linear programme over the columns so far. class_of, idle: of each leaf, int64 (leaves,). jobs: of each size, int64 (sizes,)."""

    def __init__(self, class_of: IntArray, idle: IntArray, jobs: IntArray) -> None:
        from scipy import sparse

        self._classes = sparse.csr_matrix((np.ones(len(class_of)), (np.arange(len(class_of)), class_of)))
        self._capacity = idle @ self._classes
        self._jobs = jobs
        self._columns: dict[bytes, tuple[int, float]] = {}

    def add(self, kinds: IntArray, counts: IntArray, costs: FloatArray) -> None:
        """Adds the columns that are new. kinds: place of each one's size, int64 (n,). counts: int64 (n, leaves)."""
        nodes = np.asarray(counts @ self._classes, dtype=np.int64)
        for kind, column, cost in zip(kinds.tolist(), nodes, costs.tolist(), strict=True):
            key = column.tobytes() + kind.to_bytes(4, "little")
            if key not in self._columns or cost < self._columns[key][1]:
                self._columns[key] = (kind, cost)

    def solve(self) -> tuple[float, FloatArray]:
        """(least cost, price of a node of each class)."""
        from scipy import sparse
        from scipy.optimize import linprog

        kinds, costs = zip(*self._columns.values(), strict=True)
        nodes = np.frombuffer(b"".join(key[:-4] for key in self._columns), dtype=np.int64)
        of_classes = sparse.csc_matrix(nodes.reshape(len(kinds), -1).T, dtype=np.float64)
        of_sizes = sparse.csc_matrix((np.ones(len(kinds)), (kinds, np.arange(len(kinds)))))
        solution = linprog(
            costs, A_ub=of_classes, b_ub=self._capacity, A_eq=of_sizes, b_eq=self._jobs, method="highs-ds"
        )
        return float(solution.fun), np.maximum(0.0, -solution.ineqlin.marginals)


@compiled
def _price_all(leaves, sizes, prices):
    """Least cost of a job of each size with prices, float64 (sizes,), and its nodes in each leaf, int64 (sizes, leaves)."""
    above, saved, farthest, idle = leaves
    tables = set_tables(len(above), len(idle), sizes.max())
    nothing_left = np.zeros(len(saved))
    values, patterns = np.empty(len(sizes)), np.empty((len(sizes), len(idle)), dtype=np.int64)
    for k in range(len(sizes)):
        values[k] = least_cost_set(above, saved, idle, prices, nothing_left, sizes[k], tables)[0] + farthest * (
            sizes[k] - 1
        )
        patterns[k] = tables[4]
    return values, patterns


@compiled
def _place_all(leaves, sizes, order, prices):
    """Places all jobs in an order, each at its cheapest nodes with prices: pair hops, int64 (jobs,), and nodes, int64 (jobs, leaves)."""
    tables = set_tables(len(leaves[0]), len(leaves[3]), sizes.max())
    nothing_left = np.zeros(len(leaves[1]))
    free = leaves[3].copy()
    hops, counts = np.empty(len(sizes), dtype=np.int64), np.empty((len(sizes), len(free)), dtype=np.int64)
    for job in order:
        hops[job] = put_cheapest(leaves, free, prices, nothing_left, sizes[job], counts[job], tables)
    return hops, counts
