"""What jobs are given: nodes, or processors of nodes that are shared, with the switches above them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined
from simulator.topology.tree import SwitchTree, fit_tree

IntArray = NDArray[np.int64]


class Units(NamedTuple):
    """The units of a machine, in the order of the nodes, and the switches above them. With shared nodes level 0 is the node."""

    switch: IntArray  # (levels, units), see SwitchTree
    hops: IntArray  # (levels,)
    first: IntArray  # (levels, most switches + 1), first unit below each switch, and the number of units behind the last one
    switches: IntArray  # (levels,), how many a level has
    leaf: int  # level of the leaf switches: 1 with shared nodes, else 0
    procs: int  # processors of a unit


def units_of(tree: SwitchTree, cluster_procs: int, procs_per_node: int, sharing: str = "shared") -> Units:
    """The units of `cluster_procs` processors on the first nodes of a tree.

    Raises ValueError, with the remedy, where the tree has too few nodes, or processors do not divide into whole nodes.
    """
    tree, _ = fit_tree(tree, cluster_procs, procs_per_node, sharing == "whole")
    if sharing == "shared":
        node = np.arange(cluster_procs, dtype=np.int64) // procs_per_node
        switch = np.concatenate([node[None, :], tree.switch[:, node]])
        return _units(switch, np.concatenate([[0], tree.hops]), leaf=1, procs=1)
    return _units(tree.switch, tree.hops, leaf=0, procs=procs_per_node)


def node_units(tree: SwitchTree) -> Units:
    """Each node is a unit."""
    return _units(tree.switch, tree.hops, leaf=0, procs=1)


def _units(switch: IntArray, hops: IntArray, leaf: int, procs: int) -> Units:
    # copies, which may be written as other arrays: functions would be compiled twice, for a tree's own, which may not, and for these
    switch, hops = np.array(switch, dtype=np.int64, order="C"), np.array(hops, dtype=np.int64)
    switches = switch[:, -1] + 1
    first = np.full((len(switch), int(switches.max()) + 1), switch.shape[1], dtype=np.int64)
    for level, above in enumerate(switch):
        first[level, : switches[level]] = np.searchsorted(above, np.arange(switches[level]))
    return Units(switch, hops, first, switches, leaf, procs)


class Idle(NamedTuple):
    """Which units are idle. scratch: see the fields; all zeros between two calls where it says so."""

    idle: NDArray[np.bool_]  # (units,)
    below: IntArray  # (levels, most switches), idle units below each switch
    totals: IntArray  # (2,), idle units, and those of them in leaves that are partly used
    chosen: IntArray  # (units,) scratch: what a rule chooses
    queue: IntArray  # (units,) scratch: the sequence Q
    counts: IntArray  # (levels, most switches) scratch, zeros: units of a job below each switch
    costs: IntArray  # (units,) scratch


def all_idle(units: Units) -> Idle:
    """Every unit is idle."""
    levels, count = units.switch.shape
    most = units.first.shape[1]
    below = np.zeros((levels, most), dtype=np.int64)
    for level in range(levels):
        below[level, : units.switches[level]] = np.diff(units.first[level, : units.switches[level] + 1])
    return Idle(
        idle=np.ones(count, dtype=np.bool_),
        below=below,
        totals=np.array([count, 0], dtype=np.int64),
        chosen=np.empty(count, dtype=np.int64),
        queue=np.empty(count, dtype=np.int64),
        counts=np.zeros((levels, most), dtype=np.int64),
        costs=np.empty(count, dtype=np.int64),
    )


@inlined
def change_idle(units, state, given, begin, count, change):
    """The units `given[begin : begin + count]` are taken (`change` -1) or given back (1). Neighbours of one switch count at once."""
    end = begin + count
    for k in range(begin, end):
        state.idle[given[k]] = change > 0
    state.totals[0] += change * count
    for level in range(len(units.hops)):
        above, below = units.switch[level], state.below[level]
        run = np.int64(0)
        for k in range(begin, end):
            run += 1
            switch = above[given[k]]
            if k + 1 == end or above[given[k + 1]] != switch:
                if level == units.leaf:
                    size = units.first[level, switch + 1] - units.first[level, switch]
                    before, after = below[switch], below[switch] + change * run
                    state.totals[1] += (after if after < size else 0) - (before if before < size else 0)
                below[switch] += change * run
                run = np.int64(0)
