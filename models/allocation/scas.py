"""The exact optimum of static continuity assignment: each job takes consecutive entries of the ring of idle nodes (section IV).

A dynamic programme goes over the entries. Its state is how many jobs of each size are placed, so jobs of one size count as one kind.
At most one job lies across the end of the sequence. Without one, a single pass from the first entry is the optimum. With one, the pass
begins behind its part at the front, and ends before its part at the back. Such a pass is needed only where the job's own cost and the
least cost of all others on the whole sequence are below the best so far. That is seldom, as such a job joins both ends of the tree.
"""

from __future__ import annotations

import math
import time

import numpy as np

from models.allocation.compiled import compiled, lean
from models.allocation.window import Allocation, IntArray, Window, cost_of_hops
from simulator.topology.tree import ring_hops

MOST_SCAS_CELLS = 1 << 24
"""Most cells in the table of the dynamic programme, which is 128 MB. It is just enough for 12 jobs of different sizes on thousands of
idle nodes."""


def scas_cells(window: Window) -> int:
    """Cells of the table that `scas_allocation` needs. More than MOST_SCAS_CELLS are too many."""
    counts = np.unique(window.sizes, return_counts=True)[1]
    return (len(window.idle) + 1) * math.prod((counts + 1).tolist())


def scas_allocation(window: Window) -> Allocation:
    """The least cost of all static continuity assignments, proven. Raises ValueError for a window with too many jobs."""
    started = time.perf_counter()
    if scas_cells(window) > MOST_SCAS_CELLS:
        raise ValueError(
            f"{len(window.sizes)} jobs on {len(window.idle)} idle nodes are too many for the dynamic programme: "
            "use flow_allocation"
        )
    sizes, kind, counts = np.unique(window.sizes, return_inverse=True, return_counts=True)
    first, cost = np.zeros(len(window.sizes), dtype=np.int64), 0.0
    if len(sizes):
        costs = ring_costs(window.tree.switch, window.tree.hops, window.idle, sizes, window.integer)
        starts, cost = least_starts(costs, sizes, counts)
        first[np.argsort(kind, kind="stable")] = starts
    nodes = ring_nodes(window, first)
    return Allocation(tuple(nodes), cost, cost, True, time.perf_counter() - started)


def ring_nodes(window: Window, first: IntArray) -> list[IntArray]:
    """Nodes of each job by its first entry of the ring. first: int64 (jobs,)."""
    ring = np.concatenate([window.idle, window.idle])
    return [ring[k : k + size] for k, size in zip(first.tolist(), window.sizes.tolist(), strict=True)]


@compiled
def ring_costs(switch, hops, idle, sizes, integer):
    """Cost of a job of each size at each entry of the ring, float64 (sizes, idle)."""
    costs = np.empty((len(sizes), len(idle)))
    for kind in range(len(sizes)):
        around = ring_hops(switch, hops, idle, sizes[kind])
        for k in range(len(idle)):
            costs[kind, k] = cost_of_hops(around[k], sizes[kind], integer)
    return costs


@compiled
def least_starts(costs, sizes, counts):
    """First entries of all jobs in an assignment of least cost, int64 (jobs,), in the order of the sizes, and that cost.

    costs: of a job of each size at each entry, float64 (sizes, idle). sizes: ascending, all different. counts: jobs of each size.
    """
    kinds, entries = costs.shape
    steps = np.ones(kinds + 1, dtype=np.int64)  # how much the number of a state grows with a job of each size
    for kind in range(kinds):
        steps[kind + 1] = steps[kind] * (counts[kind] + 1)
    full = steps[kinds] - 1
    jobs = (sizes, counts, steps)
    table = np.empty((entries + 1, full + 1))
    best_starts = np.empty(counts.sum(), dtype=np.int64)
    _pass(costs, jobs, 0, entries, table)
    least = table[entries, full]
    _trace_back(costs, jobs, 0, entries, table, full, best_starts)
    others = np.empty(kinds)  # least cost of all jobs but one of this size, on the whole sequence
    for kind in range(kinds):
        others[kind] = table[entries, full - steps[kind]]
    for front in range(1, sizes[-1]):
        last = -1  # the smallest job that may pay leaves the most room before it
        for kind in range(kinds):
            if sizes[kind] > front and costs[kind, entries - sizes[kind] + front] + others[kind] < least:
                last = max(last, entries - sizes[kind] + front)
        if last < 0:
            continue
        _pass(costs, jobs, front, last, table)
        for kind in range(kinds):
            start = entries - sizes[kind] + front
            if front < sizes[kind] and start <= last:
                rest = full - steps[kind]
                total = table[start - front, rest] + costs[kind, start]
                if total < least:
                    least = total
                    _trace_back(costs, jobs, front, start, table, rest, best_starts)
                    best_starts[_jobs_before(counts, kind) + counts[kind] - 1] = start
    return best_starts, least


@lean
def _pass(costs, jobs, first, last, table):
    """Fills row k of the table with the least cost of each state on entries `first` to `first + k`, not included."""
    sizes, counts, steps = jobs
    kinds, states = len(sizes), table.shape[1]
    table[0, 0] = 0.0
    for state in range(1, states):
        table[0, state] = np.inf
    for k in range(1, last - first + 1):
        for state in range(states):
            table[k, state] = table[k - 1, state]
        for kind in range(kinds):
            size, step, count = sizes[kind], steps[kind], counts[kind]
            if size <= k:
                cost = costs[kind, first + k - size]
                _place(table[k], table[k - size], cost, step, count, states)


@lean
def _place(row, before, cost, step, count, states):
    """Places one more job of a size. The states that have room for it are those that do not have all jobs of this size."""
    for block in range(0, states, step * (count + 1)):
        for state in range(block + step, block + step * (count + 1)):
            total = before[state - step] + cost
            if total < row[state]:
                row[state] = total


@lean
def _trace_back(costs, jobs, first, last, table, state, starts):
    """Reads the first entries of the jobs of a state from the table."""
    sizes, counts, steps = jobs
    kinds = len(sizes)
    k = last - first
    while state > 0:
        if table[k, state] == table[k - 1, state]:
            k -= 1
            continue
        for kind in range(kinds):
            if sizes[kind] <= k and (state // steps[kind]) % (counts[kind] + 1) > 0:
                start = first + k - sizes[kind]
                if table[k - sizes[kind], state - steps[kind]] + costs[kind, start] == table[k, state]:
                    left = (state // steps[kind]) % (counts[kind] + 1) - 1
                    starts[_jobs_before(counts, kind) + left] = start
                    state -= steps[kind]
                    k -= sizes[kind]
                    break


@lean
def _jobs_before(counts, kind):
    """Jobs of the sizes before this one."""
    jobs = np.int64(0)
    for k in range(kind):
        jobs += counts[k]
    return jobs
