"""Which nodes the jobs of a schedule hold, by a rule: docs/reference/semantics.md, "Placement"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.cluster import FOREVER, Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule
from simulator.jobs.words import one_of
from simulator.topology.choosing import ASKED_UNITS, PLACE_NUMBERS, Units, all_idle, choose_units
from simulator.topology.walk import ASKS, GROUP, GROUP_END, OVERFULL, Walk, WalkTimes, new_walk, place_on

IntArray = NDArray[np.int64]

PLACE_RULES = tuple(name for name in PLACE_NUMBERS if name != "asked")
"""Rules that need nobody else."""

Solver = Callable[[IntArray, IntArray], list[IntArray]]
"""Places a window: idle units, ascending, and the sizes of its jobs -> the units of each job, ascending."""


def place_schedule(
    jobs: Jobs,
    cluster: int | Cluster,
    schedule: Schedule,
    units: Units,
    rule: str = "tree",
    seed: int = 1,
    solver: Solver | None = None,
) -> Placement:
    """Gives units to the jobs of a schedule as they start. rule: a name in PLACE_RULES; not read with a `solver`.

    seed: of the rule `random`. With whole nodes the schedule must be that of `in_whole_nodes`.
    Raises ValueError for jobs that do not run for at least a second, for a schedule that needs more units than there are, and for a
    solver that gives away what is not idle.
    """
    number = ASKED_UNITS if solver is not None else PLACE_NUMBERS[one_of("place", rule, PLACE_RULES)]
    cluster = Cluster.of(cluster)
    check_run_times(jobs)
    walk = _new_walk(jobs, cluster, schedule, units, seed)
    state = all_idle(units)
    while (why := place_on(units, state, walk, number)) == ASKS:
        assert solver is not None
        _ask(solver, walk, state.idle)
    if why == OVERFULL:
        second = walk.start[walk.starts[walk.counters[GROUP]]]
        raise ValueError(
            f"the jobs that start at second {second} need more units than are idle then: with whole nodes, replay jobs that are "
            "rounded up to whole nodes"
        )
    return placement_of(walk, len(cluster.running), len(jobs))


def placement_of(walk: Walk, running: int, jobs: int) -> Placement:
    """What a walk has given to the jobs. running: how many ran before them."""
    part = slice(running, running + jobs)
    size = walk.held[part]
    room = np.diff(walk.first_unit)[part]
    given = walk.unit[walk.first_unit[running] : walk.first_unit[running + jobs]]
    return Placement(
        size=size,
        first_unit=np.concatenate([[0], np.cumsum(size)]),
        unit=given if (room == size).all() else given[np.repeat(size > 0, room)],
        hops=walk.hops[part],
        leaves=walk.leaves[part],
        pods=walk.pods[part],
        scattered=walk.scattered[part],
        time=walk.start[walk.starts],
        idle=walk.idle,
        broken=walk.broken,
    )


def check_run_times(jobs: Jobs) -> None:
    """Raises ValueError for jobs that run for 0 s."""
    if len(jobs) and jobs.runtime.min() < 1:
        raise ValueError("a job that runs for 0 s holds no node: leave jobs without a run time out")


def compact_hop_cost(units: Units, sizes: IntArray) -> NDArray[np.float64]:
    """C that the rule `tree` gives jobs of these sizes on the empty machine, float64 (jobs,)."""
    distinct, place = np.unique(sizes, return_inverse=True)
    costs = np.zeros(len(distinct))
    state, random = all_idle(units), np.zeros(1, dtype=np.uint64)
    for k, size in enumerate(distinct.tolist()):
        if size:
            choose_units(units, state, PLACE_NUMBERS["tree"], size, random)
            costs[k] = _ordered_hops(units, state.chosen[:size]) / size
    return costs[place]


def _ordered_hops(units: Units, chosen: IntArray) -> float:
    closer, total = 0, 0
    for level, hops in enumerate(units.hops.tolist()):
        counts = np.bincount(units.switch[level, chosen])
        within = int((counts * (counts - 1)).sum())
        total += hops * (within - closer)
        closer = within
    return total


def _new_walk(jobs: Jobs, cluster: Cluster, schedule: Schedule, units: Units, seed: int) -> Walk:
    """The walk over a schedule."""
    running, outages = cluster.running, cluster.outages
    started = schedule.started
    first, first_outage = len(running), len(running) + len(jobs)
    begin = int(jobs.submit[0]) if len(jobs) else 0
    under_way = np.flatnonzero(outages.end > begin)
    before = int(outages.start.min(initial=begin)) - 1  # jobs that run have their units before any outage
    start = np.concatenate([np.full(first, before), schedule.start, outages.start])
    end = np.concatenate([running.start + running.runtime, schedule.start + jobs.runtime, outages.end])
    begun = [np.arange(first), first_outage + under_way, first + np.flatnonzero(started)]
    in_order = np.concatenate(begun)
    starts = in_order[np.argsort(start[in_order], kind="stable")]
    ends = starts[np.argsort(end[starts])]  # within a second their order is of no matter
    takes = np.ones(len(start), dtype=np.bool_)
    takes[first:first_outage] = started
    times = WalkTimes(start, end, starts, ends[end[ends] < FOREVER])
    procs = np.concatenate([running.procs, jobs.procs, outages.procs])
    return new_walk(procs, len(outages), units, times, takes, seed)


def _ask(solver: Solver, walk: Walk, is_idle: NDArray[np.bool_]) -> None:
    """Has a window placed."""
    tasks = walk.starts[walk.counters[GROUP] : walk.counters[GROUP_END]]
    idle = np.flatnonzero(is_idle)
    given = solver(idle, walk.size[tasks])
    everything = np.concatenate(given)
    right = [len(units) for units in given] == walk.size[tasks].tolist()
    if not right or len(np.unique(everything)) < len(everything) or not is_idle[everything].all():
        raise ValueError("the solver must give each job as many idle units as it needs, and none of them twice")
    for task, chosen in zip(tasks.tolist(), given, strict=True):
        first = walk.first_unit[task]
        walk.unit[first : first + walk.size[task]] = np.sort(chosen)
