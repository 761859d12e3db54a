"""The paper's integer program on small windows: its optimum is ours, and every limit gives nodes for all jobs."""

from __future__ import annotations

import numpy as np
import pytest

from models.allocation.scas import scas_allocation
from models.allocation.sequential import sequential_allocation
from models.allocation.window import Window
from papers.neural_annealing.integer_program import (
    ROWS_OF_TABLE_4,
    Answer,
    _completed,
    program_allocation,
    program_table,
)
from simulator.topology.tree import regular_tree
from tests.models.allocation.windows import check_allocation

TREE = regular_tree((4, 3, 4))


def windows() -> list[Window]:
    """Idle nodes at random, with and without room to spare, costs in whole hops and in parts."""
    rng = np.random.default_rng(5)
    chosen = []
    for k in range(8):
        idle = np.sort(rng.permutation(TREE.nodes)[: int(rng.integers(12, 30))])
        sizes = rng.integers(1, 6, int(rng.integers(1, 4)))
        chosen.append(Window(TREE, idle, sizes, integer=k % 2 == 0))
    return [*chosen, Window(TREE, np.arange(0, 20, 2), np.array([4, 3, 3])), Window(TREE, np.arange(5), np.array([5]))]


def test_its_optimum_is_that_of_the_dynamic_program() -> None:
    gained = 0
    for window in windows():
        allocation, left_out = program_allocation(window, 60.0)
        check_allocation(window, allocation)
        assert left_out == 0 and allocation.proven and allocation.gap == pytest.approx(0, abs=1e-6)
        assert allocation.cost == pytest.approx(scas_allocation(window).cost)
        gained += allocation.cost < sequential_allocation(window).cost
    assert gained >= 3


def test_without_time_there_are_nodes_for_all_jobs_and_an_honest_gap() -> None:
    window = Window(regular_tree((10, 10, 10)), np.arange(0, 1000, 3), np.array([31, 40, 17, 25]))
    answer = program_allocation(window, 1e-9)
    check_allocation(window, answer.allocation)
    assert answer.left_out == 4 and answer.allocation.nodes[0].tolist() == window.idle[:31].tolist()
    assert not answer.allocation.proven and answer.allocation.bound is not None and answer.allocation.gap is not None
    assert answer.allocation.bound <= scas_allocation(window).cost <= answer.allocation.cost
    with pytest.raises(ValueError, match="more than 0 seconds"):
        program_allocation(window, 0.0)


def test_jobs_that_are_left_out_get_the_first_nodes_left() -> None:
    window = Window(TREE, np.arange(1, 11), np.array([3, 2, 4]))
    nodes = _completed(window, np.array([-1, 2, -1]))
    assert [job.tolist() for job in nodes] == [[1, 2, 5], [3, 4], [6, 7, 8, 9]]


def test_the_table_has_the_paper_and_four_solvers_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def left_out_at_first(window: Window, seconds: float) -> Answer:
        calls.append(seconds)
        nodes = list(sequential_allocation(window).nodes)
        return Answer(window.allocation(nodes, 5.0, 0.0), 1) if seconds == 5.0 else Answer(scas_allocation(window))

    monkeypatch.setattr("papers.neural_annealing.integer_program.program_allocation", left_out_at_first)
    lines = program_table(1, 12, 4, 5.0).splitlines()
    assert len(lines) == 2 + len(ROWS_OF_TABLE_4) + 2 * 4 and set(calls) == {5.0, 3600.0}
    limited, unlimited = lines[6], lines[5]
    assert "| x, y, HiGHS, 5 s |" in limited and "| +0.0% |" in limited and "| 0% | 100.00% |" in limited
    assert "| x, y, HiGHS, without limit |" in unlimited and "| 100% | 0.00% |" in unlimited
