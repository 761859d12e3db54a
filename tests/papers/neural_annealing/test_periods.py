"""Cost and wait by the length of the period, at a small scale."""

from __future__ import annotations

import numpy as np

from models.allocation.window import sequential_allocation
from papers.neural_annealing.periods import PERIODS_S, by_periods, exact_or_flow, one_by_one, period_table
from simulator.topology.closed_loop import published_jobs
from simulator.topology.tree import regular_tree

TREE = regular_tree((10, 5, 2))


def test_the_table_has_a_row_for_each_way() -> None:
    lines = period_table(1, 40, TREE).splitlines()
    assert len(lines) == 2 + 2 + len(PERIODS_S)
    assert lines[2].startswith("| FCFS, job by job |") and lines[-1].startswith("| every 60 s |")


def test_placing_moves_no_wait_of_one_by_one_and_periods_add_waits() -> None:
    work = published_jobs(60, 1, sizes=(2, 20))
    first, ring = (one_by_one(TREE, work, "none", place) for place in ("first", "ring"))
    assert np.array_equal(first[1], ring[1]) and ring[0].sum() < first[0].sum()
    sequence, optimum = (by_periods(TREE, work, 30, solver) for solver in (sequential_allocation, exact_or_flow))
    assert np.array_equal(sequence[1], optimum[1]) and optimum[0].sum() < sequence[0].sum()
    assert (sequence[1] >= 0).all()
