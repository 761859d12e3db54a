"""Placements of schedules are those of an oracle that was written from docs/reference/semantics.md alone."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from simulator.engine.replay import NeverStarts, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.schedule import Placement, Schedule
from simulator.topology.choosing import Units, node_units, units_of
from simulator.topology.placement import PLACE_RULES, compact_hop_cost, place_schedule
from simulator.topology.tree import IntArray, first_nodes, hop_cost, regular_tree
from tests.shared import size
from tests.simulator import oracle_placing
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.oracle_placing import PlacingCase, check_placement, oracle_place, random_placing_case

CASES = size(3000, 30_000)
DETERMINISTIC = [rule for rule in PLACE_RULES if rule != "random"]


def units_of_case(case: PlacingCase) -> Units:
    nodes = -(-case.workload.cluster_procs // case.procs_per_node)
    return units_of(first_nodes(case.tree, nodes), case.workload.cluster_procs, case.procs_per_node, case.nodes)


def replayed(case: PlacingCase) -> Schedule | None:
    try:
        return replay(case.replayed.as_jobs(), case.replayed.as_cluster(), case.policy, case.backfill)
    except NeverStarts:  # for the outages
        return None


def as_lists(placement: Placement) -> list[list[int]]:
    return [placement.units_of(job).tolist() for job in range(len(placement.size))]


def test_the_oracle_places_the_same() -> None:
    placed = 0
    for seed in range(CASES):
        case = random_placing_case(Random(seed))
        schedule = replayed(case)
        if schedule is None:
            continue
        rule = DETERMINISTIC[seed % len(DETERMINISTIC)]
        ours = place_schedule(case.replayed.as_jobs(), case.replayed.as_cluster(), schedule, units_of_case(case), rule)
        expected = oracle_place(case.machine, case.replayed, schedule.start.tolist(), rule)
        assert as_lists(ours) == expected.units, f"case {seed}, {rule}"
        assert ours.hops.tolist() == expected.pair_hops and ours.leaves.tolist() == expected.leaves
        assert ours.pods.tolist() == expected.pods and ours.scattered.tolist() == expected.scattered
        placed += 1
    assert placed > 0.9 * CASES


def test_random_places_are_allowed_and_a_function_of_the_seed() -> None:
    for seed in range(200):
        case = random_placing_case(Random(seed))
        schedule = replayed(case)
        if schedule is None:
            continue
        given = case.replayed.as_jobs(), case.replayed.as_cluster(), schedule, units_of_case(case)
        ours, same = (as_lists(place_schedule(*given, "random", seed=7)) for _ in range(2))
        assert ours == same
        empty = oracle_placing.Placement(ours, [], [], [])
        if not case.replayed.running:
            check_placement(case.machine, case.replayed, schedule.start.tolist(), "random", empty)


def test_random_gives_all_sets_alike() -> None:
    jobs = busy_jobs(20_000)
    schedule = replay(jobs, PROCS, "FCFS", "easy")
    units = units_of(regular_tree((PROCS,)), PROCS, 1)
    placement = place_schedule(jobs, PROCS, schedule, units, "random", seed=3)
    share = np.bincount(placement.unit, minlength=PROCS) / len(placement.unit)
    assert np.abs(share * PROCS - 1).max() < 0.1


def test_a_solver_places_windows_of_at_most_eight() -> None:
    jobs = busy_jobs(500)
    schedule = replay(jobs, PROCS, "FCFS", "easy")
    units = units_of(regular_tree((PROCS,)), PROCS, 1)
    asked: list[int] = []

    def first_units(idle: IntArray, sizes: IntArray) -> list[IntArray]:
        asked.append(len(sizes))
        return np.split(idle[: sizes.sum()], np.cumsum(sizes)[:-1])

    ours = place_schedule(jobs, PROCS, schedule, units, solver=first_units)
    assert as_lists(ours) == as_lists(place_schedule(jobs, PROCS, schedule, units, "first"))
    assert sum(asked) == len(jobs) and max(asked) <= 8


def test_a_solver_that_gives_what_is_not_idle_is_refused() -> None:
    jobs = busy_jobs(50)
    schedule = replay(jobs, PROCS, "FCFS", "easy")
    units = units_of(regular_tree((PROCS,)), PROCS, 1)
    with pytest.raises(ValueError, match="as many idle units"):
        place_schedule(jobs, PROCS, schedule, units, solver=lambda idle, sizes: [np.arange(n) for n in sizes])


def test_costs_are_those_of_equation_1() -> None:
    tree = regular_tree((4, 2, 4))
    jobs = busy_jobs(400)
    cluster = Cluster(tree.nodes)
    narrow = jobs.procs <= tree.nodes
    assert narrow.all()
    placement = place_schedule(jobs, cluster, replay(jobs, cluster), node_units(tree), "tree")
    assert placement.hop_cost.tolist() == pytest.approx([hop_cost(tree, placement.units_of(j)) for j in range(400)])
    assert (placement.hop_cost >= compact_hop_cost(node_units(tree), placement.size) - 1e-9).all()


def test_what_is_idle_and_broken_before_each_start() -> None:
    """Three jobs of one node on two leaves of two nodes: the second finds half a leaf, the third an untouched one."""
    jobs = busy_jobs(3)
    jobs = type(jobs)(*(np.array(v) for v in ([0, 1, 2], [9, 9, 9], [1, 1, 1], [9, 9, 9], [9, 9, 9])))
    placement = place_schedule(jobs, 4, replay(jobs, 4), node_units(regular_tree((2, 2))), "tree")
    assert placement.unit.tolist() == [0, 1, 2]
    assert placement.idle.tolist() == [4, 3, 2] and placement.broken.tolist() == [0, 1, 0]


def test_schedules_that_do_not_fit() -> None:
    jobs = busy_jobs(200)
    schedule = replay(jobs, PROCS)
    with pytest.raises(ValueError, match="more units than are idle"):
        place_schedule(jobs, PROCS, schedule, node_units(regular_tree((PROCS // 2,))), "first")
    with pytest.raises(ValueError, match="unknown place 'best'; expected one of first, random"):
        place_schedule(jobs, PROCS, schedule, node_units(regular_tree((PROCS,))), "best")
