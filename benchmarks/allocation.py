"""Nodes for the jobs of one window: annealing as published, with undo, and the optimum: `python -m benchmarks.allocation`.

Each tree has ten epochs of 100 windows, from an empty cluster, with at most five jobs a window. The cluster follows the first method,
so all solve the same windows: the paper's follow its own method, too. The figures of the reference are ours, from running the
public code's rules apart from this program. Times are CPU times, the least of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from models.allocation.annealing import PAPERS_ANNEALING, PUBLISHED_ANNEALING, annealed_allocation
from models.allocation.exact import flow_allocation
from models.allocation.free import free_allocation
from models.allocation.scas import scas_allocation
from models.allocation.sequential import greedy_allocation, sequential_allocation
from models.allocation.window import Allocation, Window
from simulator.topology.tree import SwitchTree, fat_tree, regular_tree

EPOCHS, WINDOWS, MOST_JOBS, PERIOD_S = 10, 100, 5, 60
TREES = {"public code's": (regular_tree((10, 4, 25), (1, 3, 5)), True), "paper's": (fat_tree(20, 10), False)}
"""Tree, and whether costs are whole hops."""
BIG_TREE = regular_tree((10, 25, 40))
BIG_JOBS, BIG_IDLE = 130, 2915
METHODS: dict[str, Callable[[Window, int], Allocation]] = {
    "SA-500 as published": lambda window, seed: annealed_allocation(window, PUBLISHED_ANNEALING, seed),
    "SA-1000 as published": lambda window, seed: annealed_allocation(
        window, replace(PUBLISHED_ANNEALING, steps=1000), seed
    ),
    "SA-1000 as published, with undo": lambda window, seed: annealed_allocation(
        window, replace(PUBLISHED_ANNEALING, steps=1000, undo=True), seed
    ),
    "SA-1000 by the paper's rules": lambda window, seed: annealed_allocation(
        window, replace(PAPERS_ANNEALING, steps=1000), seed
    ),
    "largest first, cheapest entry": lambda window, seed: greedy_allocation(window),
    "SCAS, exact": lambda window, seed: scas_allocation(window),
    "free": lambda window, seed: free_allocation(window, seed),
}
REFERENCE = {
    "SA-500 as published": (-11.6, -8.5),
    "SA-1000 as published": (-12.6, -9.1),
    "SA-1000 as published, with undo": (-18.4, -13.5),
    "SCAS, exact": (-19.1, -14.0),
    "free": (-19.9, -14.5),
}
"""Percent of the sequential cost on both trees."""


def main() -> None:
    windows = {name: list(windows_of(tree, integer)) for name, (tree, integer) in TREES.items()}
    print("cost per window, relative to the sequential allocation\n")
    print("| method | " + " | ".join(f"{name} tree | reference" for name in TREES) + " |")
    print("|---" + "|---:" * (2 * len(TREES)) + "|")
    for method in METHODS:
        cells = []
        for place, name in enumerate(TREES):
            reference = REFERENCE.get(method)
            cells += [f"{relative_cost(windows[name], method):+.1%}", f"{reference[place]:+.1f}%" if reference else ""]
        print(f"| {method} | {' | '.join(cells)} |", flush=True)
    print("\nspeed\n\n| what | jobs | idle nodes | CPU time | gap |\n|---|---:|---:|---:|---:|")
    for line in speeds(windows["paper's"]):
        print(line, flush=True)


def windows_of(
    tree: SwitchTree, integer: bool, epochs: int = EPOCHS, windows: int = WINDOWS, seed: int = 0
) -> Iterator[Window]:
    """Windows of closed loops under annealing as published: the workload of the paper's section VI-A.

    Jobs come every 5 to 30 s, run 10 to 1,800 s and take 1 to 40 nodes. Those that waited most periods go first, the smaller first among
    them, up to five or to the first that does not fit. A period without arrivals or releases is skipped.
    """
    for epoch in range(epochs):
        yield from _epoch(tree, integer, windows, np.random.default_rng([seed, epoch]))


def _epoch(tree: SwitchTree, integer: bool, windows: int, rng: np.random.Generator) -> Iterator[Window]:
    idle = np.ones(tree.nodes, dtype=bool)
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
        fits = np.cumsum([size for _, size, _ in waiting[:MOST_JOBS]]) <= idle.sum()
        started, waiting = waiting[: fits.sum()], waiting[fits.sum() :]
        waiting = [(periods - 1, size, runtime) for periods, size, runtime in waiting]
        if not started:
            continue
        window = Window(tree, np.flatnonzero(idle), np.array([size for _, size, _ in started]), integer)
        allocation = annealed_allocation(window, PUBLISHED_ANNEALING, windows)
        for (_, _, runtime), nodes in zip(started, allocation.nodes, strict=True):
            idle[nodes] = False
            running.append((now + runtime, nodes))
        windows -= 1
        yield window


def relative_cost(windows: list[Window], method: str) -> float:
    """Sum of the costs of a method over that of the sequential allocation, less 1."""
    cost = sum(METHODS[method](window, seed).cost for seed, window in enumerate(windows))
    return cost / sum(sequential_allocation(window).cost for window in windows) - 1


def big_windows() -> dict[str, Window]:
    """130 jobs on 10,000 nodes: all idle, and 2,915 at random."""
    rng = np.random.default_rng(0)
    sizes = np.sort(rng.integers(1, 41, BIG_JOBS))
    while sizes.sum() > BIG_IDLE:
        sizes = np.sort(rng.integers(1, 41, BIG_JOBS))
    some = np.sort(rng.permutation(BIG_TREE.nodes)[:BIG_IDLE])
    return {
        "10,000 nodes, all idle": Window(BIG_TREE, np.arange(BIG_TREE.nodes), sizes),
        "10,000 nodes, idle ones at random": Window(BIG_TREE, some, sizes),
    }


def speeds(windows: list[Window]) -> Iterator[str]:
    """Lines of the table of times. windows: on the paper's tree."""
    full = [Window(windows[0].tree, np.arange(1000), np.random.default_rng(k).integers(1, 41, 5)) for k in range(20)]
    for name, rules in (
        ("a move, by the paper's rules", PAPERS_ANNEALING),
        ("a move, as published", PUBLISHED_ANNEALING),
    ):
        many = replace(rules, steps=20_000)
        seconds = [_least_seconds(lambda w=w, many=many: annealed_allocation(w, many, 0)) / many.steps for w in full]
        yield f"| {name} | 5 | 1,000 | {1e6 * np.mean(seconds):.2f} µs | |"
    for name, solved, idle in (("SCAS, exact", full, "1,000"), ("SCAS, exact: the windows above", windows, "")):
        seconds = [_least_seconds(lambda w=w: scas_allocation(w)) for w in solved]
        yield f"| {name} | {'5' if idle else 'up to 5'} | {idle} | {1e3 * np.mean(seconds):.2f} ms | 0% |"
    seconds = [_least_seconds(lambda w=w: flow_allocation(w, 60.0)) for w in windows[:100]]
    yield f"| SCAS, flow | up to 5 | | {1e3 * np.mean(seconds):.1f} ms | 0% |"
    rng = np.random.default_rng(1)
    many_jobs = Window(windows[0].tree, np.sort(rng.permutation(1000)[:927]), np.sort(rng.integers(1, 41, 40)))
    yield _line("SCAS, flow", many_jobs, lambda: flow_allocation(many_jobs, 60.0))
    for name, window in big_windows().items():
        yield _line(f"free, {name}", window, lambda w=window: free_allocation(w, 0, prove=True, gap=1e-3))


def _line(name: str, window: Window, solve: Callable[[], Allocation]) -> str:
    allocation, seconds = solve(), _least_seconds(solve)
    return f"| {name} | {len(window.sizes)} | {len(window.idle):,} | {seconds:.2f} s | {allocation.gap:.3%} |"


def _least_seconds(solve: Callable[[], Allocation]) -> float:
    seconds = []
    for _ in range(3):
        started = time.process_time()
        solve()
        seconds.append(time.process_time() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
