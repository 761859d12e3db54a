"""Tests of models/allocation: annealing, leaves, scas, window."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

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
from models.allocation.leaves import hops_of_counts, idle_leaves, least_cost_set, put_cheapest, set_tables
from models.allocation.scas import MOST_SCAS_CELLS, least_starts, scas_allocation, scas_cells
from models.allocation.window import (
    FloatArray,
    IntArray,
    Window,
    best_fit_allocation,
    greedy_allocation,
    sequential_allocation,
)
from simulator.topology.tree import SwitchTree, fat_tree, hop_cost, pair_hops, regular_tree
from tests.models.allocation.windows import (
    PAPERS_TREE,
    SMALL_TREES,
    check_allocation,
    small_window,
    window_of_papers_size,
)

# annealing: Annealing: its costs are true, it never goes below the optimum, and the published acceptance keeps what
# it rejects.

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


# best_set: The cheapest nodes of one job against all sets of nodes.


def pairs_left(tree: SwitchTree, idle: IntArray, left: FloatArray) -> float:
    """Value of the pairs of idle nodes below the switches of each level but the top."""
    counts = [np.bincount(tree.switch[level, idle]) for level in range(tree.levels - 1)]
    return sum(float(value * (count * (count - 1) // 2).sum()) for value, count in zip(left, counts, strict=True))


@pytest.mark.parametrize(("priced", "valued"), [(False, False), (True, False), (False, True), (True, True)])
def test_no_other_set_costs_less(priced: bool, valued: bool) -> None:
    rng = np.random.default_rng(12)
    trees = (*SMALL_TREES, regular_tree((2, 2, 2, 1, 1), (1, 2, 3, 5, 8)))
    for case in range(150):
        tree = trees[case % len(trees)]
        idle = np.sort(rng.permutation(tree.nodes)[: rng.integers(2, tree.nodes + 1)])
        size = int(rng.integers(1, min(5, len(idle)) + 1))
        leaves = idle_leaves(Window(tree, idle, np.array([size])))
        prices = rng.uniform(-5, 5, len(leaves.idle)) if priced else np.zeros(len(leaves.idle))
        price = prices[leaves.leaf_of]
        left = rng.uniform(0, 2, tree.levels - 1) if valued else np.zeros(tree.levels - 1)
        before = pairs_left(tree, idle, left)
        least = min(
            hop_cost(tree, idle[list(entries)])
            + price[list(entries)].sum()
            + before
            - pairs_left(tree, np.delete(idle, entries), left)
            for entries in combinations(range(len(idle)), size)
        )
        tables = set_tables(tree.levels, len(leaves.idle), size + case % 3)
        cost, _ = least_cost_set(leaves.above, leaves.saved, leaves.idle, prices, left, size, tables)
        taken = tables[4]
        farthest = leaves.farthest * (size - 1)
        assert cost + farthest == pytest.approx(least)
        assert taken.sum() == size and (taken <= leaves.idle).all()
        hops = hops_of_counts(leaves.above, leaves.saved, leaves.farthest, taken)
        nodes = np.concatenate([idle[leaves.first[k] :][:count] for k, count in enumerate(taken)])
        lost = before - pairs_left(tree, np.setdiff1d(idle, nodes), left)
        assert 2 * hops / size + prices @ taken + lost == pytest.approx(least)
        free, counts = leaves.idle.copy(), np.full(len(leaves.idle), 7)
        arrays = (leaves.above, leaves.saved, leaves.farthest, leaves.idle)
        assert put_cheapest(arrays, free, prices, left, size, counts, tables) == hops
        assert (counts == taken).all() and (free == leaves.idle - taken).all()


# leaves: Idle nodes by leaf.


def test_the_leaves_of_a_small_tree() -> None:
    leaves = idle_leaves(Window(fat_tree(4), np.array([0, 2, 3, 8, 9, 13]), np.array([2])))
    assert leaves.idle.tolist() == [1, 2, 2, 1]
    assert leaves.first.tolist() == [0, 1, 3, 5]
    assert leaves.leaf_of.tolist() == [0, 1, 1, 2, 2, 3]
    assert leaves.above.tolist() == [[0, 1, 4, 6], [0, 0, 2, 3], [0, 0, 0, 0]]
    assert leaves.saved.tolist() == [2, 2] and leaves.farthest == 6


def test_counts_become_nodes_with_the_same_hops() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        window = small_window(rng)
        leaves = idle_leaves(window)
        jobs_of_nodes = np.full(len(window.idle), -1)
        jobs_of_nodes[rng.permutation(len(window.idle))[: window.sizes.sum()]] = np.repeat(
            np.arange(len(window.sizes)), window.sizes
        )
        counts = np.zeros((len(window.sizes), len(leaves.idle)), dtype=np.int64)
        np.add.at(counts, (jobs_of_nodes[jobs_of_nodes >= 0], leaves.leaf_of[jobs_of_nodes >= 0]), 1)
        nodes = leaves.nodes_of(window, counts)
        check_allocation(window, window.allocation(nodes, 0.0))
        for job, taken in enumerate(nodes):
            hops = hops_of_counts(leaves.above, leaves.saved, leaves.farthest, counts[job])
            assert hops == pair_hops(window.tree, taken)
            assert hops == pair_hops(window.tree, window.idle[jobs_of_nodes == job])


# scas: The dynamic programme against all assignments of small windows.


def least_of_all_assignments(costs: np.ndarray, sizes: list[int]) -> float:
    """Tries every entry of the ring for every job. costs: of each job at each entry, (jobs, idle)."""
    entries = costs.shape[1]
    options = []
    for size, at in zip(sizes, costs.tolist(), strict=True):
        taken = [sum(1 << k % entries for k in range(first, first + size)) for first in range(entries)]
        options.append(list(zip(taken, at, strict=True)))

    def least(job: int, taken: int) -> float:
        if job == len(options):
            return 0.0
        return min(
            (cost + least(job + 1, taken | bits) for bits, cost in options[job] if not bits & taken), default=np.inf
        )

    return least(0, 0)


def costs_by_pairs(window: Window) -> np.ndarray:
    """Cost of each job at each entry of the ring."""
    hops = [
        [pair_hops(window.tree, np.roll(window.idle, -first)[:size]) for first in range(len(window.idle))]
        for size in window.sizes.tolist()
    ]
    return window.costs(np.array(hops), window.sizes[:, None])


def is_static(window: Window, nodes: np.ndarray) -> bool:
    """Whether the nodes follow one another in the ring of all idle nodes."""
    entries = np.searchsorted(window.idle, nodes)
    return (np.diff(entries) % len(window.idle) == 1 % len(window.idle)).all()


def test_the_dynamic_programme_gives_the_least_of_all_assignments() -> None:
    rng = np.random.default_rng(5)
    full = repeated = 0
    for _ in range(1000):
        window = small_window(rng)
        allocation = scas_allocation(window)
        check_allocation(window, allocation)
        assert allocation.cost == pytest.approx(least_of_all_assignments(costs_by_pairs(window), window.sizes.tolist()))
        assert allocation.proven and all(is_static(window, nodes) for nodes in allocation.nodes)
        full += window.sizes.sum() == len(window.idle)
        repeated += len(set(window.sizes.tolist())) < len(window.sizes)
    assert min(full, repeated) > 100  # the cases that are easy to get wrong are among these


def test_jobs_across_the_end() -> None:
    """Costs that come from no tree: a job across the end is as often cheap as any other."""
    rng = np.random.default_rng(7)
    across = 0
    for _ in range(1000):
        window = small_window(rng)
        sizes, kind, counts = np.unique(window.sizes, return_inverse=True, return_counts=True)
        costs = rng.integers(0, 30, (len(sizes), len(window.idle))).astype(np.float64)
        starts, least = least_starts(costs, sizes, counts)
        assert least == pytest.approx(least_of_all_assignments(costs[np.sort(kind)], np.sort(window.sizes).tolist()))
        assert least == pytest.approx(costs[np.sort(kind), starts].sum())
        across += (starts + np.sort(window.sizes) > len(window.idle)).any()
    assert across > 100


def test_a_job_across_the_end_pays_where_all_others_gain_more() -> None:
    """Two leaves of two nodes between single ones. The pairs fill them, so the third pair lies across the end."""
    tree = regular_tree((2, 4), (1, 9))
    window = Window(tree, np.array([0, 2, 3, 4, 5, 6]), np.array([2, 2, 2]))
    assert scas_allocation(window).cost == 1.0 + 1.0 + 9.0
    assert sequential_allocation(window).cost == 3 * 9.0


def test_many_jobs_of_few_sizes() -> None:
    window = Window(PAPERS_TREE, np.arange(1000), np.repeat([3, 10, 30], [20, 20, 10]))
    allocation = scas_allocation(window)
    check_allocation(window, allocation)
    assert allocation.cost <= sequential_allocation(window).cost


def test_a_window_with_too_many_jobs_names_the_other_solver() -> None:
    window = Window(fat_tree(20), np.arange(1000), np.arange(1, 30))
    assert scas_cells(window) > MOST_SCAS_CELLS
    with pytest.raises(ValueError, match=r"29 jobs on 1000 idle nodes are too many .* use flow_allocation"):
        scas_allocation(window)


def test_a_window_without_jobs_of_scas() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([], dtype=np.int64))
    assert scas_allocation(window).cost == 0.0 and scas_allocation(window).nodes == ()


def test_never_worse_than_sequential() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        window = window_of_papers_size(rng)
        assert scas_allocation(window).cost <= sequential_allocation(window).cost + 1e-9


# sequential: Allocations without a search.


def test_jobs_take_the_first_nodes_one_after_another() -> None:
    window = Window(fat_tree(4), np.array([1, 2, 3, 8, 9, 12]), np.array([2, 3]))
    allocation = sequential_allocation(window)
    assert [job.tolist() for job in allocation.nodes] == [[1, 2], [3, 8, 9]]
    assert allocation.bound is None and not allocation.proven


def test_the_largest_job_chooses_first_and_later_ones_may_straddle_it() -> None:
    """Four nodes of the second pod for the job of four. The pair that is left lies on both sides of it."""
    window = Window(fat_tree(4), np.array([3, 4, 5, 6, 7, 8]), np.array([2, 4]))
    assert [job.tolist() for job in greedy_allocation(window).nodes] == [[3, 8], [4, 5, 6, 7]]


def test_a_job_may_go_around_the_end() -> None:
    """Nodes 14 and 15, and 0 and 1, fill leaves. The pair goes to the first leaf that costs least, then around."""
    window = Window(fat_tree(4), np.array([0, 5, 10, 15]), np.array([3, 1]))
    allocation = greedy_allocation(window)
    check_allocation(window, allocation)
    assert sorted(np.concatenate(allocation.nodes).tolist()) == [0, 5, 10, 15]


def test_best_fit_takes_the_lowest_switch_with_room_and_there_the_fullest_leaves() -> None:
    """The pair fits two leaves, and takes the first. Three fit into the last pod only, where the full leaf comes first."""
    window = Window(fat_tree(4), np.array([0, 1, 3, 4, 6, 7]), np.array([2, 3]))
    assert [job.tolist() for job in best_fit_allocation(window).nodes] == [[0, 1], [4, 6, 7]]


def test_every_allocation_is_one() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        window = small_window(rng)
        for solve in (sequential_allocation, best_fit_allocation, greedy_allocation):
            check_allocation(window, solve(window))
