"""The protocol of Neural Simulated Annealing: single windows, and closed loops in which a method keeps the cluster that it leaves.

Source: Lan et al. 2023, section VI, and the public code, which has another tree and other costs. With single windows, every method gets
the same windows, which follow the published annealer. In a closed loop, every method keeps a cluster of its own. A hop counts 1,000.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.allocation.annealing import PAPERS_ANNEALING, PUBLISHED_ANNEALING, annealed_allocation
from models.allocation.exact import flow_allocation
from models.allocation.free import free_allocation
from models.allocation.scas import MOST_SCAS_CELLS, scas_allocation, scas_cells
from models.allocation.window import Allocation, Window, best_fit_allocation, greedy_allocation, sequential_allocation
from simulator.topology.closed_loop import PERIOD_S, PeriodScheduler, published_jobs, run_closed_loop, selecting
from simulator.topology.tree import IntArray, SwitchTree, fat_tree, pair_hops, regular_tree

HOP_COST = 1000
"""c of Table I."""
LOOP_SIZES = (2, 40)
"""Least and most nodes of the jobs in a closed loop. Those of single windows have 1 to 40."""
_FLOW_SECONDS = 10.0


@dataclass(frozen=True)
class PublishedCluster:
    """tree: of switches. whole_hops: whether a window's costs are those of the public code. pair_cost: in a closed loop, the cost of a
    hop between two nodes, before it is divided by the nodes of the job."""

    tree: SwitchTree
    whole_hops: bool
    pair_cost: float


PUBLISHED_CLUSTERS = {
    "paper": PublishedCluster(fat_tree(20, 10), False, 2.0 * HOP_COST),
    "code": PublishedCluster(regular_tree((10, 4, 25), (1, 3, 5)), True, 1.0 * HOP_COST),
}
_RULES = {
    "as published": PUBLISHED_ANNEALING,
    "with undo": replace(PUBLISHED_ANNEALING, undo=True),
    "by the paper's rules": PAPERS_ANNEALING,
}
ANNEALERS = {
    f"SA-{steps} {name}": replace(rules, steps=steps) for name, rules in _RULES.items() for steps in (500, 1000)
}
"""The public code's search, the same search with rejected moves undone, and Algorithm 1 with the settings of Table I."""


def allocated(window: Window, method: str, seed: int) -> Allocation:
    """The allocation of a window by a method of ALLOCATION_METHODS. seed: of those that search at random."""
    if method in ANNEALERS:
        return annealed_allocation(window, ANNEALERS[method], seed)
    return _OTHERS[method](window, seed)


def _static(window: Window) -> Allocation:
    few = scas_cells(window) <= MOST_SCAS_CELLS // 4
    return scas_allocation(window) if few else flow_allocation(window, _FLOW_SECONDS)


_OTHERS: dict[str, Callable[[Window, int], Allocation]] = {
    "sequential": lambda window, _: sequential_allocation(window),
    "tree, one job at a time": lambda window, _: best_fit_allocation(window),
    "largest first, cheapest entry": lambda window, _: greedy_allocation(window),
    "SCAS, exact": lambda window, _: _static(window),
    "free": lambda window, seed: free_allocation(window, seed),
}
ALLOCATION_METHODS = (
    "sequential",
    "tree, one job at a time",
    *ANNEALERS,
    "largest first, cheapest entry",
    "SCAS, exact",
    "free",
)
"""From the paper's first solution to the best allocation without consecutive nodes."""


def published_windows(
    cluster: PublishedCluster, windows: int, most_jobs: int | None, seed: int, epoch: int
) -> Iterator[Window]:
    """Windows of a closed loop under annealing as published: the workload of section VI-A, from an empty cluster.

    A job comes every 5 to 30 s, and runs 10 to 1,800 s. Its size is at most 40 nodes. The jobs that waited most periods go first, the
    smaller first among them, up to `most_jobs` or to the first that does not fit. A period without arrivals or releases is skipped.
    """
    rng = np.random.default_rng([seed, epoch])
    idle = np.ones(cluster.tree.nodes, dtype=bool)
    waiting: list[tuple[int, int, int]] = []  # minus the periods that a job waited, its size, its run time
    running: list[tuple[int, np.ndarray]] = []
    now, arrival = 0, int(rng.integers(5, 31))
    while windows:
        now += PERIOD_S
        ended = [nodes for end, nodes in running if end <= now]
        running = [(end, nodes) for end, nodes in running if end > now]
        for nodes in ended:
            idle[nodes] = True
        arrived = arrival <= now
        while arrival <= now:
            waiting.append((0, int(rng.integers(1, 41)), int(rng.integers(10, 1801))))
            arrival += int(rng.integers(5, 31))
        if not arrived and not ended:
            continue
        waiting.sort()
        fits = np.cumsum([size for _, size, _ in waiting[:most_jobs]]) <= idle.sum()
        started, waiting = waiting[: fits.sum()], waiting[fits.sum() :]
        waiting = [(periods - 1, size, runtime) for periods, size, runtime in waiting]
        if not started:
            continue
        sizes = np.array([size for _, size, _ in started])
        window = Window(cluster.tree, np.flatnonzero(idle), sizes, cluster.whole_hops)
        allocation = annealed_allocation(window, PUBLISHED_ANNEALING, windows)
        for (_, _, runtime), nodes in zip(started, allocation.nodes, strict=True):
            idle[nodes] = False
            running.append((now + runtime, nodes))
        windows -= 1
        yield window


@dataclass(frozen=True)
class Lived:
    """What the jobs of all epochs had: size in nodes, cost, wait in seconds, and epoch. Each has the shape (jobs,)."""

    size: IntArray
    cost: NDArray[np.float64]
    wait: IntArray
    epoch: IntArray

    def where(self, rows: NDArray[np.bool_]) -> Lived:
        """Some of the jobs, bool (jobs,)."""
        return Lived(self.size[rows], self.cost[rows], self.wait[rows], self.epoch[rows])

    def of_class(self, least: int, most: int) -> Lived:
        """The jobs of these sizes."""
        return self.where((self.size >= least) & (self.size <= most))

    def cost_of_epochs(self) -> NDArray[np.float64]:
        """Mean cost of a job by epoch."""
        return np.bincount(self.epoch, self.cost) / np.bincount(self.epoch)


def solving(tree: SwitchTree, method: str, most: int | None, jobs: int) -> Callable[[int], PeriodScheduler]:
    """The scheduler of an epoch, by its seed. It starts what section III-C selects. most: jobs of a window. jobs: of an epoch."""

    def of_epoch(seed: int) -> PeriodScheduler:
        windows = itertools.count(1)

        def solve(idle: IntArray, sizes: IntArray) -> list[IntArray]:
            return list(allocated(Window(tree, idle, sizes), method, jobs * seed + next(windows)).nodes)

        return selecting(solve, most)

    return of_epoch


def live(
    cluster: PublishedCluster, scheduler_of: Callable[[int], PeriodScheduler], seeds: Iterable[int], count: int
) -> Lived:
    """Epochs of `count` jobs, one for each seed, each from an empty cluster until the queue is drained. scheduler_of: of an epoch."""
    parts = []
    for epoch, seed in enumerate(seeds):
        jobs = published_jobs(count, seed, LOOP_SIZES)
        result = run_closed_loop(cluster.tree, jobs, scheduler_of(seed))
        cost = [cluster.pair_cost * pair_hops(cluster.tree, nodes) / len(nodes) for nodes in result.nodes]
        parts.append((jobs.size, np.array(cost), result.start - jobs.arrival, np.full(count, epoch)))
    return Lived(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def alone_costs(cluster: PublishedCluster, sizes: Iterable[int]) -> NDArray[np.float64]:
    """Cost of jobs of these sizes if each had the empty cluster for itself. This is the ideal of a closed loop."""
    return np.array([cluster.pair_cost * pair_hops(cluster.tree, np.arange(size)) / size for size in sizes])
