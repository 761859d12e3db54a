"""Rules that choose the units of one job: docs/reference/semantics.md, "Placement". Each fills `chosen[:size]` of the state, ascending.

What jobs are given: nodes, or processors of nodes that are shared, with the switches above them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined, lean
from simulator.topology.tree import SwitchTree, change_of_hops, count_node, fit_tree

PLACE_NUMBERS = {"first": 0, "random": 1, "contiguous": 2, "tree": 3, "ring": 4, "dcas": 5, "asked": 6}
"""Rules by name. `dcas` takes the jobs of a window in another order than `ring`. `asked` stops for somebody to choose."""
FIRST, RANDOM, CONTIGUOUS, TREE, RING, DCAS, ASKED_UNITS = PLACE_NUMBERS.values()


@inlined
def choose_units(units, state, rule, size, random):
    """Chooses `size` idle units by a rule; there must be as many. Returns whether a contiguous block was missing.

    random: uint64 (1,), the state of the random numbers.
    """
    if rule == RANDOM:
        choose_random(state, size, random)
    elif rule == TREE:
        choose_tree(units, state, size)
    elif rule in (RING, DCAS):
        choose_ring(units, state, size)
    elif rule == CONTIGUOUS:
        return not choose_contiguous(state, size)
    else:
        choose_from(state.idle, state.chosen, np.int64(0), size, np.int64(0))
    return False


@lean
def choose_from(idle, chosen, unit, size, kept):
    """The first `size` idle units from `unit` on, put behind `kept` others. Returns how many are chosen then."""
    while size > 0:
        if idle[unit]:
            chosen[kept] = unit
            kept += 1
            size -= 1
        unit += 1
    return kept


@lean
def choose_contiguous(state, size):
    """The smallest block that holds the job; else the first idle units. Returns whether there is such a block."""
    count = len(state.idle)
    best, least = np.int64(-1), np.int64(count + 1)
    unit = np.int64(0)
    while unit < count:
        begin = unit
        while unit < count and state.idle[unit]:
            unit += 1
        if size <= unit - begin < least:
            best, least = begin, unit - begin
        unit += 1
    choose_from(state.idle, state.chosen, max(best, np.int64(0)), size, np.int64(0))
    return best >= 0


@inlined
def choose_tree(units, state, size):
    """Slurm's best fit: the lowest switch with room, of these the fullest, and its leaves by best fit."""
    level = np.int64(units.leaf)
    top = fullest_that_holds(state.below[level], np.int64(0), units.switches[level], size)
    while top < 0:
        level += 1
        top = fullest_that_holds(state.below[level], np.int64(0), units.switches[level], size)
    leaf_of = units.switch[units.leaf]
    begin = leaf_of[units.first[level, top]]
    end = leaf_of[units.first[level, top + 1] - 1] + 1
    below = state.below[units.leaf]
    taken, last, part = np.int64(0), np.int64(0), np.int64(0)
    while taken < size:
        last = fullest_that_holds(below, begin, end, size - taken)
        if last < 0:
            last = begin
            for other in range(begin, end):
                if below[other] > below[last]:
                    last = np.int64(other)
        part = min(below[last], size - taken)
        taken += part
        below[last] = -below[last]  # chosen: below all others
    kept = np.int64(0)
    for leaf in range(begin, end):
        if below[leaf] < 0:
            below[leaf] = -below[leaf]
            kept = choose_from(
                state.idle, state.chosen, units.first[units.leaf, leaf], part if leaf == last else below[leaf], kept
            )


@lean
def fullest_that_holds(below, begin, end, size):
    """The switch with the fewest idle units among those with at least `size`, or -1."""
    best = np.int64(-1)
    for switch in range(begin, end):
        if below[switch] >= size and (best < 0 or below[switch] < below[best]):
            best = np.int64(switch)
            if below[switch] == size:
                break
    return best


@lean
def choose_ring(units, state, size):
    """The entries of the ring with the least pair hops, of equal ones the first."""
    entries = fill_queue(state)
    queue, costs = state.queue, state.costs
    fill_ring_hops(units, state, entries, size)
    best = 0
    for first in range(1, entries):
        if costs[first] < costs[best]:
            best = first
    wrapped = max(best + size - entries, 0)
    for k in range(wrapped):
        state.chosen[k] = queue[k]
    for k in range(size - wrapped):
        state.chosen[wrapped + k] = queue[best + k]


@lean
def fill_queue(state):
    """The idle units in ascending order. Returns how many."""
    entries = 0
    for unit in range(len(state.idle)):
        if state.idle[unit]:
            state.queue[entries] = unit
            entries += 1
    return entries


@lean
def fill_ring_hops(units, state, entries, size):
    """Pair hops of `size` consecutive entries from each one on: one leaves and one enters in a step."""
    switch, hops, counts, queue = units.switch, units.hops, state.counts, state.queue
    total = np.int64(0)
    for k in range(size):
        total += change_of_hops(switch, hops, counts, queue[k])
        count_node(switch, counts, queue[k], 1)
    entering = size if size < entries else 0
    for first in range(entries):
        state.costs[first] = total
        count_node(switch, counts, queue[first], -1)
        total -= change_of_hops(switch, hops, counts, queue[first])
        total += change_of_hops(switch, hops, counts, queue[entering])
        count_node(switch, counts, queue[entering], 1)
        entering = entering + 1 if entering + 1 < entries else 0
    for k in range(size):  # the first window again
        count_node(switch, counts, queue[k], -1)


@lean
def choose_random(state, size, random):
    """Any `size` of the idle units: each in turn with the chance that is left (selection sampling, Knuth's algorithm S)."""
    left, kept = state.totals[0], np.int64(0)
    unit = np.int64(0)
    while kept < size:
        if state.idle[unit]:
            if random_below(random, left) < size - kept:
                state.chosen[kept] = unit
                kept += 1
            left -= 1
        unit += 1


@lean
def random_below(random, limit):
    """A whole number from 0 to below `limit`, from splitmix64 (Steele, Lea and Flood 2014)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    word = random[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return np.int64(np.float64(word >> np.uint64(11)) * (1.0 / 9007199254740992.0) * limit)


# --- units


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
