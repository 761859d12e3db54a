"""Figure 6: cost and wait by the length of the period: `python -m papers.neural_annealing.periods`, 1 CPU-minute.

Ten epochs of 300 jobs, each from an empty cluster, on the paper's tree. Windows are placed exactly (SCAS) or one after another.
FCFS and EASY decide at every second, job by job, with true run times as estimates, and place each job at its cheapest consecutive nodes
or at the first ones. The paper does not say how its FCFS and BF place jobs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models.allocation.exact import flow_allocation
from models.allocation.scas import MOST_SCAS_CELLS, scas_allocation, scas_cells
from models.allocation.window import Allocation, Window, sequential_allocation
from papers.markdown import markdown
from papers.neural_annealing.protocol import HOP_COST
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.topology.choosing import node_units
from simulator.topology.closed_loop import NodeJobs, published_jobs, run_closed_loop, selecting
from simulator.topology.placement import place_schedule
from simulator.topology.tree import IntArray, SwitchTree, hop_cost, regular_tree

TREE = regular_tree((10, 10, 10))
EPOCHS, JOBS = 10, 300
PERIODS_S = (10, 20, 30, 40, 50, 60)
FLOW_SECONDS = 10.0

Epoch = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Cost and wait, seconds, of each job."""


def main() -> None:
    """Prints the figure as a table."""
    print(f"Figure 6\n\n{period_table(EPOCHS, JOBS)}")


def period_table(epochs: int, jobs: int, tree: SwitchTree = TREE) -> str:
    """A row for each way of starting jobs: cost and wait of a job, for two ways of placing them."""
    workloads = [published_jobs(jobs, seed) for seed in range(epochs)]
    rows = []
    for name, backfill in (("FCFS", "none"), ("EASY", "easy")):
        parts = [[one_by_one(tree, work, backfill, place) for work in workloads] for place in ("first", "ring")]
        rows.append(_row(f"{name}, job by job", parts))
    for period in PERIODS_S:
        parts = [
            [by_periods(tree, work, period, solver) for work in workloads]
            for solver in (sequential_allocation, exact_or_flow)
        ]
        rows.append(_row(f"every {period} s", parts))
    titles = [
        "jobs start",
        "cost, in sequence",
        "mean wait, s",
        "cost, cheapest consecutive nodes",
        "mean wait, s",
        "p99 wait, s",
    ]
    return markdown(titles, rows)


def one_by_one(tree: SwitchTree, work: NodeJobs, backfill: str, place: str) -> Epoch:
    """FCFS, job by job."""
    jobs = Jobs(work.arrival, work.runtime, work.size, work.runtime, work.runtime)
    schedule = replay(jobs, tree.nodes, "FCFS", backfill)
    placement = place_schedule(jobs, tree.nodes, schedule, node_units(tree), place)
    return HOP_COST * placement.hop_cost, (schedule.start - work.arrival).astype(np.float64)


def by_periods(tree: SwitchTree, work: NodeJobs, period: int, solver: Callable[[Window], Allocation]) -> Epoch:
    """The paper's selection at periods."""

    def place(idle: IntArray, sizes: IntArray) -> list[IntArray]:
        return list(solver(Window(tree, idle, sizes)).nodes)

    result = run_closed_loop(tree, work, selecting(place), period)
    return HOP_COST * np.array([hop_cost(tree, nodes) for nodes in result.nodes]), (result.start - work.arrival).astype(
        float
    )


def exact_or_flow(window: Window) -> Allocation:
    """The optimum of SCAS."""
    return scas_allocation(window) if scas_cells(window) <= MOST_SCAS_CELLS else flow_allocation(window, FLOW_SECONDS)


def _row(name: str, parts: list[list[Epoch]]) -> list[str]:
    cells = [name]
    for epochs in parts:
        cost, wait = (np.concatenate(column) for column in zip(*epochs, strict=True))
        cells += [f"{cost.mean():,.0f}", f"{wait.mean():,.0f}"]
    return [*cells, f"{np.percentile(wait, 99):,.0f}"]


if __name__ == "__main__":
    main()
