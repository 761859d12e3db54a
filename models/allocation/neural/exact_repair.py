"""The best repair of a destroyed assignment, found by trying everything, and a search that repairs so.

A repair puts one or two jobs back (Neural Simulated Annealing, section V-A). A network chooses the first node of each among the entries
of Q that it sees. So at most `seen * seen` repairs exist, and the cheapest bounds what any network can do. The search is that of
`neural_annealing.py` with another chooser. Functions are compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.allocation.annealing import AnnealingRules
from models.allocation.compiled import compiled, lean
from models.allocation.neural.neural_annealing import draw_removed, walk_of
from models.allocation.neural.repairing import RepairBatch, RepairProblem, cost_at, idle_queue, place_job

FloatArray = NDArray[np.float64]


class RepairValues(NamedTuple):
    """What the jobs to be placed cost together, by the entry at which the next one begins, float64 (windows, seen).

    best: if the one after it begins at its best entry. mean: the mean over its entries. Infinite where Q has no such entry.
    """

    best: FloatArray
    mean: FloatArray

    @property
    def least(self) -> FloatArray:
        """Cost of the best repair, (windows,)."""
        return self.best.min(axis=1)

    @property
    def random(self) -> FloatArray:
        """Expected cost of a repair whose entries are drawn with equal chances, (windows,)."""
        return np.nanmean(np.where(np.isfinite(self.mean), self.mean, np.nan), axis=1)


def repair_values(batch: RepairBatch) -> RepairValues:
    """Of the state that each window of the batch is in, with one or two jobs left to place. Raises ValueError otherwise."""
    arrays = batch.arrays
    left = arrays.ends - arrays.placed
    if left.min() < 1 or left.max() > 2:
        raise ValueError(f"repairs are of one or two jobs, not of {sorted(set(left.tolist()))}")
    best, mean = (np.full((len(left), batch.seen_nodes), np.inf) for _ in range(2))
    value_windows(batch.problem, arrays, best, mean)
    return RepairValues(best, mean)


def repaired_costs(batch: RepairBatch, rules: AnnealingRules, seed: int, best: bool, begin: bool = False) -> FloatArray:
    """Cost of each window's best assignment after `rules.steps` moves from the present one, (windows,).

    best: repairs are the cheapest, otherwise their entries are drawn with equal chances. begin: the batch gets the last assignment
    of the search. Raises ValueError while jobs are left to place.
    """
    if not batch.done:
        raise ValueError("a search begins at an assignment of all jobs")
    walk = walk_of(rules)
    costs = np.empty(len(batch.jobs))
    arrays = batch.arrays
    for row, jobs in enumerate(batch.jobs.tolist()):
        length = int(arrays.length[row])
        draws = np.random.default_rng([seed, row]).random((rules.steps, 2 + 2 * rules.removed))
        window = arrays.idle[row, :length], arrays.sizes[row, :jobs]
        owner, cost = arrays.owner[row, :length].copy(), arrays.cost[row, :jobs].copy()
        costs[row] = walk_repairs(batch.problem, window, (owner, cost), walk, best, batch.seen_nodes, draws)
        if begin:
            arrays.owner[row, :length], arrays.cost[row, :jobs] = owner, cost
    return costs


@compiled
def value_windows(problem: RepairProblem, windows, best, mean):
    """Fills the arrays of RepairValues, which come as infinity."""
    width = windows.idle.shape[1]
    queue, after = np.empty(width, dtype=np.int64), np.empty(width, dtype=np.int64)
    counts = np.zeros((problem.switch.shape[0], problem.switch.shape[1]), dtype=np.int64)
    for w in range(len(windows.length)):
        count = idle_queue(windows.owner[w], windows.length[w], queue)
        at = windows.placed[w]
        first = windows.sizes[w, windows.to_place[w, at]]
        second = windows.sizes[w, windows.to_place[w, at + 1]] if at + 1 < windows.ends[w] else 0
        for i in range(min(count, best.shape[1])):
            cost = cost_at(problem, counts, windows.idle[w], queue[:count], i, first)
            least, total, entries = 0.0, 0.0, 1
            if second > 0:
                left = queue_without(queue[:count], i, first, after)
                least, total, _ = value_last(problem, counts, windows.idle[w], after[:left], second, best.shape[1])
                entries = min(left, best.shape[1])
            best[w, i] = cost + least
            mean[w, i] = cost + total / entries


@lean
def value_last(problem, counts, idle, queue, size, seen):
    """Of the last job: its least cost, the sum over the seen entries, and the first entry that has the least."""
    least, total, entry = np.inf, 0.0, 0
    for j in range(min(len(queue), seen)):
        cost = cost_at(problem, counts, idle, queue, j, size)
        total += cost
        if cost < least - 1e-12:
            least, entry = cost, j
    return least, total, entry


@lean
def queue_without(queue, first, size, after):
    """Fills `after` with Q without a job that begins at an entry. Returns how many entries are left."""
    left = np.int64(0)
    for k in range(len(queue)):
        if (k - first) % len(queue) >= size:
            after[left] = queue[k]
            left += 1
    return left


@compiled
def walk_repairs(problem, window, assignment, walk, best, seen, draws):
    """Fills the assignment (owner, cost) with the last one of the search, and returns the cost of the best one.

    window: idle nodes and sizes. best: whether repairs are the cheapest. draws: below 1, `(steps, 2 + 2 * jobs to remove at most)`.
    """
    idle, sizes = window
    owner, costs = assignment
    trial, trial_costs = owner.copy(), costs.copy()
    order = np.arange(len(sizes))
    queue, after = np.empty(len(idle), dtype=np.int64), np.empty(len(idle), dtype=np.int64)
    counts = np.zeros((problem.switch.shape[0], problem.switch.shape[1]), dtype=np.int64)
    current = lowest = costs.sum()
    steps = len(draws)
    for step in range(steps):
        removed = draw_removed(order, sizes, walk, draws[step])
        trial_costs[:] = costs
        for k in range(len(idle)):
            trial[k] = owner[k]
            for at in range(removed):
                if owner[k] == order[at]:
                    trial[k] = -1
        for at in range(removed):
            job = order[at]
            free = idle_queue(trial, len(idle), queue)
            choices = min(free, seen)
            first = int(draws[step, 1 + walk.removed + at] * choices)
            if best:
                following = sizes[order[at + 1]] if at + 1 < removed else 0
                first = best_entry(problem, counts, idle, queue[:free], sizes[job], following, seen, after)
            trial_costs[job] = place_job(problem, counts, idle, trial, queue[:free], first, job, sizes[job])
        cost = trial_costs.sum()
        heat = walk.hottest * walk.cooling ** (step / steps)
        if not walk.undo or cost <= current or draws[step, -1] < np.exp((current - cost) / heat):
            current = cost
            owner[:] = trial
            costs[:] = trial_costs
            lowest = min(lowest, cost)
    return lowest


@lean
def best_entry(problem, counts, idle, queue, size, following, seen, after):
    """The entry of Q from which a job and the one after it, if `following` has a size, cost least together."""
    least, entry = np.inf, 0
    for i in range(min(len(queue), seen)):
        cost = cost_at(problem, counts, idle, queue, i, size)
        if following > 0 and cost < least:
            left = queue_without(queue, i, size, after)
            cost += value_last(problem, counts, idle, after[:left], following, seen)[0]
        if cost < least - 1e-12:
            least, entry = cost, i
    return entry
