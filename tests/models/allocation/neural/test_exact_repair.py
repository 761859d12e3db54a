"""The best repair against trying every one through `RepairBatch`, and a search with it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from models.allocation.annealing import PAPERS_ANNEALING, PUBLISHED_ANNEALING
from models.allocation.neural.exact_repair import repair_values, repaired_costs
from models.allocation.neural.repairing import RepairBatch, RepairView, repair_problem
from simulator.topology.tree import regular_tree
from tests.models.allocation.neural.slow_repairing import random_windows

TREE = regular_tree((5, 3, 4), (1, 3, 5))
SEEN = 8


def batch_of(view: RepairView = "paper", integer: bool = False) -> RepairBatch:
    """Sequential assignments of six windows."""
    windows = random_windows(TREE, np.random.default_rng(2), 6, 4)
    batch = RepairBatch(repair_problem(TREE, view, integer), windows, SEEN)
    batch.place_in_sequence()
    return batch


@pytest.mark.parametrize("integer", [True, False])
def test_values_are_those_of_all_repairs(integer: bool) -> None:
    batch = batch_of(integer=integer)
    batch.destroy(np.random.default_rng(1), 2)
    values = repair_values(batch)
    removed = batch.arrays.ends
    assert set(removed.tolist()) == {1, 2}
    for row in range(len(removed)):
        costs: dict[int, list[float]] = {}
        for entries in itertools.product(range(SEEN), repeat=int(removed[row])):
            one = batch.rows(np.array([row]))
            reward = 0.0
            for entry in entries:
                if entry >= one.look()[1][0]:
                    break
                reward = -one.place(np.array([entry]))[0]
            else:
                costs.setdefault(entries[0], []).append(reward)
        for first, of_first in costs.items():
            assert values.best[row, first] == pytest.approx(min(of_first))
            assert values.mean[row, first] == pytest.approx(np.mean(of_first))
        assert np.isinf(values.best[row, len(costs) :]).all()
        assert values.least[row] == pytest.approx(min(min(each) for each in costs.values()))
        assert values.random[row] == pytest.approx(np.mean([np.mean(each) for each in costs.values()]))


@pytest.mark.parametrize("rules", [PAPERS_ANNEALING, PUBLISHED_ANNEALING])
def test_searches_end_at_most_where_they_began_and_the_best_repairs_need_few_moves(rules) -> None:
    begun = batch_of().costs()
    drawn = repaired_costs(batch_of(), replace(rules, steps=200), 1, best=False)
    best = repaired_costs(batch_of(), replace(rules, steps=20), 1, best=True)
    assert (drawn <= begun + 1e-9).all() and (best <= begun + 1e-9).all()
    assert best.mean() <= drawn.mean() < begun.mean()
    moved = batch_of()
    again = repaired_costs(moved, replace(rules, steps=200), 1, best=False, begin=True)
    assert (again == drawn).all() and moved.done and (moved.costs() >= drawn - 1e-9).all()
    for row in range(len(moved.jobs)):
        assert [len(nodes) for nodes in moved.nodes_of(row)] == moved.arrays.sizes[row, : moved.jobs[row]].tolist()


def test_only_one_or_two_jobs_are_repaired() -> None:
    batch = batch_of()
    with pytest.raises(ValueError, match="one or two jobs, not of \\[0\\]"):
        repair_values(batch)
    batch.begin_empty()
    with pytest.raises(ValueError, match="begins at an assignment of all jobs"):
        repaired_costs(batch, PAPERS_ANNEALING, 1, best=True)
