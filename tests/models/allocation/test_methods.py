"""Tests of models/allocation: free, looking_ahead, methods."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import get_args

import numpy as np
import pytest

import models.allocation.methods as methods
from models.allocation import free
from models.allocation.free import counts_of_nodes, free_allocation, least_costs
from models.allocation.leaves import idle_leaves
from models.allocation.looking_ahead import (
    PAPERS_VALUES,
    LookingAheadReplayer,
    StartValues,
    looking_ahead,
)
from models.allocation.methods import PLACE_METHODS, PlaceMethod, place_window
from models.allocation.scas import MOST_SCAS_CELLS, scas_allocation, scas_cells
from models.allocation.window import Allocation, Window
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.topology.choosing import node_units, units_of
from simulator.topology.closed_loop import NodeJobs, PeriodState, in_periods, published_jobs, run_closed_loop
from simulator.topology.tree import fat_tree, hop_cost, regular_tree
from tests.models.allocation.neural.slow_repairing import small_policy
from tests.models.allocation.test_allocation import costs_by_pairs, is_static, least_of_all_assignments
from tests.models.allocation.windows import (
    CODES_TREE,
    PAPERS_TREE,
    check_allocation,
    small_window,
    window_of_papers_size,
)

# free: Free allocation against all partitions of small windows, and between its bound and the static optimum.


def least_of_all_partitions(window: Window) -> float:
    """Tries every set of idle nodes for every job."""

    def least(job: int, free: frozenset[int]) -> float:
        if job == len(window.sizes):
            return 0.0
        size = window.sizes[job : job + 1]
        alone = Window(window.tree, window.idle, size, window.integer)
        return min(
            alone.cost_of([np.array(nodes)]) + least(job + 1, free - set(nodes))
            for nodes in combinations(sorted(free), int(size[0]))
        )

    return least(0, frozenset(window.idle.tolist()))


def test_the_search_reaches_the_least_of_all_partitions() -> None:
    rng = np.random.default_rng(13)
    reached = 0
    windows = [small_window(rng, 3) for _ in range(120)]
    windows = [window for window in windows if len(window.idle) <= 7]
    for seed, window in enumerate(windows):
        least = least_of_all_partitions(window)
        for prove in (False, True):
            allocation = free_allocation(window, seed, prove=prove)
            check_allocation(window, allocation)
            assert allocation.bound is not None
            assert allocation.bound <= least + 1e-9 <= allocation.cost + 2e-9
            if allocation.proven:
                assert allocation.cost == pytest.approx(least)
            reached += abs(allocation.cost - least) < 1e-9
    assert reached >= 2 * len(windows) - 2


def test_free_lies_between_its_bound_and_the_static_optimum() -> None:
    rng = np.random.default_rng(14)
    gaps = []
    for seed in range(300):
        window = window_of_papers_size(rng)
        allocation = free_allocation(window, seed)
        check_allocation(window, allocation)
        static = scas_allocation(window).cost
        assert allocation.cost <= static + 1e-9
        if seed % 10 == 0:
            proof = free_allocation(window, seed, prove=True)
            check_allocation(window, proof)
            assert allocation.bound is not None and proof.bound is not None and proof.gap is not None
            assert allocation.bound - 1e-9 <= proof.bound <= min(allocation.cost, proof.cost, static) + 1e-9
            gaps.append(proof.gap)
    assert np.mean(gaps) < 0.02


def test_10_000_idle_nodes_and_130_jobs_are_proven() -> None:
    sizes = np.random.default_rng(15).integers(1, 41, 130)
    window = Window(regular_tree((10, 25, 40)), np.arange(10_000), sizes)
    allocation = free_allocation(window, 0)
    check_allocation(window, allocation)
    assert allocation.proven


def test_column_generation_proves_more_than_each_job_alone() -> None:
    """One leaf has four idle nodes, two have two. Alone, both jobs of four fit the first leaf; together, only one does."""
    window = Window(regular_tree((4, 3)), np.array([0, 1, 2, 3, 4, 5, 8, 9]), np.array([4, 4]))
    alone, proof = free_allocation(window, 0), free_allocation(window, 0, prove=True)
    assert alone.bound == pytest.approx(2 * 6.0) and not alone.proven
    assert proof.proven and proof.cost == alone.cost == pytest.approx(6.0 + 2 * (2 * 2 + 4 * 4) / 4)


def test_the_same_seed_gives_the_same_allocation() -> None:
    rng = np.random.default_rng(16)
    idle = np.sort(rng.permutation(1000)[:400])
    window = Window(PAPERS_TREE, idle, rng.integers(1, 41, 18))
    nodes = [np.concatenate(free_allocation(window, seed, 200, prove=True).nodes).tolist() for seed in (1, 1, 2)]
    assert nodes[0] == nodes[1] != nodes[2]


def test_the_search_ends_at_the_gap_that_is_asked_for() -> None:
    rng = np.random.default_rng(17)
    window = Window(PAPERS_TREE, np.sort(rng.permutation(1000)[:400]), rng.integers(1, 41, 14))
    early, late = (free_allocation(window, 0, 2000, prove=True, gap=gap) for gap in (0.02, 0.0))
    assert early.gap is not None and early.gap <= 0.02 and early.cost >= late.cost


def test_counts_and_costs_of_jobs() -> None:
    window = Window(fat_tree(4), np.array([0, 1, 2, 9]), np.array([2, 1]))
    leaves = idle_leaves(window)
    assert counts_of_nodes(window, leaves, (np.array([1, 2]), np.array([9]))).tolist() == [[1, 1, 0], [0, 0, 1]]
    assert least_costs(window, leaves).tolist() == [2.0, 0.0]


def test_a_window_without_jobs() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([], dtype=np.int64))
    assert free_allocation(window, 0, prove=True).cost == 0.0


def test_a_time_limit_is_read_between_parts_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    window = window_of_papers_size(np.random.default_rng(18), 12)
    window = Window(window.tree, window.idle, window.sizes)
    steps: list[int] = []
    search = free._search

    def counted(leaves: tuple, jobs: tuple, given: np.ndarray, guide: tuple, enough: float, seed: int) -> np.ndarray:
        steps.append(guide[1])
        return search(leaves, jobs, given, guide, enough, seed)

    monkeypatch.setattr(free, "_search", counted)
    short = free_allocation(window, 1, 800, prove=True, seconds=1e-9)
    check_allocation(window, short)
    assert steps == [100 // 16] and short.bound is not None and short.bound <= short.cost
    steps.clear()
    long = free_allocation(window, 1, 800, prove=True, seconds=1e6)
    assert sum(steps) == 100 + 2 * 800 and len(steps) > 32 and long.cost <= short.cost
    assert free_allocation(window, 1, 0).cost >= long.cost


# looking_ahead: Choosing jobs and nodes together, on small trees.

TREE = regular_tree((2, 2, 2))
EASY_GOING = StartValues(start=0.5, wait=0.1, bend=1.0, power=1.0, left=(0.01, 0.01), guard=50, tries=200)


def state_of(idle: list[int], sizes: list[int], periods: list[int], tree=TREE) -> PeriodState:
    jobs = NodeJobs(np.zeros(len(sizes), np.int64), np.full(len(sizes), 100), np.array(sizes))
    is_idle = np.zeros(tree.nodes, dtype=bool)
    is_idle[idle] = True
    return PeriodState(
        60, jobs, list(range(len(sizes))), np.array(periods), is_idle, {}, np.zeros(len(sizes), np.int64)
    )


def chosen(state: PeriodState, values: StartValues, tree=TREE) -> dict[int, list[int]]:
    return {job: nodes.tolist() for job, nodes in looking_ahead(tree, values, 0)(state).items()}


def test_a_job_that_suits_the_idle_nodes_goes_before_one_that_does_not() -> None:
    """Two idle nodes in one leaf and one in another pod: the pair starts, the job of three waits."""
    assert chosen(state_of([0, 1, 6], [3, 2], [1, 0]), EASY_GOING) == {1: [0, 1]}


def test_nobody_passes_a_job_that_has_waited_for_long() -> None:
    guarded = replace(EASY_GOING, guard=1)
    assert chosen(state_of([0, 1, 6], [3, 2], [1, 0]), guarded) == {0: [0, 1, 6]}
    assert chosen(state_of([0, 1, 6], [4, 2], [1, 0]), guarded) == {}
    assert chosen(state_of([0, 1, 6], [2, 4, 1], [2, 1, 0]), guarded) == {0: [0, 1]}


def test_a_job_waits_for_a_better_place_until_its_value_is_higher_than_the_loss() -> None:
    """Alone it costs 2; on nodes of two pods 6."""
    few = [0, 6]
    loses = hop_cost(TREE, np.array(few)) - 2.0
    assert loses == 4.0
    plain = replace(EASY_GOING, left=())
    for periods, starts in ((1, False), (14, False), (16, True)):  # worth 2 * (0.5 + 0.1 * periods)
        assert bool(chosen(state_of(few, [2], [periods]), plain)) is starts


def test_idle_pairs_have_a_value() -> None:
    """The last node of a broken leaf costs a job of one node as much as any; only the value of pairs sends it there."""
    valued = replace(EASY_GOING, left=(0.1,))
    assert chosen(state_of([0, 1, 2], [1], [0]), valued) == {0: [2]}


def test_no_run_time_is_read_unless_it_is_asked_for() -> None:
    jobs = published_jobs(80, 5)
    other = NodeJobs(jobs.arrival, jobs.runtime[::-1].copy(), jobs.size)
    values = replace(PAPERS_VALUES, tries=20)
    given = []
    for weight, some in ((0.0, jobs), (0.0, other), (9.0, jobs), (9.0, other)):
        state = PeriodState(
            60, some, list(range(4, 12)), np.zeros(80, np.int64), np.ones(1000, bool), {}, np.zeros(80, np.int64)
        )
        for job, first in ((0, 100), (1, 300)):
            state.running[job] = np.arange(first, first + int(some.size[job]))
            state.idle[state.running[job]] = False
            state.end[job] = 500 + 5000 * job
        started = looking_ahead(PAPERS_TREE, replace(values, ends=weight), 0)(state)
        given.append({job: nodes.tolist() for job, nodes in started.items()})
    assert given[0] == given[1] and given[2] != given[3]


@pytest.mark.parametrize("tree", [PAPERS_TREE, CODES_TREE])
def test_all_jobs_start_and_the_same_seed_gives_the_same_schedule(tree) -> None:
    jobs = published_jobs(150, 7)
    few = replace(PAPERS_VALUES, tries=10)
    one, other = (run_closed_loop(tree, jobs, looking_ahead(tree, few, 3)) for _ in range(2))
    assert (one.start >= jobs.arrival).all() and one.start.tolist() == other.start.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(one.nodes, other.nodes, strict=True))


@pytest.mark.parametrize(
    ("change", "says"),
    [({"tries": 0}, "tries"), ({"guard": 0}, "guard"), ({"left": (-1.0,)}, "below 0"), ({"wait": 0.0}, "for ever")],
)
def test_values_that_make_no_search_are_refused(change: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(EASY_GOING, **change)


def test_a_tree_must_have_a_level_for_each_value() -> None:
    with pytest.raises(ValueError, match="below its top"):
        looking_ahead(regular_tree((4, 4)), PAPERS_VALUES, 0)


def test_a_replay_is_the_protocol_on_the_units_of_a_machine() -> None:
    """The published jobs, which are those of the protocol, start at the same seconds on the same nodes."""
    work, tree = published_jobs(60, 3), regular_tree((4, 4, 3))
    jobs = Jobs(work.arrival, work.runtime, work.size, work.runtime, work.runtime)
    expected = run_closed_loop(tree, work, looking_ahead(tree, replace(PAPERS_VALUES, guard=5), 2))
    rounded, _ = in_periods(jobs, tree.nodes, 60)
    for units in (node_units(tree), units_of(tree, tree.nodes, 1)):
        outcome = LookingAheadReplayer(units, 60, guard=5, seed=2).replay(rounded, Cluster(tree.nodes))
        schedule, placement = outcome.schedule, outcome.placement
        assert placement is not None
        assert schedule.start.tolist() == expected.start.tolist()
        assert all(placement.units_of(job).tolist() == nodes.tolist() for job, nodes in enumerate(expected.nodes))
    later = [bool((expected.start[:job] > start).any()) for job, start in enumerate(expected.start)]
    assert schedule.backfilled.tolist() == later


# methods: All methods give allocations above their bounds; what they are given by users is refused where it cannot
# be.

POLICY = small_policy("FCN-1", "paper", 20)
FORTY_SIZES = Window(fat_tree(20), np.arange(1000), np.arange(1, 41))


def placed_by(method: PlaceMethod, window: Window, seconds: float = 60.0, seed: int = 1) -> Allocation:
    return place_window(window, method, seconds, seed, POLICY if method == "nsa" else None)


def test_every_name_has_a_solver() -> None:
    assert set(get_args(PlaceMethod)) == set(PLACE_METHODS) == {*methods._SOLVERS, "nsa"}


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_allocations_are_valid_and_not_below_their_bound(method: PlaceMethod) -> None:
    rng = np.random.default_rng(61)
    windows = [window_of_papers_size(rng) for _ in range(6)] + [small_window(rng) for _ in range(40)]
    for window in windows:
        if method == "nsa" and window.tree.levels < 2:
            continue
        allocation = placed_by(method, window)
        check_allocation(window, allocation)
        assert allocation.bound is not None and 0.0 <= allocation.bound <= allocation.cost
        assert allocation.gap is not None and 0.0 <= allocation.gap <= 1.0
        assert allocation.seconds < 10.0, "compiling is not counted"


def test_scas_is_the_least_of_all_assignments() -> None:
    rng = np.random.default_rng(62)
    for _ in range(60):
        window = small_window(rng)
        allocation = place_window(window, "scas")
        assert allocation.cost == pytest.approx(least_of_all_assignments(costs_by_pairs(window), window.sizes.tolist()))
        assert allocation.proven and all(is_static(window, nodes) for nodes in allocation.nodes)


def test_no_method_is_below_the_bound_of_free() -> None:
    rng = np.random.default_rng(63)
    for _ in range(3):
        window = window_of_papers_size(rng)
        bound = placed_by("free", window).bound
        assert bound is not None
        assert all(placed_by(method, window).cost >= bound - 1e-9 for method in PLACE_METHODS)


def test_many_jobs_of_different_sizes_have_a_time_limit() -> None:
    assert scas_cells(FORTY_SIZES) > MOST_SCAS_CELLS
    allocation = place_window(FORTY_SIZES, "scas", seconds=0.01)
    check_allocation(FORTY_SIZES, allocation)
    assert all(is_static(FORTY_SIZES, nodes) for nodes in allocation.nodes)
    assert allocation.bound is not None and 0.0 < allocation.bound <= allocation.cost
    assert allocation.seconds < 10.0


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_the_same_seed_gives_the_same_nodes(method: PlaceMethod) -> None:
    window = window_of_papers_size(np.random.default_rng(64), 12)
    first, second = (placed_by(method, window, seed=5) for _ in range(2))
    assert [nodes.tolist() for nodes in first.nodes] == [nodes.tolist() for nodes in second.nodes]


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_no_job_costs_nothing(method: PlaceMethod) -> None:
    allocation = placed_by(method, Window(regular_tree((4, 2)), np.arange(3), np.array([], dtype=np.int64)))
    assert (allocation.cost, allocation.bound, allocation.gap, allocation.nodes) == (0.0, 0.0, 0.0, ())
    assert allocation.proven


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_hops_of_zero_cost_nothing(method: PlaceMethod) -> None:
    allocation = placed_by(method, Window(regular_tree((2, 3), (0, 0)), np.arange(6), np.array([3, 2])))
    assert allocation.cost == 0.0 and allocation.proven


def test_what_cannot_be_done_is_refused() -> None:
    window = Window(regular_tree((9,)), np.arange(9), np.array([2]))
    for method, seconds, repair, message in (
        ("best", 60.0, None, "unknown method 'best'; expected one of scas, dcas, free, anneal, nsa, tree"),
        ("scas", 0.0, None, "the limit is 0.0 seconds: expected a number above 0"),
        ("free", math.nan, None, "the limit is nan seconds"),
        ("free", math.inf, None, "the limit is inf seconds"),
        ("nsa", 60.0, None, "the method nsa needs a trained network: give one"),
        ("tree", 60.0, POLICY, "the method tree uses no trained network: leave it out"),
        ("nsa", 60.0, POLICY, "the tree needs at least two levels"),
    ):
        with pytest.raises(ValueError, match=message):
            place_window(window, method, seconds, 1, repair)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["scas", "free", "anneal"])
def test_a_window_that_would_fill_the_memory_is_refused(method: PlaceMethod) -> None:
    tree = regular_tree((10, 2000))
    sizes = np.array([10_000, *[1] * 10_000] if method == "anneal" else [15_000] if method == "free" else range(1, 200))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "MOST_PLACING_CELLS", 1 << 24)
        window = Window(tree, np.arange(tree.nodes), sizes)
        with pytest.raises(ValueError, match=f"too many for the method {method}: use dcas or tree"):
            placed_by(method, window)


def test_a_very_large_window_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "MOST_PLACING_CELLS", 10)
    allocation = placed_by("dcas", Window(regular_tree((3, 3)), np.arange(9), np.array([4, 3])))
    assert allocation.bound is None and allocation.gap is None and not allocation.proven
