"""Nodes for the jobs of one window, by annealing and by exact programs: `python -m studies allocation`.

Each tree has ten epochs of 100 windows, from an empty cluster, with at most five jobs a window. The cluster follows the first method,
so all solve the same windows: the paper's follow its own method, too. The figures of the reference are ours, from running the
public code's rules apart from this program. Times are CPU times, the least of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from models.allocation.annealing import PAPERS_ANNEALING, PUBLISHED_ANNEALING, annealed_allocation
from models.allocation.exact import flow_allocation
from models.allocation.free import free_allocation
from models.allocation.scas import scas_allocation
from models.allocation.window import Allocation, Window, sequential_allocation
from papers.neural_annealing.integer_program import WINDOW_CLUSTERS, windows_of
from papers.neural_annealing.protocol import allocated
from simulator.topology.tree import regular_tree

BIG_TREE = regular_tree((10, 25, 40))
BIG_JOBS, BIG_IDLE = 130, 2915
WINDOW_METHODS = {
    "SA-500 as published": "SA-500 as published",
    "SA-1000 as published": "SA-1000 as published",
    "SA-1000 as published, with undo": "SA-1000 with undo",
    "SA-1000 by the paper's rules": "SA-1000 by the paper's rules",
    "largest first, cheapest entry": "largest first, cheapest entry",
    "SCAS, exact": "SCAS, exact",
    "free": "free",
}
"""Methods of the table, and their names in the protocol."""
REFERENCE_COSTS = {
    "SA-500 as published": (-11.6, -8.5),
    "SA-1000 as published": (-12.6, -9.1),
    "SA-1000 as published, with undo": (-18.4, -13.5),
    "SCAS, exact": (-19.1, -14.0),
    "free": (-19.9, -14.5),
}
"""Percent of the sequential cost on both trees."""


def main() -> None:
    """Prints costs, and times."""
    windows = {name: list(windows_of(cluster)) for name, cluster in WINDOW_CLUSTERS.items()}
    print("cost per window, relative to the sequential allocation\n")
    print("| method | " + " | ".join(f"{name} tree | reference" for name in WINDOW_CLUSTERS) + " |")
    print("|---" + "|---:" * (2 * len(WINDOW_CLUSTERS)) + "|")
    for method in WINDOW_METHODS:
        cells = []
        for place, name in enumerate(WINDOW_CLUSTERS):
            reference = REFERENCE_COSTS.get(method)
            cells += [f"{relative_cost(windows[name], method):+.1%}", f"{reference[place]:+.1f}%" if reference else ""]
        print(f"| {method} | {' | '.join(cells)} |", flush=True)
    print("\nspeed\n\n| what | jobs | idle nodes | CPU time | gap |\n|---|---:|---:|---:|---:|")
    for line in speeds(windows["paper's"]):
        print(line, flush=True)


def relative_cost(windows: list[Window], method: str) -> float:
    """Sum of the costs of a method over that of the sequential allocation, less 1."""
    cost = sum(allocated(window, WINDOW_METHODS[method], seed).cost for seed, window in enumerate(windows))
    return cost / sum(sequential_allocation(window).cost for window in windows) - 1


def big_windows() -> dict[str, Window]:
    """BIG_JOBS jobs on BIG_TREE, all of whose nodes are idle, or BIG_IDLE at random."""
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
        seconds = [_least_seconds(partial(annealed_allocation, w, many, 0)) / many.steps for w in full]
        yield f"| {name} | 5 | 1,000 | {1e6 * np.mean(seconds):.2f} µs | |"
    for name, solved, idle in (("SCAS, exact", full, "1,000"), ("SCAS, exact: the windows above", windows, "")):
        seconds = [_least_seconds(partial(scas_allocation, w)) for w in solved]
        yield f"| {name} | {'5' if idle else 'up to 5'} | {idle} | {1e3 * np.mean(seconds):.2f} ms | 0% |"
    seconds = [_least_seconds(partial(flow_allocation, w, 60.0)) for w in windows[:100]]
    yield f"| SCAS, flow | up to 5 | | {1e3 * np.mean(seconds):.1f} ms | 0% |"
    rng = np.random.default_rng(1)
    many_jobs = Window(windows[0].tree, np.sort(rng.permutation(1000)[:927]), np.sort(rng.integers(1, 41, 40)))
    yield _line("SCAS, flow", many_jobs, lambda: flow_allocation(many_jobs, 60.0))
    for name, window in big_windows().items():
        yield _line(f"free, {name}", window, partial(free_allocation, window, 0, prove=True, gap=1e-3))


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
