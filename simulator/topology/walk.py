"""The compiled walk over a schedule that gives units to jobs as they start, and takes them back as they end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined, lean
from simulator.topology.choosing import ASKED_UNITS, DCAS, Units, change_idle, choose_units

IntArray = NDArray[np.int64]

LARGEST_WINDOW = 8
"""Jobs that a joint rule places at once."""

BEGUN, ENDED, OWING, GROUP, GROUP_END = range(5)
"""Counters. BEGUN and ENDED are the starts and ends that have been done, OWING the outages that lack units. The window that somebody is
asked to place has the places of `Walk.starts` from GROUP to before GROUP_END, which is 0 while nobody is asked."""
NUM_WALK_COUNTERS = 5


PLACED, ASKS, OVERFULL = range(3)
"""Why a walk stops."""


class Walk(NamedTuple):
    """The tasks of a walk, what it has given them, and where it is. Tasks: jobs that run at first, jobs, and outages, in this order."""

    start: IntArray  # (tasks,), seconds
    end: IntArray  # (tasks,)
    starts: IntArray  # (tasks that start,), by start; outages first, then in order
    ends: IntArray  # the same by end
    size: IntArray  # (tasks,), units
    outages: int  # the first task that is an outage
    first_unit: IntArray  # (tasks + 1,), where the units of each task are in `unit`
    unit: IntArray  # (units of all tasks,)
    held: IntArray  # (tasks,), units that it has been given
    hops: IntArray  # (tasks,), pair hops
    leaves: IntArray  # (tasks,), leaf switches above its units
    pods: IntArray  # (tasks,), switches of the next level
    scattered: NDArray[np.bool_]  # (tasks,)
    idle: IntArray  # (tasks that start,), idle units before each start
    broken: IntArray  # (tasks that start,), those of them in leaves that are partly used
    owing: IntArray  # (outages,), scratch
    random: NDArray[np.uint64]  # (1,)
    counters: IntArray  # (NUM_WALK_COUNTERS,)


class WalkTimes(NamedTuple):
    """When the tasks of a schedule start and end, as `Walk` has it."""

    start: IntArray
    end: IntArray
    starts: IntArray
    ends: IntArray


def new_walk(
    procs: IntArray, outages: int, units: Units, times: WalkTimes, takes: NDArray[np.bool_], seed: int = 1
) -> Walk:
    """The walk before its first step. procs: of each task, int64 (tasks,), those of the outages last. takes: whether a task may
    ever get units, bool (tasks,)."""
    size = -(-procs // units.procs)
    first_unit = np.concatenate([[0], np.cumsum(np.where(takes, size, 0))])
    count = len(size)
    return Walk(
        *times,
        size=size,
        outages=count - outages,
        first_unit=first_unit,
        unit=np.empty(first_unit[-1], dtype=np.int64),
        held=np.zeros(count, dtype=np.int64),
        hops=np.zeros(count, dtype=np.int64),
        leaves=np.zeros(count, dtype=np.int64),
        pods=np.zeros(count, dtype=np.int64),
        scattered=np.zeros(count, dtype=np.bool_),
        idle=np.zeros(len(times.starts), dtype=np.int64),
        broken=np.zeros(len(times.starts), dtype=np.int64),
        owing=np.zeros(max(outages, 1), dtype=np.int64),
        random=np.array([seed], dtype=np.uint64),
        counters=np.zeros(NUM_WALK_COUNTERS, dtype=np.int64),
    )


@lean
def place_on(units, state, walk, rule):
    """Goes on to the end and returns PLACED. On the way it returns ASKS for a window that somebody has to place: then the units are
    written into `walk.unit` at the `first_unit` of each of its jobs, and the walk goes on with the next call. Or it returns
    OVERFULL, at a job that needs more units than are idle."""
    counters = walk.counters
    if counters[GROUP_END] > 0:
        for k in range(counters[GROUP], counters[GROUP_END]):
            give_written(units, state, walk, walk.starts[k])
        counters[BEGUN], counters[GROUP_END] = counters[GROUP_END], 0
    while counters[BEGUN] < len(walk.starts):
        begun = counters[BEGUN]
        task = walk.starts[begun]
        now = walk.start[task]
        give_back(units, state, walk, now)
        if task >= walk.outages:
            note_idle(state, walk, begun)
            counters[BEGUN] += 1
            begin_outage(units, state, walk, task)
            continue
        last = begun + 1
        if rule in (DCAS, ASKED_UNITS):
            while last < min(len(walk.starts), begun + LARGEST_WINDOW) and walk.start[walk.starts[last]] == now:
                last += 1
        needed = np.int64(0)
        for k in range(begun, last):
            note_idle(state, walk, k)
            needed += walk.size[walk.starts[k]]
        if needed > state.totals[0]:
            counters[GROUP] = begun
            return OVERFULL
        if rule == ASKED_UNITS:
            counters[GROUP], counters[GROUP_END] = begun, last
            return ASKS
        for _ in range(begun, last):
            place_widest(units, state, walk, rule, begun, last)
        counters[BEGUN] = last
    return PLACED


@inlined
def note_idle(state, walk, begun):
    """How much is idle, and how much of that is in leaves that are partly used, before a start."""
    walk.idle[begun], walk.broken[begun] = state.totals[0], state.totals[1]


@inlined
def place_widest(units, state, walk, rule, begin, end):
    """Places the widest job of a window that has no units yet, of equal ones the first."""
    task = np.int64(-1)
    for k in range(begin, end):
        other = walk.starts[k]
        if walk.held[other] == 0 and (task < 0 or walk.size[other] > walk.size[task]):
            task = other
    walk.scattered[task] = choose_units(units, state, rule, walk.size[task], walk.random)
    first = walk.first_unit[task]
    for k in range(walk.size[task]):
        walk.unit[first + k] = state.chosen[k]
    give_written(units, state, walk, task)


@inlined
def give_written(units, state, walk, task):
    """Takes the units that are written for a job, ascending, and notes what they cost: pairs below each switch, run by run."""
    first, size = walk.first_unit[task], walk.size[task]
    above_leaf = min(units.leaf + 1, len(units.hops) - 1)
    closer, total = np.int64(0), np.int64(0)
    for level in range(len(units.hops)):
        above = units.switch[level]
        within, runs, run = np.int64(0), np.int64(0), np.int64(0)
        for k in range(first, first + size):
            run += 1
            if k + 1 == first + size or above[walk.unit[k + 1]] != above[walk.unit[k]]:
                within += run * (run - 1) // 2
                runs += 1
                run = np.int64(0)
        total += units.hops[level] * (within - closer)
        closer = within
        if level == units.leaf:
            walk.leaves[task] = runs
        if level == above_leaf:
            walk.pods[task] = runs
    walk.hops[task], walk.held[task] = total, size
    change_idle(units, state, walk.unit, first, size, -1)


@inlined
def give_back(units, state, walk, now):
    """Everything that ends until now gives its units back, second by second; outages that lack units take them before jobs do."""
    counters, ends = walk.counters, walk.ends
    while counters[ENDED] < len(ends) and walk.end[ends[counters[ENDED]]] <= now:
        second = walk.end[ends[counters[ENDED]]]
        while counters[ENDED] < len(ends) and walk.end[ends[counters[ENDED]]] == second:
            take_back(units, state, walk, ends[counters[ENDED]])
            counters[ENDED] += 1
        give_owed(units, state, walk)


@inlined
def take_back(units, state, walk, task):
    """The task ends. An outage lacks no units any more."""
    change_idle(units, state, walk.unit, walk.first_unit[task], walk.held[task], 1)
    if task >= walk.outages:
        kept = 0
        for k in range(walk.counters[OWING]):
            if walk.owing[k] != task:
                walk.owing[kept] = walk.owing[k]
                kept += 1
        walk.counters[OWING] = kept


@lean
def begin_outage(units, state, walk, task):
    """The outage takes idle units, and those that it lacks as they are given back."""
    walk.owing[walk.counters[OWING]] = task
    walk.counters[OWING] += 1
    give_owed(units, state, walk)


@lean
def give_owed(units, state, walk):
    """Outages take the idle units that they lack, the highest numbers first. Those that have all leave the list."""
    kept = 0
    for k in range(walk.counters[OWING]):
        task = walk.owing[k]
        unit = len(state.idle) - 1
        while walk.held[task] < walk.size[task] and state.totals[0] > 0:
            while not state.idle[unit]:
                unit -= 1
            walk.unit[walk.first_unit[task] + walk.held[task]] = unit
            change_idle(units, state, walk.unit, walk.first_unit[task] + walk.held[task], 1, -1)
            walk.held[task] += 1
        if walk.held[task] < walk.size[task]:
            walk.owing[kept] = task
            kept += 1
    walk.counters[OWING] = kept
