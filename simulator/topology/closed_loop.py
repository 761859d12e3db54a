"""The protocol of Neural Simulated Annealing: jobs of whole nodes that start at periods, on what earlier periods have left idle.

Lan et al. 2023, sections III-C and VI. Each method lives with its own fragmentation: what it leaves idle is what it gets later.

Jobs that ask for whole nodes, and a scheduler that acts at periods only: the same replay of rounded jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.cluster import FOREVER, Cluster, Outages
from simulator.jobs.jobs import NEVER, Jobs
from simulator.topology.tree import IntArray, SwitchTree

PERIOD_S = 60
"""tau of Table I."""


@dataclass(frozen=True)
class NodeJobs:
    """Jobs of whole nodes, int64 arrays of shape (jobs,). arrival: seconds, non-decreasing. runtime: seconds, >= 1. size: nodes."""

    arrival: IntArray
    runtime: IntArray
    size: IntArray

    def __len__(self) -> int:
        return len(self.size)


def published_jobs(count: int, seed: int, sizes: tuple[int, int] = (2, 40)) -> NodeJobs:
    """The workload of the public code: arrivals every 5 to 30 s, run times of 10 to 1,800 s, all uniform and independent.

    sizes: least and most nodes; section III-A leaves out jobs of one node, section VI-A has them.
    """
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.integers(5, 31, count))
    return NodeJobs(arrival, rng.integers(10, 1801, count), rng.integers(sizes[0], sizes[1] + 1, count))


@dataclass
class PeriodState:
    """What a scheduler sees at a period, and may not change.

    now: seconds. queue: jobs that wait, first those that have waited for more periods, of equal ones the narrowest, then the first
    to arrive. periods: how many each job has waited, by job. idle: bool (nodes,). running: nodes of each job that runs. end: second
    at which each job that has started ends, int64 (jobs,).
    """

    now: int
    jobs: NodeJobs
    queue: list[int]
    periods: IntArray
    idle: NDArray[np.bool_]
    running: dict[int, IntArray]
    end: IntArray

    @property
    def idle_nodes(self) -> IntArray:
        """Numbers of the idle nodes, ascending."""
        return np.flatnonzero(self.idle)

    def selected(self, most: int | None = None) -> list[int]:
        """The jobs that section III-C starts: from the front of the queue up to the first that does not fit any more.

        most: stop behind so many jobs; the public code has 5.
        """
        chosen, free = [], int(self.idle.sum())
        for job in self.queue[:most]:
            free -= int(self.jobs.size[job])
            if free < 0:
                break
            chosen.append(job)
        return chosen


PeriodScheduler = Callable[[PeriodState], dict[int, IntArray]]
"""Says which jobs start at a period, and on which nodes."""

WindowSolver = Callable[[IntArray, IntArray], list[IntArray]]
"""Nodes for all jobs of a window: idle nodes, ascending, and sizes -> the nodes of each job."""


def selecting(solver: WindowSolver, most: int | None = None) -> PeriodScheduler:
    """The scheduler that starts what section III-C selects, on the nodes that a solver gives. most: jobs of a window."""

    def start(state: PeriodState) -> dict[int, IntArray]:
        chosen = state.selected(most)
        return dict(zip(chosen, solver(state.idle_nodes, state.jobs.size[chosen]), strict=True)) if chosen else {}

    return start


@dataclass(frozen=True)
class LoopResult:
    """start: second at which each job started, int64 (jobs,). nodes: of each job, ascending. windows: jobs that started at each period
    at which something could be decided."""

    start: IntArray
    nodes: list[IntArray]
    windows: list[int]


def run_closed_loop(
    tree: SwitchTree, jobs: NodeJobs, scheduler: PeriodScheduler, period_s: int = PERIOD_S
) -> LoopResult:
    """Runs the jobs from an empty cluster until the queue is drained. A period without arrivals and ends is skipped.

    Raises ValueError for a job that is wider than the tree, for a scheduler that gives away nodes that are not idle or not as many as
    a job needs, and for one that starts nothing on an empty cluster.
    """
    if len(jobs) and jobs.size.max() > tree.nodes:
        raise ValueError(f"a job of {jobs.size.max()} nodes does not fit into a tree of {tree.nodes}")
    count = len(jobs)
    state = PeriodState(
        now=0,
        jobs=jobs,
        queue=[],
        periods=np.zeros(count, dtype=np.int64),
        idle=np.ones(tree.nodes, dtype=np.bool_),
        running={},
        end=np.zeros(count, dtype=np.int64),
    )
    start = np.full(count, -1, dtype=np.int64)
    nodes: list[IntArray] = [np.zeros(0, dtype=np.int64)] * count
    windows: list[int] = []
    arrived = 0
    while arrived < count or state.queue:
        ends = [int(state.end[job]) for job in state.running]
        coming = ends + ([int(jobs.arrival[arrived])] if arrived < count else [])
        if not coming:
            raise ValueError(f"the scheduler started none of {len(state.queue)} jobs on an empty cluster")
        state.now = max(-(-min(coming) // period_s) * period_s, state.now + period_s)
        for job in [job for job in state.running if state.end[job] <= state.now]:
            state.idle[state.running.pop(job)] = True
        while arrived < count and jobs.arrival[arrived] <= state.now:
            state.queue.append(arrived)
            arrived += 1
        state.queue.sort(key=lambda job: (-state.periods[job], jobs.size[job], job))
        given = scheduler(state)
        for job, chosen in given.items():
            _start(state, job, np.sort(chosen))
            start[job], nodes[job] = state.now, state.running[job]
        state.queue = [job for job in state.queue if job not in given]
        state.periods[state.queue] += 1
        windows.append(len(given))
    return LoopResult(start, nodes, windows)


def _start(state: PeriodState, job: int, chosen: IntArray) -> None:
    fits = len(chosen) == state.jobs.size[job] and len(np.unique(chosen)) == len(chosen) and state.idle[chosen].all()
    if not fits:
        raise ValueError(
            f"a job of {state.jobs.size[job]} nodes was given {len(chosen)} that are not idle, or twice the same"
        )
    state.idle[chosen] = False
    state.running[job] = chosen
    state.end[job] = state.now + state.jobs.runtime[job]


# --- rounding


def in_whole_nodes(jobs: Jobs, cluster: int | Cluster, procs_per_node: int) -> tuple[Jobs, Cluster]:
    """Processors of jobs, running jobs and outages rounded up to whole nodes.

    Raises ValueError where the cluster has no whole number of nodes, and where the jobs that run do not fit any more.
    """
    cluster = Cluster.of(cluster)
    if cluster.procs % procs_per_node:
        raise ValueError(
            f"{cluster.procs} processors do not divide into whole nodes of {procs_per_node}: choose another number of "
            "processors (--procs), or let jobs share nodes"
        )
    running = replace(cluster.running, procs=_up(cluster.running.procs, procs_per_node))
    outages = replace(cluster.outages, procs=_up(cluster.outages.procs, procs_per_node))
    rounded = replace(jobs, procs=_up(jobs.procs, procs_per_node))
    return rounded, replace(cluster, running=running, outages=outages)


def in_periods(jobs: Jobs, cluster: int | Cluster, period_s: int) -> tuple[Jobs, Cluster]:
    """Jobs and cluster of a scheduler that acts every `period_s` seconds, from second 0 of the log's clock on.

    Times of jobs are rounded up to whole periods; outages start a period earlier and end one later at most. Raises ValueError for
    a period below 1 s, and for a warm start, whose jobs may end before the first period.
    """
    cluster = Cluster.of(cluster)
    if period_s < 1:
        raise ValueError(f"a period has at least 1 s, got {period_s}")
    if len(cluster.running) or cluster.waiting:
        raise ValueError("a warm start cannot be replayed by periods: leave --warm-start or --every out")
    cancel = jobs.cancel.copy()
    cancel[cancel < NEVER] = _up(cancel[cancel < NEVER], period_s)
    end = cluster.outages.end.copy()
    end[end < FOREVER] = _up(end[end < FOREVER], period_s)
    outages = Outages(
        start=cluster.outages.start // period_s * period_s,
        end=end,
        procs=cluster.outages.procs,
        announced=cluster.outages.announced // period_s * period_s,
    )
    rounded = replace(
        jobs,
        submit=_up(jobs.submit, period_s),
        runtime=_up(jobs.runtime, period_s),
        estimate=_up(jobs.estimate, period_s),
        limit=_up(jobs.limit, period_s),
        hold=_up(jobs.hold, period_s),
        admit=_up(jobs.admit, period_s),
        cancel=cancel,
    )
    return rounded, replace(cluster, outages=outages)


def _up(values: IntArray, step: int) -> IntArray:
    return -(-values // step) * step
