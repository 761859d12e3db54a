"""Every way to place the jobs of one window, by name: for the command `tracehouse place`, and for whoever compares them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from models.allocation.annealing import PAPERS_ANNEALING, annealed_allocation
from models.allocation.exact import flow_allocation
from models.allocation.free import free_allocation, least_costs
from models.allocation.leaves import idle_leaves
from models.allocation.scas import MOST_SCAS_CELLS, scas_allocation, scas_cells
from models.allocation.window import Allocation, Window, best_fit_allocation, greedy_allocation
from simulator.jobs.words import one_of
from simulator.topology.tree import regular_tree

if TYPE_CHECKING:
    from models.allocation.neural.repair_policy import RepairPolicy

PlaceMethod = Literal["scas", "dcas", "free", "anneal", "nsa", "tree"]
"""Exact and greedy continuity assignment, free search, annealing, Neural Simulated Annealing, and Slurm's best fit."""
PLACE_METHODS: tuple[PlaceMethod, ...] = get_args(PlaceMethod)

MOST_PLACING_CELLS = 1 << 27
"""Numbers of 8 bytes that a method may keep: 1 GiB."""

_Solver = Callable[[Window, float, int], Allocation]


def place_window(
    window: Window, method: PlaceMethod, seconds: float = 60.0, seed: int = 1, repair: RepairPolicy | None = None
) -> Allocation:
    """Nodes for the jobs of a window, with a bound. The same arguments give the same nodes where no time limit is reached.

    `scas` is the least cost of static continuity assignment: by dynamic programming, or for many jobs by HiGHS. `dcas` takes the
    widest job first. `free` searches among all allocations. `anneal` and `nsa` make the 500 moves of the paper. `tree` takes one job
    after another by Slurm's best fit.

    seconds: limit of HiGHS and of `free`, about; the other methods have a fixed amount of work. Compiling does not count.
    seed: of `free`, `anneal`, `nsa` and HiGHS. repair: the trained network of `nsa`.
    The bound of `scas` is on static continuity assignments. All others have one on every allocation, or None for very large windows.
    Raises ValueError, with the remedy, for an unknown method, a limit that is not above 0, a window too large for the method, and a
    network that is missing or of no use.
    """
    one_of("method", method, PLACE_METHODS)
    if not 0.0 < seconds < math.inf:
        raise ValueError(f"the limit is {seconds} seconds: expected a number above 0. Give more")
    if (repair is None) == (method == "nsa"):
        missing = "needs a trained network" if repair is None else "uses no trained network"
        raise ValueError(f"the method {method} {missing}: {'give one' if repair is None else 'leave it out'}")
    if method == "nsa":
        assert repair is not None
        allocation = _neural_allocation(window, repair, seed)
    else:
        _check_memory(window, method)
        solver = _solver_of(window, method)
        _make_ready(solver)
        allocation = solver(window, seconds, seed)
    bound = max((value for value in (allocation.bound, _bound_alone(window)) if value is not None), default=None)
    return window.allocation(list(allocation.nodes), allocation.seconds, bound)


def _solver_of(window: Window, method: PlaceMethod) -> _Solver:
    if method == "scas":
        return _flow if scas_cells(window) > MOST_SCAS_CELLS else _SOLVERS["scas"]
    return _SOLVERS[method]


def _scas(window: Window, _seconds: float, _seed: int) -> Allocation:
    return scas_allocation(window)


def _flow(window: Window, seconds: float, seed: int) -> Allocation:
    return flow_allocation(window, seconds, seed)


def _dcas(window: Window, _seconds: float, _seed: int) -> Allocation:
    return greedy_allocation(window)


def _free(window: Window, seconds: float, seed: int) -> Allocation:
    return free_allocation(window, seed, prove=True, seconds=seconds)


def _anneal(window: Window, _seconds: float, seed: int) -> Allocation:
    return annealed_allocation(window, PAPERS_ANNEALING, seed)


def _tree(window: Window, _seconds: float, _seed: int) -> Allocation:
    return best_fit_allocation(window)


_SOLVERS: dict[PlaceMethod, _Solver] = {"scas": _scas, "dcas": _dcas, "free": _free, "anneal": _anneal, "tree": _tree}


def _neural_allocation(window: Window, repair: RepairPolicy, seed: int) -> Allocation:
    from models.allocation.neural.neural_annealing import NeuralAnnealer

    annealer = NeuralAnnealer(repair, PAPERS_ANNEALING)
    if len(window.sizes):
        annealer.allocate(_small_window(), seed)
    return annealer.allocate(window, seed)


@functools.cache
def _make_ready(solver: _Solver) -> None:
    """Compiles what a solver needs, or loads it, so that its time is that of the solver."""
    solver(_small_window(), 1.0, 0)


def _small_window() -> Window:
    """Two pairs, of which one only finds a leaf: not even the column generation can be left out."""
    return Window(regular_tree((2, 3)), np.array([0, 1, 2, 4]), np.array([2, 2]))


def _check_memory(window: Window, method: PlaceMethod) -> None:
    """Raises ValueError for a window that would need more than MOST_PLACING_CELLS."""
    jobs, widest = len(window.sizes), int(window.sizes.max(initial=0))
    if method == "free":
        cells = _cells_of_sets(window)
    elif method == "anneal":
        cells = jobs * (4 * widest + 2 * min(len(window.idle), window.tree.switches(0)))
    elif method == "scas":
        cells = 20 * len(np.unique(window.sizes)) * len(window.idle)  # HiGHS keeps several copies of its arcs
    else:
        return
    if cells > MOST_PLACING_CELLS:
        raise ValueError(
            f"{jobs:,} jobs of up to {widest:,} nodes on {len(window.idle):,} idle nodes are too many for the method {method}: "
            "use dcas or tree, or give fewer jobs"
        )


def _cells_of_sets(window: Window) -> int:
    """Numbers that the dynamic programme of one job and the nodes of all jobs by leaf take."""
    widest, leaves = int(window.sizes.max(initial=0)), min(len(window.idle), window.tree.switches(0))
    return leaves * ((window.tree.levels + 1) * (widest + 1) + 4 * len(window.sizes))


def _bound_alone(window: Window) -> float | None:
    """What the jobs cost together if each had all idle nodes to choose from."""
    if not len(window.sizes):
        return 0.0
    return (
        float(least_costs(window, idle_leaves(window)).sum()) if _cells_of_sets(window) <= MOST_PLACING_CELLS else None
    )
