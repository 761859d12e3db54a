"""Table IV: the paper's integer program beside ours: `python -m papers.neural_annealing.integer_program`, 10 minutes.

The paper's program has a variable y for each job and first node, and a variable x for each job and node. A row of constraint 4 says for
a job, a first node and a node of that block: y implies x. The paper forgets that a node has one job only. So the program is that of the
public code: a node has at most one job, a job has exactly its number of nodes, and it may be left out at a cost above all others.

The paper gave it to SCIP for 30 s. Here HiGHS has it, with the same limit and without one. Ours are a flow around the ring of idle
nodes, which HiGHS solves too, and a dynamic program. All solve the same windows, which are spread over those of
`python -m studies allocation`. Times are those of a clock, in one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from models.allocation.exact import flow_allocation
from models.allocation.scas import ring_costs, ring_nodes, scas_allocation
from models.allocation.window import TOLERANCE, Allocation, IntArray, Window, sequential_allocation
from papers.markdown import markdown
from papers.neural_annealing.protocol import HOP_COST, PUBLISHED_CLUSTERS, PublishedCluster, published_windows

EPOCHS, WINDOWS, MOST_JOBS = 10, 100, 5
"""Epochs, windows of each, and jobs of a window."""
WINDOW_CLUSTERS = {"public code's": PUBLISHED_CLUSTERS["code"], "paper's": PUBLISHED_CLUSTERS["paper"]}
EVERY = 47
"""One window of so many is solved: no divisor of 100, so that all parts of an epoch have some."""
LIMIT_S, LONG_S = 30.0, 3600.0
"""The paper's limit, and that of the program without a limit, which no window reaches."""
ROWS_OF_TABLE_4 = [
    ["paper", "SCIP, without limit", "83,092", "-20.9%", "0.0%", "100%", "", "18.96", ""],
    ["paper", "SCIP, 30 s", "82,115", "-21.8%", "2.0%", "", "", "8.17", ""],
    ["paper", "NSA-500", "89,589", "-14.7%", "0.0%", "", "", "1.56", ""],
]
"""Means of Table IV. The sequential assignment costs 105,023.5 in Table III. Costs under 30 s leave out those of jobs left out."""
_HALF = 0.5


class Answer(NamedTuple):
    """allocation: of all jobs, with a bound. left_out: jobs without nodes when the time was over; they get the first nodes left."""

    allocation: Allocation
    left_out: int = 0


class _Program(NamedTuple):
    """Variables: y by job and first entry of the ring, x by job and entry, and which jobs are left out.

    objective: float64 (variables,). constraints: what the solver must keep.
    """

    objective: np.ndarray
    constraints: list[LinearConstraint]


def main() -> None:
    """Prints the table."""
    print(f"Table IV of Neural Simulated Annealing\n\n{program_table(EPOCHS, WINDOWS, EVERY, LIMIT_S)}")


def program_table(epochs: int, windows: int, every: int, limit_s: float) -> str:
    """Means over windows by tree and solver, below the paper's. windows: of an epoch, of which one of `every` is solved."""
    lines = list(ROWS_OF_TABLE_4)
    for name, cluster in WINDOW_CLUSTERS.items():
        chosen = list(windows_of(cluster, epochs, windows))[every // 2 :: every]
        lines += [[f"{name}, {len(chosen)} windows", *cells] for cells in _rows_of(chosen, limit_s)]
    titles = ["tree", "solver", "cost of a window", "to sequential", "jobs left out", "proven", "mean gap", "mean s"]
    return markdown([*titles, "longest s"], lines)


def windows_of(cluster: PublishedCluster, epochs: int = EPOCHS, windows: int = WINDOWS) -> Iterator[Window]:
    """Windows of all epochs, at most five jobs in each."""
    for epoch in range(epochs):
        yield from published_windows(cluster, windows, MOST_JOBS, 0, epoch)


def _rows_of(windows: list[Window], limit_s: float) -> Iterator[list[str]]:
    limited = [program_allocation(window, limit_s) for window in windows]
    solvers: dict[str, Callable[[int], Answer]] = {
        # what was proven within the limit is the answer without one
        "x, y, HiGHS, without limit": lambda k: (
            limited[k] if limited[k].allocation.proven else program_allocation(windows[k], LONG_S)
        ),
        f"x, y, HiGHS, {limit_s:.0f} s": lambda k: limited[k],
        f"ours: flow, HiGHS, {limit_s:.0f} s": lambda k: Answer(flow_allocation(windows[k], limit_s)),
        "ours: dynamic program": lambda k: Answer(scas_allocation(windows[k])),
    }
    sequential = np.mean([sequential_allocation(window).cost for window in windows])
    jobs = sum(len(window.sizes) for window in windows)
    flow_allocation(windows[0], limit_s), scas_allocation(windows[0])  # which compiles them
    for name, solve in solvers.items():
        answers = [solve(k) for k in range(len(windows))]
        parts = [answer.allocation for answer in answers]
        cost = np.mean([part.cost for part in parts])
        seconds = [part.seconds for part in parts]
        yield [
            name,
            f"{HOP_COST * cost:,.0f}",
            f"{cost / sequential - 1:+.1%}",
            f"{sum(answer.left_out for answer in answers) / jobs:.1%}",
            f"{np.mean([part.proven for part in parts]):.0%}",
            f"{np.mean([part.gap for part in parts]):.2%}",
            *(f"{value:.4f}" if value < 0.1 else f"{value:.2f}" for value in (np.mean(seconds), max(seconds))),
        ]


def program_allocation(window: Window, seconds: float) -> Answer:
    """What HiGHS makes of the paper's program within a time: nodes for all jobs, whatever happens, and a bound.

    Raises ValueError for a limit that is not above 0.
    """
    if not seconds > 0.0:
        raise ValueError(f"the solver needs more than 0 seconds, got {seconds}")
    started = time.perf_counter()
    program = _program(window)
    left_s = max(seconds - (time.perf_counter() - started), 0.01)
    solution = milp(
        program.objective,
        constraints=program.constraints,
        integrality=np.ones(len(program.objective)),
        bounds=Bounds(0, 1),
        options={"time_limit": left_s, "mip_rel_gap": 0.0},
    )
    jobs, idle = len(window.sizes), len(window.idle)
    first = np.full(jobs, -1)
    if solution.x is not None:
        chosen, entry = np.nonzero(solution.x[: jobs * idle].reshape(jobs, idle) > _HALF)
        first[chosen] = entry
    nodes = _completed(window, first)
    bound = None if solution.mip_dual_bound is None else float(solution.mip_dual_bound)
    if bound is not None and solution.status == 0 and (first >= 0).all():
        bound = max(bound, window.cost_of(nodes) * (1 - TOLERANCE))  # the solver's numbers are whole to 1e-6 only
    allocation = window.allocation(nodes, time.perf_counter() - started, bound if bound is not None else 0.0)
    return Answer(allocation, int((first < 0).sum()))


def _completed(window: Window, first: IntArray) -> list[IntArray]:
    """Nodes of all jobs. first: entry of each, or -1 for those that get the first idle nodes that are left."""
    left_out = first < 0
    nodes = ring_nodes(window, np.where(left_out, 0, first))
    taken = [job for job, out in zip(nodes, left_out.tolist(), strict=True) if not out]
    idle = np.setdiff1d(window.idle, np.concatenate([*taken, np.empty(0, dtype=np.int64)]))
    for job, size in zip(np.flatnonzero(left_out).tolist(), window.sizes[left_out].tolist(), strict=True):
        nodes[job], idle = idle[:size], idle[size:]
    return nodes


def _program(window: Window) -> _Program:
    """The program of section IV-A with the rows of the public code."""
    jobs, idle = len(window.sizes), len(window.idle)
    sizes, kind = np.unique(window.sizes, return_inverse=True)
    costs = ring_costs(window.tree.switch, window.tree.hops, window.idle, sizes, window.integer)[kind]
    y = np.arange(jobs * idle).reshape(jobs, idle)
    x, out = y + jobs * idle, 2 * jobs * idle + np.arange(jobs)
    variables = 2 * jobs * idle + jobs
    every, of_job, ones = np.arange(jobs), np.repeat(np.arange(jobs), idle), np.ones(jobs * idle)

    def rows(row: np.ndarray, column: np.ndarray, value: np.ndarray, count: int) -> sparse.csr_matrix:
        return sparse.csr_matrix((value, (row, column)), shape=(count, variables))

    job = np.repeat(every, window.sizes * idle)
    begin = np.concatenate([np.repeat(np.arange(idle), size) for size in window.sizes])
    node = np.concatenate([(np.arange(idle)[:, None] + np.arange(size)).ravel() % idle for size in window.sizes])
    pair = np.arange(len(job))
    implied = rows(
        np.concatenate([pair, pair]),
        np.concatenate([y[job, begin], x[job, node]]),
        np.repeat([1.0, -1.0], len(pair)),
        len(pair),
    )
    both = np.concatenate([of_job, every])
    one_start = rows(both, np.concatenate([y.ravel(), out]), np.ones(len(both)), jobs)
    its_nodes = rows(both, np.concatenate([x.ravel(), out]), np.concatenate([ones, window.sizes]), jobs)
    once = rows(np.tile(np.arange(idle), jobs), x.ravel(), ones, idle)
    above_all = 1.0 + costs.max(axis=1).sum()
    return _Program(
        np.concatenate([costs.ravel(), np.zeros(jobs * idle), np.full(jobs, above_all)]),
        [
            LinearConstraint(one_start, 1, 1),
            LinearConstraint(implied, -np.inf, 0),
            LinearConstraint(once, -np.inf, 1),
            LinearConstraint(its_nodes, window.sizes, window.sizes),
        ],
    )


if __name__ == "__main__":
    main()
