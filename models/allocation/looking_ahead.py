"""Choosing jobs and nodes together: which waiting jobs start at a period, on which nodes, and which wait a little.

A better optimiser of one window has little left to win. The paper's selection starts whoever waits longest, whether or not the idle
nodes suit it, and stops at the first job that does not fit. Here the sum over the jobs that start is made most of

    value of starting  -  (hop cost  -  hop cost alone on an empty cluster)  -  value of the idle pairs that this breaks

A job of `n` nodes that has waited for `w` periods has the value `n ** power * (start + wait * w ** bend)`. Idle nodes are worth
most side by side: each pair below one leaf or pod has a value, beyond what as many idle nodes side by side would have.
A search over orders of the queue places each job in turn at its best nodes, and leaves out those that lose. Nobody passes a job
that has waited for `guard` periods. Run times are not read, unless `ends` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from models.allocation.compiled import compiled, lean
from models.allocation.leaves import put_cheapest, set_tables
from models.allocation.window import FloatArray, IntArray
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.replayer import Outcome
from simulator.topology.choosing import Units
from simulator.topology.closed_loop import NodeJobs, PeriodScheduler, PeriodState, run_closed_loop
from simulator.topology.placement import place_schedule
from simulator.topology.tree import SwitchTree, hop_cost

_WORK = 100_000
"""Placements times leaves with idle nodes that a period may take: where many jobs wait, fewer orders are tried, so that it stays short."""
_FORCED = 1e6
"""Value of starting a job that has waited for `guard` periods."""


@dataclass(frozen=True)
class StartValues:
    """What starting jobs and leaving nodes idle is worth, in hops of C(N).

    start, wait, bend, power: see above. left: value of an idle pair below one switch, by level from the leaf up; the levels that are
    not named have 0. guard: periods. tries: the most orders that the search tries at a period. ends: clairvoyant. Price of a node that is
    free later, or earlier, than the other nodes of its pod by an hour; 0 reads no run time.

    Raises ValueError for values that make no search.
    """

    start: float
    wait: float
    bend: float
    power: float
    left: tuple[float, ...]
    guard: int
    tries: int = 300
    ends: float = 0.0

    def __post_init__(self) -> None:
        if self.tries < 1 or self.guard < 1:
            raise ValueError(f"tries and guard must be at least 1, got {self.tries} and {self.guard}")
        if min(self.left, default=0.0) < 0.0 or self.ends < 0.0:
            raise ValueError(f"idle pairs and ends must not have values below 0, got {self.left} and {self.ends}")
        if self.wait <= 0.0 or self.bend <= 0.0:
            raise ValueError(
                f"wait and bend must be above 0, or jobs may wait for ever; got {self.wait} and {self.bend}"
            )


PAPERS_VALUES = StartValues(0.616, 0.0192, 1.5, 1.25, (0.036, 0.02), 11)
"""For the paper's tree: the best of about 120 on epochs 100 to 115, by cost with a penalty for each class of sizes that waits longer than
under the paper's selection. The class of 21 to 30 nodes then waited 1 % longer."""


def looking_ahead(tree: SwitchTree, values: StartValues, seed: int) -> PeriodScheduler:
    """The scheduler that chooses jobs and nodes together. The same seed gives the same schedule.

    Raises ValueError for a tree of a single level, and for more values of idle pairs than the tree has levels below its top.
    """
    if not len(values.left) < tree.levels > 1:
        raise ValueError(
            f"a tree of {tree.levels} levels has idle pairs on those below its top, got values {values.left}"
        )
    first = np.flatnonzero(np.diff(tree.switch[0], prepend=-1))
    above = np.ascontiguousarray(tree.switch[:, first])
    left = np.zeros(tree.levels - 1)
    left[: len(values.left)] = values.left
    most = np.array([np.bincount(switch).max() for switch in tree.switch], dtype=np.int64)
    rng = np.random.default_rng(seed)
    alone = _costs_alone(tree)

    def start(state: PeriodState) -> dict[int, IntArray]:
        queue = _passable(state, values.guard)
        if not queue:
            return {}
        size, periods = state.jobs.size[queue], state.periods[queue]
        worth = size**values.power * (values.start + values.wait * periods**values.bend)
        forced = int((periods >= values.guard).sum())
        idle = np.bincount(tree.switch[0, state.idle_nodes], minlength=above.shape[1])
        leaves = (above, np.diff(tree.hops), int(tree.hops[-1]), idle)
        jobs = (size, worth, np.array([alone(n) for n in size.tolist()]), _prices(tree, state, queue, values.ends))
        tries = max(1, min(values.tries, _WORK // (len(queue) * max(1, int(np.count_nonzero(idle))))))
        counts = _best_starts(leaves, jobs, forced, (left, most), tries, int(rng.integers(1 << 31)))
        begin = np.cumsum(idle) - idle + np.cumsum(counts, axis=0) - counts
        return {
            queue[job]: np.concatenate(
                [state.idle_nodes[at : at + n] for at, n in zip(begin[job], counts[job], strict=True)]
            )
            for job in np.flatnonzero(counts.sum(axis=1)).tolist()
        }

    return start


@dataclass(frozen=True)
class LookingAheadReplayer:
    """Jobs and nodes chosen together on an empty cluster, in periods, with PAPERS_VALUES but for the guard. The same seed gives the same
    schedule.

    units: nodes, or processors of nodes that have one each.
    """

    units: Units
    period_s: int
    guard: int = PAPERS_VALUES.guard
    seed: int = 1
    honours: ClassVar = frozenset({"nodes"})

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Schedule and nodes. jobs: as `in_whole_nodes` and `in_periods` round them. Raises ValueError for a single switch, and for jobs
        that follow others."""
        jobs.require_open("this rule")
        units = self.units
        tree = SwitchTree(units.switch[units.leaf :], units.hops[units.leaf :])
        if tree.levels < 2:
            raise ValueError(
                "all nodes are below one switch, so that there is nothing to look ahead for: take another rule"
            )
        values = replace(PAPERS_VALUES, guard=self.guard, left=PAPERS_VALUES.left[: tree.levels - 1])
        work = NodeJobs(jobs.submit, jobs.runtime, jobs.procs // units.procs)
        result = run_closed_loop(tree, work, looking_ahead(tree, values, self.seed), self.period_s)
        latest = np.maximum.accumulate(result.start)
        schedule = Schedule(result.start, result.start < latest)
        given = iter([result.nodes[job] for job in np.argsort(result.start, kind="stable").tolist()])

        def nodes_as_given(_: IntArray, sizes: IntArray) -> list[IntArray]:
            return [next(given) for _ in sizes]

        machine = len(units.switch[0]) * units.procs
        return Outcome(schedule, place_schedule(jobs, machine, schedule, units, solver=nodes_as_given))


def _costs_alone(tree: SwitchTree) -> Callable[[int], float]:
    costs: dict[int, float] = {}

    def cost(size: int) -> float:
        if size not in costs:
            costs[size] = hop_cost(tree, np.arange(size, dtype=np.int64))
        return costs[size]

    return cost


def _passable(state: PeriodState, guard: int) -> list[int]:
    """The jobs that may start: where one that has waited for `guard` periods does not fit, only those before it."""
    free = int(state.idle.sum())
    for place, job in enumerate(state.queue):
        if state.periods[job] < guard:
            break
        free -= int(state.jobs.size[job])
        if free < 0:
            return state.queue[:place]
    return state.queue


def _prices(tree: SwitchTree, state: PeriodState, queue: list[int], weight: float) -> FloatArray:
    """Price of a node of each leaf for each job, float64 (jobs, leaves): 0 unless ends are read."""
    leaf = tree.switch[0]
    prices = np.zeros((len(queue), tree.switches(0)))
    if not weight or not state.running:
        return prices
    pod = tree.switch[1]
    remaining = np.zeros(tree.nodes)
    for job, nodes in state.running.items():
        remaining[nodes] = state.end[job] - state.now
    busy = np.bincount(pod, ~state.idle)
    mean = np.bincount(pod, remaining) / np.maximum(busy, 1)
    of_leaf = pod[np.flatnonzero(np.diff(leaf, prepend=-1))]
    apart = np.abs(state.jobs.runtime[queue][:, None] - mean[of_leaf]) / 3600
    return np.where(busy[of_leaf] > 0, weight * apart, 0.0)


@compiled
def _best_starts(leaves, jobs, forced, leaving, tries, seed):
    """Nodes of each job in each leaf in the best order that is tried, int64 (jobs, leaves); none for jobs that do not start.

    leaves: above, saved, farthest and idle. jobs: sizes, values, costs alone and prices by leaf; the first `forced` must start.
    leaving: value of an idle pair by level, and the most nodes below a switch by level.
    """
    np.random.seed(seed)  # noqa: NPY002  (compiled code has no Generator of its own to hand around)
    count = len(jobs[0])
    tables = set_tables(len(leaves[0]), len(leaves[3]), jobs[0].max())
    order, trial = np.arange(count), np.arange(count)
    counts = np.zeros((count, len(leaves[3])), dtype=np.int64)
    best_counts, best, free = counts.copy(), -np.inf, leaves[3].copy()
    for step in range(tries):
        trial[:] = order
        if step == 1:
            trial[:] = np.argsort(-jobs[1])
        elif step > 1:
            for _ in range(1 + np.random.randint(0, 3)):  # noqa: NPY002
                _move(trial, np.random.randint(0, count), np.random.randint(0, count))  # noqa: NPY002
        free[:] = leaves[3]
        total = _place_in_order(leaves, jobs, forced, leaving, trial, (free, counts), tables)
        if total >= best:
            if total > best:
                best_counts[:] = counts
            best = total
            order[:] = trial
    return best_counts


@lean
def _move(order, taken, to):
    """Puts one entry at another place."""
    job = order[taken]
    step = 1 if to > taken else -1
    for k in range(taken, to, step):
        order[k] = order[k + step]
    order[to] = job


@lean
def _place_in_order(leaves, jobs, forced, leaving, order, given, tables):
    """Places the jobs that gain, in this order, and returns what they gain together. given: free nodes of each leaf, and nodes of
    each job in each leaf, which are filled."""
    sizes, values, alone, prices = jobs
    free, counts = given
    counts[:] = 0
    room, total = np.int64(0), 0.0
    for leaf in range(len(free)):
        room += free[leaf]
    for job in range(forced):
        room -= sizes[job]
    broken = _broken(leaves[0], leaving, free)
    for job in order:
        size = sizes[job]
        if job >= forced and size > room:
            continue
        hops = put_cheapest(leaves, free, prices[job], leaving[0], size, counts[job], tables)
        after = _broken(leaves[0], leaving, free)
        gain = values[job] - (2.0 * hops / size - alone[job]) - (after - broken)
        for leaf in range(len(free)):
            gain -= prices[job, leaf] * counts[job, leaf]
        if job < forced:
            gain += _FORCED
        elif gain <= 0.0:
            for leaf in range(len(free)):
                free[leaf] += counts[job, leaf]
                counts[job, leaf] = 0
            continue
        else:
            room -= size
        total += gain
        broken = after
    return total


@lean
def _broken(above, leaving, free):
    """Value that the idle nodes lack against as many side by side."""
    left, most = leaving
    total, loss = np.int64(0), 0.0
    for leaf in range(len(free)):
        total += free[leaf]
    for level in range(len(left)):
        whole, rest = total // most[level], total % most[level]
        pairs = whole * (most[level] * (most[level] - 1) // 2) + rest * (rest - 1) // 2
        within = np.int64(0)
        for leaf in range(len(free)):
            if leaf > 0 and above[level, leaf] != above[level, leaf - 1]:
                pairs -= within * (within - 1) // 2
                within = np.int64(0)
            within += free[leaf]
        loss += left[level] * (pairs - within * (within - 1) // 2)
    return loss
