"""The walk by itself: outages take what is idle, and what they lack as it is given back. Placements as a whole: test_placement."""

from __future__ import annotations

import numpy as np

from simulator.topology.choosing import PLACE_NUMBERS
from simulator.topology.tree import regular_tree
from simulator.topology.units import all_idle, node_units
from simulator.topology.walk import ASKS, OVERFULL, PLACED, Walk, WalkTimes, new_walk, place_on

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
