"""Static continuity assignment beyond the dynamic programme: a flow around the ring of idle nodes, solved by HiGHS with a proven gap.

An arc of the flow is a job of some size at some entry, or one entry that is skipped. Exactly one arc lies across the end of the
sequence. Jobs of one size are alike, and the flow has as many arcs of a size as there are jobs (section IV-B: a constrained path).

Most arcs can be left out. Lagrange's relaxation gives every size a price instead of a number. Then the least path is a short dynamic
programme, and its cost is a bound. It also gives a bound for the paths through each arc. Arcs above the best assignment so far
cannot change the result. HiGHS first searches the cheapest arcs, then all that are left.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from models.allocation.compiled import compiled, lean
from models.allocation.scas import ring_costs, ring_nodes
from models.allocation.window import TOLERANCE, Allocation, FloatArray, IntArray, Window

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_RELAXATIONS = 2000
"""Rounds of the relaxation. With 40 jobs on 900 idle nodes, the bound then almost equals that of the linear programme."""
_PATIENCE = 80
"""Rounds without a better bound after which the steps halve."""
_SEGMENT_JOBS = 6
"""Neighbours in the ring that the search before HiGHS orders best at once."""
_ARCS_PER_JOB = (10, 40)
"""Arcs for each job in the first searches of HiGHS. Each search has a third of the time that is left."""
_HALF = 0.5


def flow_allocation(window: Window, seconds: float, seed: int = 0) -> Allocation:
    """The least cost of static continuity assignments, or the best found in time with a bound.

    seconds: approximate limit of the solver. There is an assignment from the start. The same seed gives the same allocation where the
    limit is not reached. Raises ValueError for a limit that is not above 0.
    """
    if not seconds > 0.0:
        raise ValueError(f"the solver needs more than 0 seconds, got {seconds}")
    started = time.perf_counter()
    sizes, kind, jobs = np.unique(window.sizes, return_inverse=True, return_counts=True)
    if not len(sizes):
        return window.allocation([], time.perf_counter() - started, 0.0)
    costs = ring_costs(window.tree.switch, window.tree.hops, window.idle, sizes, window.integer)
    kinds, starts = improved_starts(costs, sizes, kind, 200 * len(kind), seed)
    best = float(costs[kinds, starts].sum())
    bound, at_least = relaxed_arcs(costs, sizes, jobs, best, _RELAXATIONS)
    order = np.argsort(at_least, axis=None, kind="stable")
    for arcs in (*(share * len(kind) for share in _ARCS_PER_JOB), costs.size):
        left = seconds - (time.perf_counter() - started)
        below = int((at_least < best - TOLERANCE * best).sum())
        if left <= 0.0 or bound >= best * (1 - TOLERANCE):
            break
        chosen = order[: min(arcs, below)]
        solution = _least_flow(costs, sizes, jobs, chosen, left if arcs >= below else left / 3)
        taken = chosen[solution.x[: len(chosen)] > _HALF] if solution.x is not None else chosen[:0]
        if len(taken) and costs.flat[taken].sum() < best:
            best, (kinds, starts) = float(costs.flat[taken].sum()), np.unravel_index(taken, costs.shape)
        if arcs >= below:
            bound = max(bound, _bound_of(solution, best))
            break
    first_entries = np.empty(len(kind), dtype=np.int64)
    first_entries[np.argsort(kind, kind="stable")] = starts[np.argsort(kinds, kind="stable")]
    return window.allocation(ring_nodes(window, first_entries), time.perf_counter() - started, bound)


def _bound_of(solution: OptimizeResult, best: float) -> float:
    """A bound from HiGHS on all arcs that are left. If they hold no assignment, none is better than the best so far."""
    if solution.status == 2:
        return best
    return -np.inf if solution.mip_dual_bound is None else min(best, float(solution.mip_dual_bound))


def _least_flow(costs: FloatArray, sizes: IntArray, jobs: IntArray, chosen: IntArray, seconds: float) -> OptimizeResult:
    """The least flow around the ring on chosen arcs. chosen: places in `costs`, as if it were flat."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    entries = costs.shape[1]
    kinds, starts = np.unravel_index(chosen, costs.shape)
    ends = starts + sizes[kinds]
    arcs, skips = np.arange(len(chosen)), np.arange(entries)
    begin, end = np.concatenate([starts, skips]), np.concatenate([ends, skips + 1])
    every = np.arange(len(begin))
    flow = sparse.csc_matrix(
        (np.repeat([1.0, -1.0], len(every)), (np.concatenate([begin, end % entries]), np.concatenate([every, every])))
    )
    across = sparse.csc_matrix((end >= entries).astype(float))
    of_size = sparse.csc_matrix((np.ones(len(chosen)), (kinds, arcs)), shape=(len(sizes), len(every)))
    return milp(
        np.concatenate([costs.flat[chosen], np.zeros(entries)]),
        constraints=[
            LinearConstraint(flow, 0, 0),
            LinearConstraint(across, 1, 1),
            LinearConstraint(of_size, jobs, jobs),
        ],
        integrality=np.ones(len(every)),
        bounds=Bounds(0, 1),
        options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 0.0},
    )


@compiled
def relaxed_arcs(costs, sizes, jobs, best, rounds):
    """A bound on every assignment, and one on those with each arc, float64 (sizes, entries).

    costs: of a job of each size at each entry, float64 (sizes, entries). jobs: of each size. best: cost of an assignment. A round
    moves the price of each size by the number of its jobs that are missing in the least path.
    """
    kinds, entries = costs.shape
    prices, best_prices = np.zeros(kinds), np.zeros(kinds)
    to_end, from_start = np.zeros(entries + 1), np.zeros(entries + 1)
    lacking = np.empty(kinds)
    bound, step, stuck = -np.inf, 1.0, 0
    for _ in range(rounds):
        value = _path_to_end(costs, sizes, prices, to_end, lacking) - (prices * jobs).sum()
        stuck += 1
        if value > bound:
            bound, stuck = value, 0
            best_prices[:] = prices
        if stuck == _PATIENCE:
            step, stuck = step / 2, 0
            prices[:] = best_prices
            continue
        lacking -= jobs
        length = (lacking * lacking).sum()
        if length == 0.0:
            break
        prices += step * max(best - value, 1e-9 * best) / length * lacking
    least = _path_to_end(costs, sizes, best_prices, to_end, lacking)
    offset = (best_prices * jobs).sum()
    for k in range(1, entries + 1):
        from_start[k] = from_start[k - 1]
        for kind in range(kinds):
            if sizes[kind] <= k:
                from_start[k] = min(
                    from_start[k], from_start[k - sizes[kind]] + costs[kind, k - sizes[kind]] + best_prices[kind]
                )
    across = 0.0  # the least that a job across the end adds to a path of all others
    for kind in range(kinds):
        for k in range(entries - sizes[kind] + 1, entries):
            across = min(across, costs[kind, k] + best_prices[kind])
    at_least = np.empty_like(costs)
    for kind in range(kinds):
        for k in range(entries):
            end = k + sizes[kind]
            rest = from_start[k] + to_end[end] + across if end <= entries else least
            at_least[kind, k] = rest + costs[kind, k] + best_prices[kind] - offset
    return least + across - offset, at_least


@lean
def _path_to_end(costs, sizes, prices, to_end, passed):
    """Least cost of a path from each entry to the end. passed: is filled with the jobs of each size on the path from the first entry."""
    kinds, entries = costs.shape
    to_end[entries] = 0.0
    for k in range(entries - 1, -1, -1):
        least = to_end[k + 1]
        for kind in range(kinds):
            if k + sizes[kind] <= entries:
                least = min(least, to_end[k + sizes[kind]] + costs[kind, k] + prices[kind])
        to_end[k] = least
    passed[:] = 0.0
    k = 0
    while k < entries:
        if to_end[k] == to_end[k + 1]:
            k += 1
            continue
        for kind in range(kinds):
            end = k + sizes[kind]
            if end <= entries and to_end[end] + costs[kind, k] + prices[kind] == to_end[k]:
                passed[kind] += 1.0
                k = end
                break
    return to_end[0]


@compiled
def improved_starts(costs, sizes, kinds, steps, seed):
    """Sizes of the jobs in the order of the ring, and their first entries: a search from the sequential assignment.

    kinds: size of each job as its place in `sizes`, int64 (jobs,). A step takes some neighbours in the ring, and orders and shifts
    them at random between the jobs on both sides. No job crosses the end.
    """
    np.random.seed(seed)  # noqa: NPY002  (compiled code has no Generator of its own to hand around)
    entries, jobs = costs.shape[1], len(kinds)
    ring, starts = kinds.copy(), np.empty(jobs, dtype=np.int64)
    at = np.int64(0)
    for k in range(jobs):
        starts[k] = at
        at += sizes[kinds[k]]
    most = min(_SEGMENT_JOBS, jobs)
    trial, table = np.empty(most, dtype=np.int64), np.empty((most + 1, entries + 1))
    for _ in range(steps):
        count = 1 + np.random.randint(0, most)  # noqa: NPY002
        first = np.random.randint(0, jobs - count + 1)  # noqa: NPY002
        low = starts[first - 1] + sizes[ring[first - 1]] if first > 0 else 0
        high = starts[first + count] if first + count < jobs else entries
        before = 0.0
        for k in range(count):
            trial[k] = ring[first + k]
            before += costs[ring[first + k], starts[first + k]]
        for k in range(count - 1):
            other = np.random.randint(k, count)  # noqa: NPY002
            trial[k], trial[other] = trial[other], trial[k]
        if _least_shifts(costs, sizes, trial[:count], low, high, table) <= before:
            k = high
            for job in range(count - 1, -1, -1):
                while k > low and table[job + 1, k] == table[job + 1, k - 1]:
                    k -= 1
                k -= sizes[trial[job]]
                ring[first + job], starts[first + job] = trial[job], k
    return ring, starts


@lean
def _least_shifts(costs, sizes, order, low, high, table):
    """Least cost of jobs in this order between two entries. table: row j is that of the first j jobs up to each entry."""
    for k in range(low, high + 1):
        table[0, k] = 0.0
    for job in range(len(order)):
        size = sizes[order[job]]
        table[job + 1, low] = np.inf
        for k in range(low + 1, high + 1):
            table[job + 1, k] = table[job + 1, k - 1]
            if k - low >= size:
                table[job + 1, k] = min(table[job + 1, k], table[job, k - size] + costs[order[job], k - size])
    return table[len(order), high]
