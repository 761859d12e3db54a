"""Units of a machine: nodes, or processors of shared nodes; and the counts of what is idle."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from simulator.topology.tree import regular_tree
from simulator.topology.units import Idle, Units, all_idle, change_idle, node_units, units_of


def test_shared_nodes_are_a_level_below_the_leaves() -> None:
    units = units_of(regular_tree((2, 2)), 7, 2, "shared")
    assert units.switch.tolist() == [[0, 0, 1, 1, 2, 2, 3], [0, 0, 0, 0, 1, 1, 1], [0] * 7]
    assert units.hops.tolist() == [0, 2, 4] and (units.leaf, units.procs) == (1, 1)
    assert units.first[0, :5].tolist() == [0, 2, 4, 6, 7]


def test_whole_nodes() -> None:
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
