"""Annealing: its costs are true, it never goes below the optimum, and the published acceptance keeps what it rejects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.allocation.annealing import (
    PAPERS_ANNEALING,
    PUBLISHED_ANNEALING,
    AnnealingRules,
    annealed_allocation,
    annealing_path,
)
from models.allocation.free import free_allocation
from models.allocation.scas import scas_allocation
from models.allocation.sequential import sequential_allocation
from models.allocation.window import Window
from simulator.topology.tree import fat_tree
from tests.models.allocation.windows import PAPERS_TREE, check_allocation, small_window, window_of_papers_size

COLD = replace(PAPERS_ANNEALING, first_temperature=1e-12, last_temperature=1e-12)
ALL_RULES = (PAPERS_ANNEALING, PUBLISHED_ANNEALING, COLD, replace(PAPERS_ANNEALING, removed=4, entries=3))


@pytest.mark.parametrize("rules", ALL_RULES)
def test_the_cost_of_the_path_is_that_of_the_nodes(rules: AnnealingRules) -> None:
    """The cost is summed over all moves; so a job whose hops were counted wrongly once would show in the least of the path."""
    rng = np.random.default_rng(9)
    for seed in range(200):
        window = small_window(rng) if seed % 2 else window_of_papers_size(rng, 12)
        allocation, path = annealing_path(window, rules, seed)
        check_allocation(window, allocation)
        assert allocation.cost == pytest.approx(min(sequential_allocation(window).cost, path.min()))


def test_the_same_seed_gives_the_same_allocation() -> None:
    window = window_of_papers_size(np.random.default_rng(3))
    paths = [annealing_path(window, PAPERS_ANNEALING, seed)[1].tolist() for seed in (1, 1, 2)]
    assert paths[0] == paths[1] != paths[2]


def test_a_rejected_move_is_undone() -> None:
    """Without heat only moves that cost no more are accepted. The published rule keeps the others as well."""
    rng = np.random.default_rng(10)
    for seed in range(50):
        window = window_of_papers_size(rng)
        start = sequential_allocation(window).cost
        _, corrected = annealing_path(window, COLD, seed)
        assert (np.diff(np.append(start, corrected)) <= 1e-9).all()
    rises = np.diff(annealing_path(window, replace(COLD, undo=False), 0)[1]) > 1e-9
    assert rises.mean() > 0.1


def test_the_published_walk_leaves_the_optimum_that_it_begins_at() -> None:
    """Two jobs fill a leaf each: nothing is better, and at no heat every other allocation must be rejected."""
    window = Window(fat_tree(8), np.arange(16), np.array([4, 4]))
    least = sequential_allocation(window).cost
    assert least == scas_allocation(window).cost
    published, walk = annealing_path(window, replace(PUBLISHED_ANNEALING, first_temperature=0.0025), 1)
    corrected, path = annealing_path(window, COLD, 1)
    assert published.cost == corrected.cost == least
    assert set(path.tolist()) == {least}
    assert walk[-1] > least and (walk > least).mean() > 0.5


def test_the_temperature_of_the_published_walk_has_no_effect() -> None:
    window = window_of_papers_size(np.random.default_rng(4))
    hot, cold = (replace(PUBLISHED_ANNEALING, first_temperature=t, last_temperature=t) for t in (1e9, 1e-9))
    assert annealing_path(window, hot, 5)[1].tolist() == annealing_path(window, cold, 5)[1].tolist()


def test_a_hot_search_accepts_what_a_cold_one_rejects() -> None:
    """At the temperature of the difference, the dear entries are held exp(-1) times as often as the cheap ones."""
    window = Window(
        fat_tree(4), np.array([0, 1, 4, 5]), np.array([2])
    )  # entries 0 and 2 cost 2, entries 1 and 3 cost 6
    rules = AnnealingRules(200_000, 4.0, 4.0)
    _, path = annealing_path(window, rules, 6)
    assert set(path.tolist()) == {2.0, 6.0}
    assert (path == 2.0).mean() == pytest.approx(1 / (1 + np.exp(-1)), abs=0.01)


def test_every_entry_is_as_likely() -> None:
    """Also those from which the job goes around the end. No move is taken back."""
    window = Window(PAPERS_TREE, np.array([0, 1, 2, 10, 100, 110, 111]), np.array([3]))
    costs = {entry: window.cost_of([np.roll(window.idle, -entry)[:3]]) for entry in range(7)}
    walk = replace(PAPERS_ANNEALING, steps=70_000, undo=False)
    _, path = annealing_path(window, walk, 7)
    for cost in set(costs.values()):
        expected = sum(other == cost for other in costs.values()) / 7
        assert (np.abs(path - cost) < 1e-9).mean() == pytest.approx(expected, abs=0.01)
    _, path = annealing_path(window, replace(walk, entries=2), 7)
    assert {round(cost, 6) for cost in path} == {round(costs[0], 6), round(costs[1], 6)}


def test_corrected_annealing_comes_close_to_the_static_optimum() -> None:
    """It may go below: a later job may straddle an earlier one, which a static assignment does not allow."""
    rng = np.random.default_rng(11)
    windows = [window_of_papers_size(rng) for _ in range(60)]
    static = sum(scas_allocation(window).cost for window in windows)
    annealed = sum(
        annealed_allocation(window, replace(PAPERS_ANNEALING, steps=4000), k).cost for k, window in enumerate(windows)
    )
    published = sum(annealed_allocation(window, PUBLISHED_ANNEALING, k).cost for k, window in enumerate(windows))
    assert annealed < 1.02 * static and annealed < published


def test_corrected_annealing_never_goes_below_the_proven_bound_of_all_placements() -> None:
    rng = np.random.default_rng(12)
    windows = [window_of_papers_size(rng) for _ in range(40)]
    costs = [annealed_allocation(window, replace(PAPERS_ANNEALING, steps=4000), 1).cost for window in windows]
    bounds = [free_allocation(window, 1, prove=True).bound for window in windows]
    share = np.array(costs) / np.array(bounds, dtype=np.float64)
    assert {window.integer for window in windows} == {True, False}  # the public code's tree, and the paper's
    assert (share >= 1 - 1e-9).all() and share.mean() < 1.02  # close enough that lost hops would show


def test_rules_that_make_no_search_are_refused() -> None:
    for changes in ({"steps": -1}, {"removed": 0}, {"entries": -2}):
        with pytest.raises(ValueError, match="at least"):
            replace(PAPERS_ANNEALING, **changes)
    with pytest.raises(ValueError, match="temperatures must be above 0 and not rise"):
        AnnealingRules(first_temperature=1.0, last_temperature=2.0)


def test_a_window_without_jobs() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([], dtype=np.int64))
    assert annealed_allocation(window, PAPERS_ANNEALING, 0).cost == 0.0
