"""Simulated annealing over dynamic continuity assignments (Neural Simulated Annealing, Algorithm 1), corrected and as published.

A move removes one or two jobs and puts each back at a random entry of the sequence Q as it is then. The public code never undoes a
move that it rejects. So its temperature has no effect: it is a random walk that remembers the best it has seen.

Nodes of a leaf are alike. So the sequence is kept as the number of free nodes in each leaf, and a job as its runs: how many nodes it
has in which leaf, in the order in which it took them. A move touches the leaves of the jobs that it moves, and nothing else.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from models.allocation.compiled import compiled, lean
from models.allocation.leaves import IdleLeaves, idle_leaves
from models.allocation.window import Allocation, FloatArray, Window, cost_of_hops, sequential_allocation

_TRIES = 16
"""Random entries of all idle nodes that are tried before the free ones are counted."""


@dataclass(frozen=True)
class AnnealingRules:
    """How the search moves.

    steps: moves. first_temperature, last_temperature: of the first move and after the last one, in the unit of the cost. Between them it
    falls exponentially. removed: most jobs that a move takes out. undo: take back a rejected move. largest_first: put the removed jobs
    back by descending size, otherwise in their order in the window. entries: from how many first entries a job may begin, 0 for all.

    Raises ValueError for values that make no search.
    """

    steps: int = 500
    first_temperature: float = 2.5
    last_temperature: float = 0.0025
    removed: int = 2
    undo: bool = True
    largest_first: bool = True
    entries: int = 0

    def __post_init__(self) -> None:
        if self.steps < 0 or self.removed < 1 or self.entries < 0:
            raise ValueError(f"steps and entries must be at least 0 and removed at least 1, got {self}")
        if not 0.0 < self.last_temperature <= self.first_temperature:
            raise ValueError(f"temperatures must be above 0 and not rise, got {self}")


PAPERS_ANNEALING = AnnealingRules()
"""Table I. The paper counts 1,000 for a hop, so its temperatures are divided by that here."""
PUBLISHED_ANNEALING = AnnealingRules(first_temperature=25.0, undo=False, largest_first=False, entries=100)
"""The public code: rejected moves are kept, removed jobs return in the order of the queue, and begin at one of the first 100 entries."""


def annealed_allocation(window: Window, rules: AnnealingRules, seed: int) -> Allocation:
    """The best allocation that the search meets. It begins at the sequential one. The same seed gives the same allocation."""
    return annealing_path(window, rules, seed)[0]


def annealing_path(window: Window, rules: AnnealingRules, seed: int) -> tuple[Allocation, FloatArray]:
    """The best allocation, and the cost of the current one after every move, float64 (steps,)."""
    started = time.perf_counter()
    if not len(window.sizes):
        return sequential_allocation(window), np.zeros(rules.steps)
    leaves = idle_leaves(window)
    schedule = (rules.first_temperature, math.log(rules.last_temperature / rules.first_temperature))
    options = (rules.removed, rules.undo, rules.largest_first, rules.entries)
    path = np.empty(rules.steps)
    counts = _anneal(_idle(leaves), window.sizes, window.integer, schedule, options, path, seed)
    return window.allocation(leaves.nodes_of(window, counts), time.perf_counter() - started), path


def _idle(leaves: IdleLeaves) -> tuple:
    return leaves.idle, leaves.first, leaves.leaf_of, leaves.above, leaves.saved, leaves.farthest


@compiled
def _anneal(idle, sizes, integer, schedule, options, path, seed):
    """Fills `path`, and returns the nodes of each job in each leaf in the best allocation, int64 (jobs, leaves)."""
    np.random.seed(seed)  # noqa: NPY002  (compiled code has no Generator of its own to hand around)
    jobs, longest = len(sizes), sizes.max() + 1  # a job around the whole ring may return to its first leaf
    removed, undo, largest_first, entries = options
    free = idle[0].copy()
    # each job has two places for its runs: the current one, and one for the next move
    runs = np.zeros((2, jobs, longest, 2), dtype=np.int64)
    length = np.zeros((2, jobs), dtype=np.int64)
    costs = np.zeros((2, jobs))
    place = np.zeros(jobs, dtype=np.int64)
    scratch = np.empty((4, len(idle[4])), dtype=np.int64)
    state = (free, runs, length, costs, place)
    left = len(idle[2])
    for job in range(jobs):
        _put(idle, sizes[job], integer, state, job, (0, left), scratch)
        left -= sizes[job]
    order = np.arange(jobs)
    current = costs[0].sum()
    best, best_runs, best_length = current, runs[0].copy(), length[0].copy()
    steps = len(path)
    for step in range(steps):
        count = min(1 + np.random.randint(0, removed), jobs)  # noqa: NPY002
        _choose(order, count, sizes, largest_first)
        total, entries_left = current, left
        for k in range(count):
            job = order[k]
            total -= costs[place[job], job]
            entries_left += sizes[job]
            _release(free, runs[place[job], job], length[place[job], job], 1)
        for k in range(count):
            job = order[k]
            place[job] = 1 - place[job]
            _put(idle, sizes[job], integer, state, job, (-1 if entries == 0 else entries, entries_left), scratch)
            total += costs[place[job], job]
            entries_left -= sizes[job]
        if undo and not _accepts(total - current, schedule, step / steps):
            _take_back(state, order, count)
        else:
            current = total
            if current < best - 1e-9:
                best = current
                for job in range(jobs):
                    best_length[job] = length[place[job], job]
                    best_runs[job, : best_length[job]] = runs[place[job], job, : best_length[job]]
        path[step] = current
    counts = np.zeros((jobs, len(free)), dtype=np.int64)
    for job in range(jobs):
        _release(counts[job], best_runs[job], best_length[job], 1)
    return counts


@lean
def _accepts(change, schedule, progress):
    """Metropolis. progress: share of the moves that are made."""
    if change <= 0.0:
        return True
    first_temperature, log_ratio = schedule
    return np.random.random() < math.exp(-change / (first_temperature * math.exp(log_ratio * progress)))  # noqa: NPY002


@lean
def _choose(order, count, sizes, largest_first):
    """Brings random jobs to the front of `order`, and sorts them as they will be put back."""
    for k in range(count):
        other = np.random.randint(k, len(order))  # noqa: NPY002
        order[k], order[other] = order[other], order[k]
    for k in range(1, count):
        job, at = order[k], k
        while at > 0 and placed_before(job, order[at - 1], sizes, largest_first):
            order[at] = order[at - 1]
            at -= 1
        order[at] = job


@lean
def placed_before(one, other, sizes, largest_first):
    """Whether a job is placed before another one."""
    if largest_first and sizes[one] != sizes[other]:
        return sizes[one] > sizes[other]
    return one < other


@lean
def _release(free, runs, length, sign):
    """Adds the nodes of a job's runs to the leaves, or with -1 takes them away."""
    for k in range(length):
        free[runs[k, 0]] += sign * runs[k, 1]


@lean
def _take_back(state, order, count):
    """Restores the jobs of a rejected move."""
    free, runs, length, _, place = state
    for k in range(count):
        job = order[k]
        _release(free, runs[place[job], job], length[place[job], job], 1)
        place[job] = 1 - place[job]
    for k in range(count):
        job = order[k]
        _release(free, runs[place[job], job], length[place[job], job], -1)


@lean
def _put(idle, size, integer, state, job, choice, scratch):
    """Puts a job at an entry of the sequence, and keeps its runs and cost.

    choice: (how many first entries to choose from, -1 for all and 0 for the first; free nodes).
    scratch: int64 (4, levels - 1), for the switches and counts of each level.
    """
    free, runs, length, costs, place = state
    entries, left = choice
    leaf, skipped = _entry(idle, free, entries, left)
    mine = runs[place[job], job]
    missing, count = size, np.int64(0)
    while missing > 0:
        taken = min(free[leaf] - skipped, missing)
        if taken > 0:
            free[leaf] -= taken
            missing -= taken
            mine[count, 0] = leaf
            mine[count, 1] = taken
            count += 1
        skipped = 0
        leaf += 1
        if leaf == len(free):
            leaf = 0
    length[place[job], job] = count
    hops = _hops_of_runs(idle, mine, count, size, scratch)
    costs[place[job], job] = cost_of_hops(hops, size, integer)


@lean
def _entry(idle, free, entries, left):
    """(leaf, free nodes of it to skip) of a random entry. Each of the free nodes has the same probability."""
    first, leaf_of = idle[1], idle[2]
    if entries < 0:
        for _ in range(_TRIES):
            entry = np.random.randint(0, len(leaf_of))  # noqa: NPY002
            leaf = leaf_of[entry]
            if entry - first[leaf] < free[leaf]:
                return leaf, entry - first[leaf]
        entries = left
    skipped = np.int64(0)
    if entries > 0:
        skipped = np.int64(np.random.randint(0, min(entries, left)))  # noqa: NPY002
    leaf = np.int64(0)
    while skipped >= free[leaf]:
        skipped -= free[leaf]
        leaf += 1
    return leaf, skipped


@lean
def _hops_of_runs(idle, runs, count, size, scratch):
    """Pair hops of a job by its runs, which follow the ring once around at most. So only its first and last switch can be the same."""
    above, saved = idle[3], idle[4]
    switch, within, first_within, changes = scratch[0], scratch[1], scratch[2], scratch[3]
    total = idle[5] * (size * (size - 1) // 2)
    for level in range(len(saved)):
        switch[level] = above[level, runs[0, 0]]
        within[level] = 0
        changes[level] = 0
    for k in range(count):
        leaf, taken = runs[k, 0], runs[k, 1]
        for level in range(len(saved)):
            # a run that returns to its first leaf without meeting another is one run of that leaf
            if above[level, leaf] != switch[level]:
                if changes[level] == 0:
                    first_within[level] = within[level]
                total -= saved[level] * (within[level] * (within[level] - 1) // 2)
                changes[level] += 1
                switch[level] = above[level, leaf]
                within[level] = 0
            within[level] += taken
    for level in range(len(saved)):
        total -= saved[level] * (within[level] * (within[level] - 1) // 2)
        if changes[level] > 0 and switch[level] == above[level, runs[0, 0]]:
            total -= saved[level] * first_within[level] * within[level]
    return total
