"""Slurm's best fit by hand, and what the rules choose on small machines."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.topology.choosing import PLACE_NUMBERS, choose_units, random_below
from simulator.topology.tree import IntArray, SwitchTree, fat_tree, regular_tree
from simulator.topology.units import all_idle, change_idle, node_units
from tests.simulator.topology.slurm_tree_cases import CASES, SlurmTreeCase, nodes_of


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
