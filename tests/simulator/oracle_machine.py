"""The units of a cluster below a tree of switches, and who gives them back and takes them, second by second.

Written from docs/reference/semantics.md, "Placement", and nothing else, for `oracle_placing`. Costs are sums over every pair. Of
`simulator` it uses the tree of switches and the data types of jobs alone. All times are whole seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from simulator.topology.tree import SwitchTree
from tests.simulator.oracle import CANCELLED
from tests.simulator.oracle_types import Outage, Workload

NODES = ("shared", "whole")


@dataclass(frozen=True)
class Machine:
    """The units of a cluster below a tree, numbered from 0.

    node: node of each unit. above: the switches above each unit, from the leaf up. hops: hops by level. procs_per_unit:
    processors that a unit has, with shared nodes 1. table: hops of every two units, 0 in one node.
    """

    node: list[int]
    above: list[tuple[int, ...]]
    hops: list[int]
    procs_per_unit: int
    table: list[list[int]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        for one in self.units:
            self.table.append([self._hops_between(one, other) for other in self.units])

    @property
    def units(self) -> range:
        """All units."""
        return range(len(self.node))

    def wanted(self, procs: int) -> int:
        """Return how many units so many processors are: rounded up."""
        return -(-procs // self.procs_per_unit)

    def _hops_between(self, one: int, other: int) -> int:
        if self.node[one] == self.node[other]:
            return 0
        common = [level for level in range(len(self.hops)) if self.above[one][level] == self.above[other][level]]
        return self.hops[common[0]]

    def pair_hops(self, units: Sequence[int]) -> int:
        """Return the sum of hops over all unordered pairs of units."""
        return sum(self.table[one][other] for one, other in combinations(units, 2))

    def cost(self, units: Sequence[int]) -> Fraction:
        """Return the hop cost C of a job on these units, exactly."""
        return Fraction(2 * self.pair_hops(units), len(units))

    def switches(self, units: Sequence[int], level: int) -> int:
        """Return how many switches of a level are above the units; a tree of one level has no second: its root."""
        return len({self.above[unit][min(level, len(self.hops) - 1)] for unit in units})

    def leaves_needed(self, count: int) -> int:
        """Return the least number of leaves of the empty machine that have `count` units: the largest first."""
        sizes: dict[int, int] = {}
        for unit in self.units:
            sizes[self.above[unit][0]] = sizes.get(self.above[unit][0], 0) + 1
        leaves = 0
        for size in sorted(sizes.values(), reverse=True):
            if count > 0:
                leaves, count = leaves + 1, count - size
        return leaves


def machine_of(tree: SwitchTree, procs: int, procs_per_node: int = 1, nodes: str = "shared") -> Machine:
    """Return the first nodes of the tree that `procs` processors need; ValueError where the text has an error."""
    used = -(-procs // procs_per_node)
    if used > tree.nodes:
        raise ValueError(f"{procs} processors need {used} nodes, the tree has {tree.nodes}")
    if nodes == "whole" and procs % procs_per_node:
        raise ValueError(f"{procs} processors are no whole nodes of {procs_per_node}")
    whole = nodes == "whole"
    node = list(range(used)) if whole else [proc // procs_per_node for proc in range(procs)]
    columns = [tuple(int(number) for number in column) for column in tree.switch.T]
    return Machine(node, [columns[at] for at in node], tree.hops.tolist(), procs_per_node if whole else 1)


def in_whole_nodes(workload: Workload, procs_per_node: int) -> Workload:
    """Return the workload in which every job, running job and outage asks for whole nodes.

    The text says it of jobs. An outage of a part of a node would let a job start on a node that is not whole, so that
    outages are read in the same way.
    """

    def rounded(procs: int) -> int:
        return -(-procs // procs_per_node) * procs_per_node

    jobs = [job._replace(procs=rounded(job.procs)) for job in workload.jobs]
    running = [one._replace(job=one.job._replace(procs=rounded(one.job.procs))) for one in workload.running]
    outages = [outage._replace(procs=rounded(outage.procs)) for outage in workload.outages]
    return workload._replace(jobs=jobs, running=running, outages=outages)


class Held(NamedTuple):
    """At `t` (s), after outages have taken and before jobs get theirs: the units of each outage, sorted."""

    t: int
    outages: list[list[int]]


Wanted = list[tuple[int, int]]
"""A window: key and number of units of its jobs in submit order. The key of a job is its order, of one that runs when the
replay begins -1 and so on down."""

Give = Callable[[int, list[int], Wanted], dict[int, list[int]]]
"""Given the second, Q and the window: the units of each of its jobs."""


class Idle:
    """Idle units, and what outages hold and still lack. Order within a second is up to the caller."""

    def __init__(self, machine: Machine, outages: Sequence[Outage]) -> None:
        self.idle = set(machine.units)
        self.outages = outages
        self.held: list[list[int]] = [[] for _ in outages]
        self.wanted = [machine.wanted(outage.procs) for outage in outages]

    @property
    def q(self) -> list[int]:
        """Q: the idle units in ascending order."""
        return sorted(self.idle)

    def end_outages(self, t: int) -> None:
        """Give back the units of outages that are over."""
        for held, outage in zip(self.held, self.outages, strict=True):
            if outage.end is not None and outage.end <= t:
                self.idle |= set(held)
                held.clear()

    def outages_take(self, t: int) -> None:
        """Let every outage under way take what it lacks: those that began first, else in their order; highest first."""
        under_way = [at for at, outage in enumerate(self.outages) if outage.active(t)]
        for at in sorted(under_way, key=lambda at: self.outages[at].start):
            lacks = self.wanted[at] - len(self.held[at])
            taken = self.q[len(self.q) - min(lacks, len(self.q)) :]
            self.held[at] = sorted([*self.held[at], *taken])
            self.idle -= set(taken)


def walk(
    machine: Machine, workload: Workload, start: Sequence[int], give: Give
) -> tuple[dict[int, list[int]], list[Held]]:
    """Go through the seconds at which anything begins or ends; return units by key of job, and what outages held.

    Jobs that run when the replay begins come first, as a window of their own; then outages under way; then the jobs that
    start in that second. Run times of zero are not defined: whether such a job is still there is not in a schedule.
    """
    if any(job.runtime == 0 and start[job.order] != CANCELLED for job in workload.jobs):
        raise ValueError("a job with a run time of zero has no place in a placement")
    begin = workload.jobs[0].submit
    state = Idle(machine, workload.outages)
    ends = {-1 - number: running.end for number, running in enumerate(workload.running)}
    ends |= {job.order: start[job.order] + job.runtime for job in workload.jobs if start[job.order] != CANCELLED}
    times = {begin, *ends.values(), *(t for t in start if t != CANCELLED)}
    times |= {t for outage in workload.outages for t in (outage.start, outage.end) if t is not None}
    given: dict[int, list[int]] = {}
    held: list[Held] = []

    def hand_out(t: int, window: Wanted) -> None:
        units = give(t, state.q, window) if window else {}
        for key, _ in window:
            assert set(units[key]) <= state.idle, f"at {t} job {key} gets units that are not idle: {units[key]}"
            state.idle -= set(units[key])
        given.update(units)

    for t in sorted(time for time in times if time >= begin):
        for key, units in given.items():
            state.idle |= set(units) if ends[key] == t else set()
        state.end_outages(t)
        if t == begin:
            hand_out(t, [(-1 - at, machine.wanted(one.job.procs)) for at, one in enumerate(workload.running)])
        state.outages_take(t)
        held.append(Held(t, [list(units) for units in state.held]))
        hand_out(t, [(job.order, machine.wanted(job.procs)) for job in workload.jobs if start[job.order] == t])
    return given, held
