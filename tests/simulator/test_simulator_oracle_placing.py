"""The oracle of placements by itself: examples worked out by hand, the paper's figures, and what must hold of any case.

Nodes are counted from 0; the paper counts them from 1. All times are in s.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest

from simulator.topology.tree import fat_tree, regular_tree
from tests.simulator.oracle import CANCELLED, oracle_run
from tests.simulator.oracle_cases import Case, Row
from tests.simulator.oracle_machine import Machine, in_whole_nodes, machine_of
from tests.simulator.oracle_placing import (
    LEAVES_NO_CHOICE,
    Placement,
    PlacingCase,
    check_placement,
    oracle_place,
    random_placing_case,
)
from tests.simulator.oracle_rules_of_placing import (
    arc,
    blocks,
    compact_pair_hops,
    contiguous,
    cost_of_group,
    dcas,
    free_optimum,
    is_scattered,
    place_window,
    ring,
    scas_optimum,
    tree,
)
from tests.simulator.oracle_types import Workload
from tests.simulator.topology.slurm_tree_cases import CASES, SlurmTreeCase, nodes_of

PAPER = machine_of(fat_tree(4), 16)
"""Figure 1: leaves of 2 nodes, pods of 4, 16 nodes."""
PAPER_Q = list(range(10))
"""Nodes 1 to 10 of the paper are idle."""

SEEDS = range(60)


def work(procs: int, *jobs: Row, **rest: object) -> Workload:
    return Case("", procs, jobs, [], **rest).workload


def test_units_are_processors_or_nodes() -> None:
    shared = machine_of(regular_tree((2, 2)), 7, 2)
    assert shared.node == [0, 0, 1, 1, 2, 2, 3]
    assert [shared.pair_hops([0, other]) for other in (1, 2, 3, 4, 6)] == [0, 2, 2, 4, 4]
    whole = machine_of(regular_tree((2, 2)), 6, 2, "whole")
    assert whole.node == [0, 1, 2] and [whole.wanted(procs) for procs in (1, 2, 3, 6)] == [1, 1, 2, 3]
    with pytest.raises(ValueError, match="whole nodes"):
        machine_of(regular_tree((2, 2)), 7, 2, "whole")
    with pytest.raises(ValueError, match="need 5 nodes"):
        machine_of(regular_tree((2, 2)), 9, 2)


def test_costs_by_hand() -> None:
    # Four nodes of a pod: 2 pairs in a leaf, 4 pairs between leaves. The sum over ordered pairs is twice 20, by 4: 10.
    assert PAPER.pair_hops([0, 1, 2, 3]) == 2 * 2 + 4 * 4
    assert PAPER.cost([0, 1, 2, 3]) == 10
    assert PAPER.cost([0]) == 0
    assert PAPER.pair_hops([0, 2, 4]) == 4 + 6 + 6 and PAPER.cost([0, 2, 4]) == Fraction(32, 3)
    assert (PAPER.switches([0, 1, 4], 0), PAPER.switches([0, 1, 4], 1)) == (2, 2)
    assert (PAPER.switches([0, 2, 3], 0), PAPER.switches([0, 2, 3], 1)) == (2, 1)


@pytest.mark.parametrize("shape", [((2, 2), None), ((3, 2), (1, 5)), ((2, 2, 2), (2, 4, 6)), ((5,), None)], ids=str)
def test_the_compact_cost_is_the_least_of_all_sets(shape: tuple[tuple[int, ...], tuple[int, ...] | None]) -> None:
    for procs_per_node, short in ((1, 0), (2, 1), (1, 1)):
        machine = machine_of(regular_tree(*shape), regular_tree(*shape).nodes * procs_per_node - short, procs_per_node)
        for count in range(1, min(7, len(machine.units)) + 1):
            sets = combinations(machine.units, count)
            assert compact_pair_hops(machine, count) == min(machine.pair_hops(units) for units in sets)


def test_leaves_that_a_job_needs() -> None:
    uneven = CASES_BY_SHAPE[(2, 6, 3)]
    assert [uneven.leaves_needed(count) for count in (1, 6, 7, 9, 10, 11)] == [1, 1, 2, 2, 3, 3]


def test_blocks_by_hand() -> None:
    q = [0, 1, 3, 4, 5, 7, 8, 9, 12]
    assert blocks(q) == [[0, 1], [3, 4, 5], [7, 8, 9], [12]]
    assert [contiguous(PAPER, q, count) for count in (1, 2, 3)] == [[12], [0, 1], [3, 4, 5]]
    assert contiguous(PAPER, q, 4) == [0, 1, 3, 4]
    assert [is_scattered(q, count) for count in (3, 4)] == [False, True]
    # a block does not go past the last unit, as a ring does
    assert contiguous(PAPER, [0, 1, 14, 15], 3) == [0, 1, 14] and is_scattered([0, 1, 14, 15], 3)


def test_the_ring_by_hand() -> None:
    # 4, 5 and 6 lie in a pod: 2 + 4 + 4, and so do 5, 6 and 7; 0, 1 and 4 have 2 + 6 + 6.
    assert ring(PAPER, [0, 1, 4, 5, 6, 7], 3) == [4, 5, 6]
    # 0 and 15 are neighbours on the ring, of different pods; 1 and 14 are not
    assert arc([0, 1, 14, 15], 3, 2) == [15, 0]
    assert ring(PAPER, [0, 14, 15], 2) == [14, 15]
    assert ring(PAPER, [1, 2, 8], 3) == [1, 2, 8]


def test_dcas_places_the_widest_first() -> None:
    # The second job takes the pod 4-7 first; of 0, 1 and 8 the first then has the pair in a leaf.
    assert dcas(PAPER, [0, 1, 4, 5, 6, 7, 8], [2, 4]) == [[0, 1], [4, 5, 6, 7]]
    assert dcas(PAPER, [0, 1, 2, 3], [2, 2]) == [[0, 1], [2, 3]]
    # of equal ones the first submitted takes the leaf 2-3; the other straddles it: 1 and 4 were no neighbours before
    assert dcas(PAPER, [1, 2, 3, 4], [2, 2]) == [[2, 3], [1, 4]]


def test_dcas_is_widest_first_in_its_group_only() -> None:
    window = [(order, 1) for order in range(8)] + [(8, 2)]
    units = place_window(PAPER, "dcas", list(range(10)), window)
    assert units == {**{order: [order] for order in range(8)}, 8: [8, 9]}
    assert place_window(PAPER, "dcas", list(range(10)), window[1:])[8] == [0, 1]


# Figures 2 and 3 of Lan et al. 2023: nodes 1 to 10 are idle, and two jobs of 4 nodes want some.


def test_figure_2_static() -> None:
    taken = set(arc(PAPER_Q, 4, 4))
    starts = [start for start in PAPER_Q if not taken & set(arc(PAPER_Q, start, 4))]
    assert starts == [0, 8, 9]
    assert [arc(PAPER_Q, start, 4) for start in starts] == [[0, 1, 2, 3], [8, 9, 0, 1], [9, 0, 1, 2]]


def test_figure_2_dynamic() -> None:
    q = [node for node in PAPER_Q if node not in arc(PAPER_Q, 4, 4)]
    assert q == [0, 1, 2, 3, 8, 9]
    dynamic = [arc(q, start, 4) for start in range(len(q))]
    assert len({tuple(sorted(units)) for units in dynamic}) == 6
    static = [[0, 1, 2, 3], [8, 9, 0, 1], [9, 0, 1, 2]]
    assert [units for units in dynamic if units not in static] == [[1, 2, 3, 8], [2, 3, 8, 9], [3, 8, 9, 0]]
    assert all(units in dynamic for units in static)


def test_figure_3_has_seven_arcs_and_both_jobs_a_pod() -> None:
    without_wrap = [arc(PAPER_Q, start, 4) for start in PAPER_Q if start + 4 <= 10]
    assert len(without_wrap) == 7 and without_wrap[0] == [0, 1, 2, 3]
    pairs = [(one, other) for one, other in product(without_wrap, repeat=2) if not set(one) & set(other)]
    assert len(pairs) == 2 * (3 + 2 + 1)
    assert min(cost_of_group(PAPER, pair) for pair in pairs) == 10 + 10
    assert scas_optimum(PAPER, PAPER_Q, [4, 4]) == 20
    assert dcas(PAPER, PAPER_Q, [4, 4]) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_the_optimum_of_a_group_is_that_of_all_starts() -> None:
    rng = Random(1)
    for _ in range(40):
        q = sorted(rng.sample(range(16), rng.randint(5, 9)))
        counts = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
        while sum(counts) > len(q):
            counts.pop()
        ways = [[arc(q, start, n) for start in range(len(q))] for n in counts]
        disjoint = [way for way in product(*ways) if len({unit for units in way for unit in units}) == sum(counts)]
        least = min(cost_of_group(PAPER, way) for way in disjoint)
        assert scas_optimum(PAPER, q, counts) == least
        assert free_optimum(PAPER, q, counts) <= least
        assert free_optimum(PAPER, q, counts) <= cost_of_group(PAPER, dcas(PAPER, q, counts))


# Slurm's best fit.

CASES_BY_SHAPE = {case.shape: machine_of(case.tree, case.tree.nodes) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.shape} {case.idle} {case.size}")
def test_best_fit_on_a_tree(case: SlurmTreeCase) -> None:
    machine = CASES_BY_SHAPE[case.shape]
    assert sorted(tree(machine, nodes_of(case.idle), case.size)) == nodes_of(case.expected), case.why


def test_the_cases_differ() -> None:
    assert len({(case.shape, case.idle, case.size) for case in CASES}) == len(CASES) >= 30
    assert all(len(nodes_of(case.expected)) == case.size for case in CASES)
    assert all(set(nodes_of(case.expected)) <= set(nodes_of(case.idle)) for case in CASES)


def test_a_node_is_no_switch() -> None:
    # Leaves of two nodes with two processors: the second leaf has the fewest idle, on two nodes; the node 0 is not asked.
    machine = machine_of(regular_tree((2, 2)), 8, 2)
    assert tree(machine, [0, 1, 3, 5, 6], 2) == [5, 6]


# Order within a second.


def place(workload: Workload, machine: Machine, rule: str = "first") -> Placement:
    return oracle_place(machine, workload, oracle_run(workload).start, rule)


def test_jobs_get_units_in_submit_order() -> None:
    # SJF starts J1 before J0, in the same second; J2 gets what both give back.
    workload = work(4, (0, 9, 2), (0, 5, 1), (1, 5, 3))
    start = oracle_run(workload, "SJF").start
    assert start == [0, 0, 9]
    assert oracle_place(PAPER_OF_4, workload, start, "first").units == [[0, 1], [2], [0, 1, 2]]


PAPER_OF_4 = machine_of(fat_tree(4), 4)


def test_outages_take_the_highest_units_and_what_is_given_back() -> None:
    # J0 holds 0-2; the outage of 3 takes 3, lacks two, and takes 1 and 2 when J0 ends: J1 gets 0. It ends at 20.
    placement = place(work(4, (0, 10, 3), (6, 20, 1), (20, 5, 3), outages=[(5, 20, 3)]), PAPER_OF_4)
    assert placement.units == [[0, 1, 2], [0], [1, 2, 3]]
    assert [(held.t, held.outages) for held in placement.held if held.outages[0]] == [(5, [[3]]), (10, [[1, 2, 3]])]


def test_an_outage_that_lacks_units_comes_before_jobs_and_before_later_outages() -> None:
    # At 5 the first lacks 2. At 10 J0 gives back 0 and 1, and the second outage begins: the first is served first.
    workload = work(4, (0, 10, 2), (0, 30, 2), (1, 5, 1), outages=[(5, 15, 2), (10, 12, 1)])
    placement = place(workload, PAPER_OF_4)
    assert [(held.t, held.outages) for held in placement.held][1:3] == [(5, [[], []]), (10, [[0, 1], []])]
    assert oracle_run(workload).start == [0, 0, 15]


def test_who_runs_already_comes_before_outages_under_way() -> None:
    placement = place(work(4, (10, 5, 1), running=[(0, 20, 2), (0, 15, 1)], outages=[(5, 30, 2)]), PAPER_OF_4)
    assert placement.running == [[0, 1], [2]]
    assert placement.held[0].outages == [[3]]
    assert placement.units == [[0]]  # at 15 the outage takes 2, and at 20 J0 starts


def test_whole_nodes_of_jobs_and_outages() -> None:
    workload = in_whole_nodes(work(8, (0, 5, 1), (0, 5, 3), (1, 5, 8), outages=[(0, 3, 1)]), 2)
    machine = machine_of(fat_tree(4), 8, 2, "whole")
    assert [job.procs for job in workload.jobs] == [2, 4, 8]
    placement = place(workload, machine)
    assert placement.units == [[0], [1, 2], [0, 1, 2, 3]] and placement.held[0].outages == [[3]]
    assert (placement.pair_hops, placement.leaves, placement.pods) == ([0, 4, 20], [1, 2, 2], [1, 1, 1])


def test_scattered_jobs_are_counted() -> None:
    # J0 0-1, J1 2-3 and J2 4-5 of 6; J0 and J2 end, and J3 has no block of 3.
    workload = work(6, (0, 5, 2), (0, 9, 2), (0, 5, 2), (1, 5, 3))
    placement = place(workload, machine_of(fat_tree(4), 6), "contiguous")
    assert placement.units[3] == [0, 1, 4] and placement.scattered == [False, False, False, True]


def test_a_run_time_of_zero_has_no_place() -> None:
    with pytest.raises(ValueError, match="zero"):
        place(work(4, (0, 0, 1)), PAPER_OF_4)


# The checker.


def starts_of(case: PlacingCase) -> list[int]:
    return oracle_run(case.replayed, case.policy, case.backfill, case.correction).start


@pytest.mark.parametrize("rule", LEAVES_NO_CHOICE)
def test_the_checker_accepts_what_the_oracle_places(rule: str) -> None:
    for seed in SEEDS:
        case = random_placing_case(Random(seed))
        start = starts_of(case)
        placement = oracle_place(case.machine, case.replayed, start, rule)
        check_placement(case.machine, case.replayed, start, rule, placement)
        check_placement(case.machine, case.replayed, start, "random", placement)
        if rule in ("ring", "dcas"):  # one by one on the ring is a search that ends where it begins, if it is dcas
            check_placement(case.machine, case.replayed, start, "free" if rule == "dcas" else "random", placement)
        assert placement.leaves == [len({case.machine.above[unit][0] for unit in units}) for units in placement.units]


def test_the_checker_notices_every_swap_of_a_unit() -> None:
    """A unit of a job becomes another: held by somebody or by an outage, or idle, and then only the rule is broken."""
    noticed = {"random": 0, "first": 0}
    for seed in SEEDS:
        case = random_placing_case(Random(seed))
        start = starts_of(case)
        for rule, count in noticed.items():
            placement = oracle_place(case.machine, case.replayed, start, "first")
            rng = Random(seed)
            job = rng.choice([job for job in case.replayed.jobs if start[job.order] != CANCELLED])
            units = placement.units[job.order]
            others = [unit for unit in case.machine.units if unit not in units]
            if not others:
                continue
            units[rng.randrange(len(units))] = rng.choice(others)
            try:
                check_placement(case.machine, case.replayed, start, rule, placement)
            except AssertionError:
                noticed[rule] = count + 1
            else:
                assert rule == "random"
    assert noticed["first"] > len(SEEDS) * 0.8 and 0 < noticed["random"] < noticed["first"]


def two_jobs(one: list[int], other: list[int]) -> tuple[Machine, Workload, list[int], Placement]:
    """Two jobs of 4 nodes on the paper's nodes 1 to 10, and their units."""
    workload = work(10, (0, 5, 4), (0, 5, 4))
    return machine_of(fat_tree(4), 10), workload, [0, 0], Placement([one, other], [], [], [False, False])


def test_the_checker_asks_for_the_least_cost_of_scas() -> None:
    def check(rule: str, one: list[int], other: list[int]) -> None:
        machine, workload, start, placement = two_jobs(one, other)
        check_placement(machine, workload, start, rule, placement)

    check("scas", [0, 1, 2, 3], [4, 5, 6, 7])
    check("scas", [4, 5, 6, 7], [0, 1, 2, 3])
    check("free", [4, 5, 6, 7], [0, 1, 2, 3])
    check("random", [9, 1, 8, 3], [4, 2, 6, 7])
    with pytest.raises(AssertionError, match="the least is 20"):
        check("scas", [4, 5, 6, 7], [8, 9, 0, 1])
    with pytest.raises(AssertionError, match="no consecutive entries"):
        check("scas", [4, 5, 6, 7], [2, 3, 8, 9])
    with pytest.raises(AssertionError, match="a search from 20"):
        check("free", [4, 5, 6, 7], [2, 3, 8, 9])
    with pytest.raises(AssertionError, match="two jobs get a unit"):
        check("random", [0, 1, 2, 3], [3, 4, 5, 6])
    with pytest.raises(AssertionError, match="has not 4 units"):
        check("random", [0, 1, 2, 3], [4, 5, 6])
    with pytest.raises(AssertionError, match="has not 4 units"):
        check("random", [0, 1, 2, 3], [4, 5, 6, 6])
    with pytest.raises(AssertionError, match="not idle"):
        check("random", [0, 1, 2, 3], [4, 5, 6, 10])


def test_the_checker_knows_who_never_starts() -> None:
    workload = work(10, (0, 5, 10), (1, 5, 4), cancel={1: 3})
    placement = Placement([list(range(10)), [0]], [], [], [False, False])
    with pytest.raises(AssertionError, match="never starts"):
        check_placement(machine_of(fat_tree(4), 10), workload, [0, CANCELLED], "random", placement)


# Random cases.


def test_random_cases_can_be_drawn_again_and_have_everything() -> None:
    cases = [random_placing_case(Random(seed)) for seed in range(300)]
    again = random_placing_case(Random(7))
    assert again.workload == cases[7].workload and (again.tree.switch == cases[7].tree.switch).all()
    assert {case.nodes for case in cases} == {"shared", "whole"}
    assert {case.tree.levels for case in cases} >= {1, 2, 3, 4}
    assert {case.backfill for case in cases} == {"none", "any", "easy", "easy-sjbf"}
    assert all(8 <= len(case.workload.jobs) <= 30 and len(case.machine.units) <= 24 for case in cases)
    for feature in ("running", "outages"):
        assert sum(bool(getattr(case.workload, feature)) for case in cases) > 50
    assert sum(any(job.cancel is not None for job in case.workload.jobs) for case in cases) > 50
    assert sum(case.workload.cluster_procs % case.procs_per_node > 0 for case in cases) > 10
    assert any(
        len(set(case.tree.switch[0].tolist())) > 1 and case.tree.nodes > len(set(case.machine.node)) for case in cases
    )
