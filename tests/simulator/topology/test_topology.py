"""Tests of simulator/topology: choosing, closed_loop, tree, walk."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import numba
import numpy as np
import pytest

from simulator.engine.replay import replay
from simulator.jobs.cluster import FOREVER, Cluster, Outages, RunningJobs
from simulator.jobs.jobs import NEVER
from simulator.topology.choosing import (
    PLACE_NUMBERS,
    Idle,
    Units,
    all_idle,
    change_idle,
    choose_units,
    node_units,
    random_below,
    units_of,
)
from simulator.topology.closed_loop import (
    NodeJobs,
    PeriodState,
    in_periods,
    in_whole_nodes,
    published_jobs,
    run_closed_loop,
    selecting,
)
from simulator.topology.tree import IntArray, SwitchTree, fat_tree, hop_cost, pair_hops, regular_tree, ring_hops
from simulator.topology.walk import ASKS, OVERFULL, PLACED, Walk, WalkTimes, new_walk, place_on
from tests.models.allocation.windows import integer_hop_cost
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.oracle_metrics import BACKFILLS_WITH_PERIODS, POLICIES_WITH_PERIODS, oracle_periods
from tests.simulator.oracle_placing import random_placing_case
from tests.simulator.topology.slurm_tree_cases import CASES, SlurmTreeCase, nodes_of

# choosing: Slurm's best fit by hand, and what the rules choose on small machines.


def chosen_by(tree: SwitchTree, rule: str, idle: list[int], size: int) -> tuple[IntArray, bool]:
    units = node_units(tree)
    state = all_idle(units)
    busy = np.setdiff1d(np.arange(tree.nodes), idle)
    change_idle(units, state, busy, 0, len(busy), -1)
    below = state.below.copy()
    missed = choose_units(units, state, PLACE_NUMBERS[rule], size, np.array([1], dtype=np.uint64))
    assert np.array_equal(state.below, below) and not state.counts.any(), "a rule changed what is idle"
    return state.chosen[:size].copy(), missed


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.size} of {case.idle}")
def test_slurms_best_fit_by_hand(case: SlurmTreeCase) -> None:
    chosen, _ = chosen_by(case.tree, "tree", nodes_of(case.idle), case.size)
    assert chosen.tolist() == nodes_of(case.expected), case.why


def test_there_are_thirty_cases_of_slurm() -> None:
    assert len(CASES) >= 30 and len({(case.shape, case.idle, case.size) for case in CASES}) == len(CASES)


def test_contiguous_takes_the_smallest_block() -> None:
    tree = regular_tree((12,))
    idle = [0, 1, 2, 3, 5, 6, 7, 9, 10, 11]
    assert chosen_by(tree, "contiguous", idle, 3)[0].tolist() == [5, 6, 7]
    assert chosen_by(tree, "contiguous", idle, 4)[0].tolist() == [0, 1, 2, 3]
    chosen, missed = chosen_by(tree, "contiguous", idle, 5)
    assert missed and chosen.tolist() == [0, 1, 2, 3, 5], "without a block it is first fit, and counted"


def test_the_ring_goes_round() -> None:
    """One leaf is at both ends of the sequence only in the ring: units 0 and 15 are not close, 14 and 15 are."""
    tree = fat_tree(4)
    assert chosen_by(tree, "ring", [0, 3, 6, 14, 15], 2)[0].tolist() == [14, 15]
    assert chosen_by(tree, "ring", [0, 15], 2)[0].tolist() == [0, 15]
    assert chosen_by(tree, "ring", list(range(10)), 4)[0].tolist() == [0, 1, 2, 3]


def test_the_papers_example() -> None:
    """Figure 2: idle nodes 1 to 10 of a 4-ary fat tree, and a job of four nodes: the cheapest start is a pod's first."""
    assert chosen_by(fat_tree(4), "ring", [0, 1, 2, 3, 8, 9], 4)[0].tolist() == [0, 1, 2, 3]


def test_random_numbers_are_even_and_never_reach_the_limit() -> None:
    state = np.array([5], dtype=np.uint64)
    drawn = np.array([random_below(state, 7) for _ in range(7000)])
    assert set(drawn.tolist()) == set(range(7))
    assert np.abs(np.bincount(drawn) / 1000 - 1).max() < 0.15


# closed_loop: The published closed loop: the selection rule, what is refused, and the ideals of the reference.

PAPER, CODE = regular_tree((10, 10, 10)), regular_tree((10, 4, 25), (1, 3, 5))
SMALL = regular_tree((2, 2))


def in_order(idle: IntArray, sizes: IntArray) -> list[IntArray]:
    return np.split(idle[: sizes.sum()], np.cumsum(sizes)[:-1])


def node_jobs(*rows: tuple[int, int, int]) -> NodeJobs:
    return NodeJobs(*np.array(rows, dtype=np.int64).T)


def test_the_workload_of_the_public_code() -> None:
    jobs = published_jobs(20_000, 1)
    gaps = np.diff(jobs.arrival)
    assert (gaps.min(), gaps.max()) == (5, 30) and (jobs.size.min(), jobs.size.max()) == (2, 40)
    assert (jobs.runtime.min(), jobs.runtime.max()) == (10, 1800)
    load = (jobs.runtime * jobs.size).mean() / gaps.mean() / PAPER.nodes
    assert load == pytest.approx(1.09, abs=0.03)


def test_ideal_costs() -> None:
    """The reference's ideals, per job and times 1,000: sizes of 2 to 40 alike, and 1 to 40 with the public code's cost."""
    sizes = [np.arange(size) for size in range(1, 41)]
    assert 1000 * np.mean([hop_cost(PAPER, nodes) for nodes in sizes[1:]]) == pytest.approx(65_007, rel=1e-4)
    assert 1000 * np.mean([pair_hops(CODE, nodes) / len(nodes) for nodes in sizes[1:]]) == pytest.approx(
        22_503, rel=1e-4
    )
    assert 1000 * np.mean([hop_cost(PAPER, nodes) for nodes in sizes]) == pytest.approx(63_382, rel=1e-4)
    assert 1000 * np.mean([integer_hop_cost(CODE, nodes) for nodes in sizes]) == pytest.approx(21_600, rel=1e-4)


def test_jobs_start_at_periods_narrow_ones_first() -> None:
    jobs = node_jobs((1, 70, 3), (2, 10, 2), (3, 10, 1), (61, 10, 1))
    result = run_closed_loop(SMALL, jobs, selecting(in_order))
    assert result.start.tolist() == [120, 60, 60, 120]  # job 0 does not fit beside the narrower ones
    assert [nodes.tolist() for nodes in result.nodes] == [[0, 1, 2], [1, 2], [0], [3]]
    assert result.windows == [2, 2]


def test_who_has_waited_for_more_periods_goes_first_and_nobody_passes_it() -> None:
    jobs = node_jobs((1, 150, 3), (2, 10, 4), (61, 10, 1))
    result = run_closed_loop(SMALL, jobs, selecting(in_order))
    # At 120 the job of one node would fit. The job of four has waited for a period, and stops the selection.
    assert result.start.tolist() == [60, 240, 300]


def test_a_period_without_arrivals_and_ends_is_skipped() -> None:
    asked: list[int] = []

    def scheduler(state: PeriodState) -> dict[int, IntArray]:
        asked.append(state.now)
        return selecting(in_order)(state)

    run_closed_loop(SMALL, node_jobs((1, 400, 4), (61, 10, 1)), scheduler)
    assert asked == [60, 120, 480]


def test_at_most_so_many_jobs_a_window() -> None:
    jobs = published_jobs(100, 3)
    assert max(run_closed_loop(PAPER, jobs, selecting(in_order, most=5)).windows) == 5
    assert max(run_closed_loop(PAPER, jobs, selecting(in_order)).windows) > 5


@pytest.mark.parametrize("given", [[0, 1], [0], [0, 9]])
def test_nodes_that_are_not_idle_are_refused(given: list[int]) -> None:
    jobs = node_jobs((1, 100, 2), (61, 10, 2))
    with pytest.raises((ValueError, IndexError)):
        run_closed_loop(SMALL, jobs, lambda state: {state.queue[0]: np.array(given)})


def test_what_can_never_start() -> None:
    with pytest.raises(ValueError, match="5 nodes does not fit into a tree of 4"):
        run_closed_loop(SMALL, node_jobs((1, 10, 5)), selecting(in_order))
    with pytest.raises(ValueError, match="started none of 1 jobs"):
        run_closed_loop(SMALL, node_jobs((1, 10, 1)), lambda state: {})


# hops: Hops of sets of nodes, against a sum over pairs.

UNEVEN = SwitchTree(np.array([[0, 0, 0, 1, 2, 2, 3], [0, 0, 0, 0, 1, 1, 1], [0] * 7]), np.array([1, 3, 8]))
TREES = [
    regular_tree((3, 2, 2)),
    regular_tree((4, 3)),
    regular_tree((12,)),
    UNEVEN,
    regular_tree((2, 2, 2, 2), (1, 1, 5, 5)),
]


def hops_between(tree: SwitchTree, one: int, other: int) -> int:
    """By walking up until both have the same switch."""
    level = next(level for level in range(tree.levels) if tree.switch[level, one] == tree.switch[level, other])
    return int(tree.hops[level])


@pytest.mark.parametrize("tree", TREES)
def test_hops_are_those_of_all_pairs(tree: SwitchTree) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        nodes = rng.permutation(tree.nodes)[: rng.integers(1, tree.nodes + 1)]
        by_pairs = sum(hops_between(tree, one, other) for one, other in combinations(nodes.tolist(), 2))
        assert pair_hops(tree, nodes) == by_pairs
        assert hop_cost(tree, nodes) == pytest.approx(2 * by_pairs / len(nodes))


def test_equation_1_by_hand() -> None:
    """Two nodes of one leaf, of one pod and of two pods in a 4-ary fat tree: 2, 4 and 6 hops, each way, for two nodes."""
    tree = fat_tree(4)
    assert [hop_cost(tree, np.array(nodes)) for nodes in ([0, 1], [0, 2], [0, 4])] == [2.0, 4.0, 6.0]
    assert hop_cost(tree, np.array([3])) == 0.0 and hop_cost(tree, np.array([], dtype=np.int64)) == 0.0
    assert hop_cost(tree, np.array([0, 1, 2])) == pytest.approx(2 * (2 + 4 + 4) / 3)


def test_a_job_alone_fills_whole_switches() -> None:
    tree = regular_tree((3, 2, 2))
    for size in range(1, 6):
        least = min(hop_cost(tree, np.array(nodes)) for nodes in combinations(range(12), size))
        assert hop_cost(tree, np.arange(size)) == pytest.approx(least)


@pytest.mark.parametrize("tree", TREES)
def test_hops_around_the_ring(tree: SwitchTree) -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        idle = np.sort(rng.permutation(tree.nodes)[: rng.integers(1, tree.nodes + 1)])
        size = int(rng.integers(1, len(idle) + 1))
        expected = [pair_hops(tree, np.roll(idle, -first)[:size]) for first in range(len(idle))]
        assert ring_hops(tree.switch, tree.hops, idle, size).tolist() == expected


# rounding: Periods and whole nodes are replays of rounded jobs: checked against a loop over periods.


def test_a_loop_over_periods_starts_the_same() -> None:
    compared = 0
    for seed in range(600):
        case = random_placing_case(Random(seed))
        exact = [
            job._replace(cancel=None, admit=None, estimate=max(job.estimate, job.runtime)) for job in case.workload.jobs
        ]
        workload = case.workload._replace(running=[], outages=[], jobs=exact)
        policy = POLICIES_WITH_PERIODS[seed % len(POLICIES_WITH_PERIODS)]
        backfill = BACKFILLS_WITH_PERIODS[seed // 7 % len(BACKFILLS_WITH_PERIODS)]
        schedule = replay(*in_periods(workload.as_jobs(), workload.as_cluster(), case.period), policy, backfill)
        assert schedule.start.tolist() == oracle_periods(workload, case.period, policy, backfill), f"case {seed}"
        compared += 1
    assert compared == 600


def test_times_are_rounded_and_the_rest_is_kept() -> None:
    jobs = busy_jobs(300, cancelled_share=0.2)
    outages = Outages(np.array([61]), np.array([FOREVER]), np.array([3]), np.array([59]))
    rounded, cluster = in_periods(jobs, Cluster(PROCS, outages=outages), 60)
    for name in ("submit", "runtime", "estimate", "limit", "hold", "admit"):
        before, after = getattr(jobs, name), getattr(rounded, name)
        assert (after % 60 == 0).all() and (after >= before).all() and (after < before + 60).all()
    assert ((rounded.cancel == NEVER) == (jobs.cancel == NEVER)).all() and (rounded.procs == jobs.procs).all()
    assert (cluster.outages.start[0], cluster.outages.end[0], cluster.outages.announced[0]) == (60, FOREVER, 0)


def test_what_has_no_periods() -> None:
    with pytest.raises(ValueError, match="at least 1 s"):
        in_periods(busy_jobs(3), PROCS, 0)
    running = RunningJobs(*(np.array([n]) for n in (0, 9000, 1, 9000, 9000, 0)))
    with pytest.raises(ValueError, match="warm start"):
        in_periods(busy_jobs(3), Cluster(PROCS, running), 60)


def test_whole_nodes() -> None:
    jobs = busy_jobs(50)
    rounded, cluster = in_whole_nodes(jobs, PROCS, 4)
    assert (rounded.procs % 4 == 0).all() and (rounded.procs - jobs.procs < 4).all() and cluster.procs == PROCS
    assert replace(rounded, procs=jobs.procs).submit.tolist() == jobs.submit.tolist()
    with pytest.raises(ValueError, match="whole nodes of 5"):
        in_whole_nodes(jobs, PROCS, 5)


# units: Units of a machine: nodes, or processors of shared nodes; and the counts of what is idle.


def test_shared_nodes_are_a_level_below_the_leaves() -> None:
    units = units_of(regular_tree((2, 2)), 7, 2, "shared")
    assert units.switch.tolist() == [[0, 0, 1, 1, 2, 2, 3], [0, 0, 0, 0, 1, 1, 1], [0] * 7]
    assert units.hops.tolist() == [0, 2, 4] and (units.leaf, units.procs) == (1, 1)
    assert units.first[0, :5].tolist() == [0, 2, 4, 6, 7]


def test_whole_nodes_of_units() -> None:
    units = units_of(regular_tree((2, 2)), 12, 3, "whole")
    assert units.switch.shape == (2, 4) and (units.leaf, units.procs) == (0, 3)


def test_all_units_are_of_one_kind_to_the_compiler() -> None:
    """Arrays that may not be written are another kind: each function that takes units was compiled for both."""
    tree = regular_tree((2, 2))
    kinds = {numba.typeof(units) for units in (node_units(tree), units_of(tree, 8, 2), units_of(tree, 8, 2, "whole"))}
    assert len(kinds) == 1


def test_a_larger_tree_is_cut() -> None:
    assert units_of(regular_tree((2, 2, 5)), 6, 2, "whole").switch.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("procs", "per_node", "message"),
    [(7, 2, "not a whole number of nodes"), (100, 2, "need 50"), (8, 0, "at least 1 processor")],
)
def test_what_does_not_fit(procs: int, per_node: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        units_of(regular_tree((2, 4)), procs, per_node, "whole")


def assert_counted(units: Units, state: Idle) -> None:
    """Every count is that of the flags."""
    for level in range(len(units.hops)):
        counts = np.bincount(units.switch[level, state.idle], minlength=units.switches[level])
        assert state.below[level, : units.switches[level]].tolist() == counts.tolist()
    leaf = units.switch[units.leaf]
    idle, size = np.bincount(leaf, weights=state.idle), np.bincount(leaf)
    assert state.totals.tolist() == [state.idle.sum(), idle[idle < size].sum()]


@pytest.mark.parametrize("sharing", ["shared", "whole"])
def test_counts_follow_what_is_taken_and_given_back(sharing: str) -> None:
    units = units_of(regular_tree((3, 2, 2)), 24, 2, sharing)
    state, rng = all_idle(units), np.random.default_rng(1)
    assert_counted(units, state)
    taken: list[np.ndarray] = []
    for _ in range(200):
        idle = np.flatnonzero(state.idle)
        if len(idle) and rng.random() < 0.6:
            given = rng.permutation(idle)[: rng.integers(1, len(idle) + 1)]  # in any order
            change_idle(units, state, given, 0, len(given), -1)
            taken.append(given)
        elif taken:
            given = taken.pop(int(rng.integers(len(taken))))
            change_idle(units, state, given, 0, len(given), 1)
        assert_counted(units, state)


def test_node_units() -> None:
    assert node_units(regular_tree((5,))).switch.tolist() == [[0] * 5]


# walk: The walk by itself: outages take what is idle, and what they lack as it is given back. Placements as a
# whole: test_placement.

UNITS = node_units(regular_tree((4,)))


def a_walk(start: list[int], end: list[int], procs: list[int], outages: int = 0) -> Walk:
    """Tasks in this order, outages last."""
    start_s, end_s = np.array(start), np.array(end)
    jobs = len(start) - outages
    in_order = np.concatenate([np.arange(jobs, len(start)), np.arange(jobs)])
    starts = in_order[np.argsort(start_s[in_order], kind="stable")]
    times = WalkTimes(start_s, end_s, starts, np.argsort(end_s, kind="stable"))
    return new_walk(np.array(procs), outages, UNITS, times, np.ones(len(start), dtype=bool))


def units_given(walk: Walk) -> list[list[int]]:
    return [walk.unit[a : a + held].tolist() for a, held in zip(walk.first_unit, walk.held, strict=False)]


def test_an_outage_takes_the_highest_units_and_waits_for_the_rest() -> None:
    """Jobs hold 0 to 2 until 10 and 20; an outage of 3 begins at 5: it has unit 3 at once and those of the first job at 10."""
    walk = a_walk([0, 0, 30, 5], [10, 20, 40, 25], [2, 1, 4, 3], 1)
    assert place_on(UNITS, all_idle(UNITS), walk, PLACE_NUMBERS["first"]) == PLACED
    assert units_given(walk) == [[0, 1], [2], [0, 1, 2, 3], [3, 1, 0]]


def test_an_outage_that_ends_lacks_nothing_any_more() -> None:
    walk = a_walk([0, 12, 5], [10, 20, 8], [4, 4, 2], 1)
    assert place_on(UNITS, all_idle(UNITS), walk, PLACE_NUMBERS["first"]) == PLACED
    assert units_given(walk) == [[0, 1, 2, 3], [0, 1, 2, 3], []]


def test_a_schedule_that_overfills_the_machine() -> None:
    walk = a_walk([0, 1], [10, 10], [3, 2])
    assert place_on(UNITS, all_idle(UNITS), walk, PLACE_NUMBERS["first"]) == OVERFULL


def test_whoever_is_asked_writes_units() -> None:
    walk, state = a_walk([0, 0, 3], [5, 5, 9], [1, 2, 1]), all_idle(UNITS)
    assert place_on(UNITS, state, walk, PLACE_NUMBERS["asked"]) == ASKS
    walk.unit[:3] = [3, 0, 1]
    assert place_on(UNITS, state, walk, PLACE_NUMBERS["asked"]) == ASKS
    walk.unit[3] = 2
    assert place_on(UNITS, state, walk, PLACE_NUMBERS["asked"]) == PLACED
    assert units_given(walk) == [[3], [0, 1], [2]] and walk.hops.tolist() == [0, 2, 0]
