"""Free allocation: a job may have any idle nodes. Each job alone is solved exactly, all together by a large-neighbourhood search.

A step removes some jobs and puts each back at its cheapest nodes, one after another in random order. Random prices of the leaves vary
what is cheapest. With a proof, the prices come from the column generation: what a node of a leaf is worth to the other jobs. The
search stops early where the cost reaches the bound.

A bound on free allocation by column generation: no allocation of the window costs less.

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

from models.allocation.compiled import compiled, lean
from models.allocation.leaves import IdleLeaves, hops_of_counts, idle_leaves, least_cost_set, put_cheapest, set_tables
from models.allocation.scas import scas_allocation, scas_cells
from models.allocation.window import TOLERANCE, Allocation, FloatArray, IntArray, Window, cost_of_hops

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


# --- free


FREE_STEPS_PER_JOB = 160
"""Steps of the search for each job of the window, by default."""
_PARTS = 16
"""Parts of a search with a time limit, which is read between them."""
_SCAS_CELLS = 1 << 18
"""Windows up to this size begin at the static optimum, which then takes a millisecond."""


def free_allocation(
    window: Window,
    seed: int,
    steps: int | None = None,
    prove: bool = False,
    gap: float = 0.0,
    seconds: float = math.inf,
) -> Allocation:
    """The best allocation that the search meets, and a bound on free allocation.

    The search begins at the better of two allocations: the static optimum, where the window is small enough for it, and the largest
    job first, each at its cheapest nodes. The same seed gives the same allocation where no time limit is reached.

    steps: of the search; by default 160 for each job. prove: compute a bound by column generation after an eighth of the steps, and let
    its prices guide a second search of twice the steps. Otherwise the bound is the sum of what each job costs alone on the idle nodes.
    gap: the search may end when the bound is as close, from 0 to 1.
    seconds: limit of the search, about; there is an allocation from the start.
    """
    started = time.perf_counter()
    limit = started + seconds
    if not len(window.sizes):
        return window.allocation([], time.perf_counter() - started, 0.0)
    leaves = idle_leaves(window)
    arrays = (leaves.above, leaves.saved, leaves.farthest, leaves.idle)
    steps = FREE_STEPS_PER_JOB * len(window.sizes) if steps is None else steps
    least = least_costs(window, leaves)
    bound = float(least.sum())
    counts = np.zeros((len(window.sizes), len(leaves.idle)), dtype=np.int64)
    if scas_cells(window) <= _SCAS_CELLS:
        counts = counts_of_nodes(window, leaves, scas_allocation(window).nodes)
    jobs = (window.sizes, window.integer, least)
    unguided = (np.zeros(len(leaves.idle)), steps // 8 if prove else steps, 3)
    counts = _search_until(limit, arrays, jobs, counts, unguided, bound / (1 - gap), seed)
    is_late = time.perf_counter() >= limit
    if prove and not is_late and _search_costs(arrays, jobs, counts).sum() > bound * (1 + TOLERANCE):
        columns = column_bound(window, leaves, counts, seed, seconds=limit - time.perf_counter())
        bound = max(bound, columns.bound)
        guided = (columns.prices, 2 * steps, 6)
        counts = _search_until(limit, arrays, jobs, columns.counts, guided, bound / (1 - gap), seed)
    return window.allocation(leaves.nodes_of(window, counts), time.perf_counter() - started, bound)


def _search_until(
    limit: float, arrays: tuple, jobs: tuple, counts: IntArray, guide: tuple, enough: float, seed: int
) -> IntArray:
    """`_search`, in parts where there is a limit of `time.perf_counter`: it may end after each."""
    prices, steps, most_removed = guide
    part = max(1, steps // _PARTS if limit < math.inf else steps)
    for first in range(0, max(1, steps), part):
        part_seed = int(np.random.SeedSequence([seed, first]).generate_state(1)[0]) if first else seed
        guide = (prices, min(part, steps - first), most_removed)
        counts = _search(arrays, jobs, counts, guide, enough, part_seed)
        if time.perf_counter() >= limit:
            break
    return counts


def least_costs(window: Window, leaves: IdleLeaves) -> FloatArray:
    """What each job costs if it has all idle nodes to choose from, float64 (jobs,)."""
    kinds, kind = np.unique(window.sizes, return_inverse=True)
    hops = _hops_alone((leaves.above, leaves.saved, leaves.farthest, leaves.idle), kinds)
    return window.costs(hops, kinds)[kind]


def counts_of_nodes(window: Window, leaves: IdleLeaves, nodes: tuple[IntArray, ...]) -> IntArray:
    """Nodes of each job in each leaf, int64 (jobs, leaves)."""
    leaf_of_node = np.zeros(window.tree.nodes, dtype=np.int64)
    leaf_of_node[window.idle] = leaves.leaf_of
    return np.array([np.bincount(leaf_of_node[job], minlength=len(leaves.idle)) for job in nodes], dtype=np.int64)


@compiled
def _hops_alone(leaves, sizes):
    """Least pair hops of a job of each size on all idle nodes, int64 (sizes,)."""
    tables = set_tables(len(leaves[0]), len(leaves[3]), sizes.max())
    nothing_left = np.zeros(len(leaves[1]))
    prices, counts = np.zeros(len(leaves[3])), np.empty(len(leaves[3]), dtype=np.int64)
    hops = np.empty(len(sizes), dtype=np.int64)
    for k in range(len(sizes)):
        hops[k] = put_cheapest(leaves, leaves[3].copy(), prices, nothing_left, sizes[k], counts, tables)
    return hops


@compiled
def _search_costs(leaves, jobs, counts):
    """Costs of all jobs, float64 (jobs,)."""
    costs = np.empty(len(counts))
    for job in range(len(counts)):
        hops = hops_of_counts(leaves[0], leaves[1], leaves[2], counts[job])
        costs[job] = _search_cost(hops, jobs[0][job], jobs[1])
    return costs


@compiled
def _search(leaves, jobs, given, guide, enough, seed):
    """The best counts that are met.

    jobs: sizes, whether costs are integers, and what each costs alone. given: counts to begin at, int64 (jobs, leaves), or zeros.
    guide: price of a node of each leaf, float64 (leaves,), steps, and the most jobs that a step removes. enough: a cost to stop at.
    """
    np.random.seed(seed)  # noqa: NPY002  (compiled code has no Generator of its own to hand around)
    above, idle = leaves[0], leaves[3]
    sizes, integer, least = jobs
    guiding, steps, most_removed = guide
    tables = set_tables(len(above), len(idle), sizes.max())
    nothing_left = np.zeros(len(leaves[1]))
    prices = guiding.copy()
    counts, costs = np.zeros_like(given), np.empty(len(sizes))
    free = idle.copy()
    for job in np.argsort(-sizes):
        hops = put_cheapest(leaves, free, prices, nothing_left, sizes[job], counts[job], tables)
        costs[job] = _search_cost(hops, sizes[job], integer)
    if given.sum() > 0 and _search_costs(leaves, jobs, given).sum() < costs.sum():
        counts[:], costs[:] = given, _search_costs(leaves, jobs, given)
        free[:] = idle - given.sum(axis=0)
    before, costs_before = np.empty((most_removed, len(idle)), dtype=np.int64), np.empty(most_removed)
    order, home = np.arange(len(sizes)), np.empty(len(sizes), dtype=np.int64)
    for job in range(len(sizes)):
        home[job] = _home(above, counts[job])
    near, choice = free.copy(), np.empty(above[min(1, len(above) - 1)].max() + 1, dtype=np.bool_)
    total = costs.sum()
    for _ in range(steps):
        if total <= enough * (1 + TOLERANCE):
            break
        removed = min(1 + np.random.randint(0, most_removed), len(sizes))  # noqa: NPY002
        _choose_related(order, removed, home, costs, least)
        for k in range(removed):
            before[k], costs_before[k] = counts[order[k]], costs[order[k]]
            free += before[k]
        _choose_switches(above[min(1, len(above) - 1)], before[:removed], choice)
        _vary(above[min(1, len(above) - 1)], prices, guiding, free, choice, near)
        change = 0.0
        for k in range(removed):
            job = order[k]
            hops = put_cheapest(leaves, near, prices, nothing_left, sizes[job], counts[job], tables)
            costs[job] = _search_cost(hops, sizes[job], integer)
            change += costs[job] - costs_before[k]
        if change > TOLERANCE:
            for k in range(removed):
                counts[order[k]], costs[order[k]] = before[k], costs_before[k]
        else:
            total += change
        for k in range(removed):
            free -= counts[order[k]]
            home[order[k]] = _home(above, counts[order[k]])
    return counts


@lean
def _choose_switches(switches, removed, choice):
    """Chooses the switches of the second level where a step looks for nodes: in one of eight steps all, else those of the removed jobs
    and two more. switches: above each leaf. removed: counts of the removed jobs, int64 (removed, leaves). choice: is filled."""
    if np.random.randint(0, 8) == 0:  # noqa: NPY002
        choice[:] = True
        return
    choice[:] = False
    for k in range(len(removed)):
        for leaf in range(len(switches)):
            if removed[k, leaf] > 0:
                choice[switches[leaf]] = True
    for _ in range(2):
        choice[switches[np.random.randint(0, len(switches))]] = True  # noqa: NPY002


@lean
def _vary(switches, prices, guiding, free, choice, near):
    """Draws the prices of a step: a share of the guiding ones, and in every other step some noise. near: free nodes of the choice."""
    share = 1.2 * np.random.random()  # noqa: NPY002
    noise = np.random.random() * np.random.randint(0, 2)  # noqa: NPY002
    for leaf in range(len(prices)):
        near[leaf] = free[leaf] if choice[switches[leaf]] else 0
        if near[leaf] > 0:
            prices[leaf] = share * guiding[leaf]
            if noise > 0.0:
                prices[leaf] += noise * np.random.random()  # noqa: NPY002


@lean
def _search_cost(hops, size, integer):
    """The cost of a job. Of two that round to the same integer, the one with fewer hops counts a little less."""
    return cost_of_hops(hops, size, integer) + (1e-6 * hops / size if integer else 0.0)


@lean
def _choose_related(order, removed, home, costs, least):
    """Brings jobs to the front of `order`: first the worse of two random ones, then some with the same home."""
    jobs = len(order)
    one, other = np.random.randint(0, jobs), np.random.randint(0, jobs)  # noqa: NPY002
    if costs[order[other]] - least[order[other]] > costs[order[one]] - least[order[one]]:
        one = other
    order[0], order[one] = order[one], order[0]
    for k in range(1, removed):
        chosen = np.random.randint(k, jobs)  # noqa: NPY002
        for _ in range(8):
            if home[order[chosen]] == home[order[0]]:
                break
            chosen = np.random.randint(k, jobs)  # noqa: NPY002
        order[k], order[chosen] = order[chosen], order[k]


@lean
def _home(above, counts):
    """The switch of the second level above the job's first node."""
    leaf = 0
    while counts[leaf] == 0:
        leaf += 1
    return above[min(1, len(above) - 1), leaf]
