"""The units of a cluster below a tree of switches, and who gives them back and takes them, second by second.

Written from docs/reference/semantics.md, "Placement", and nothing else, for `oracle_placing`. Costs are sums over every pair. Of
`simulator` it uses the tree of switches and the data types of jobs alone. All times are whole seconds.

A slow replay under limits, gates and reservations, written from docs/reference/limits.md and from nothing else.

It adds to the oracle of docs/reference/semantics.md which jobs are held, and which further times are events. Everything is counted from
scratch whenever it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

from simulator.topology.tree import SwitchTree
from tests.simulator.oracle import CANCELLED, OracleRun, Replay
from tests.simulator.oracle_types import Job, Outage, RunningJob, Workload

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


# --- oracle limits


class OracleLimit(NamedTuple):
    """counts: "jobs", "cpu", "outstanding" or "used". keys: of each job by its order, None for jobs it is not about. bounds: by key.
    changes: second, key, and its bound from then on."""

    counts: str
    keys: Sequence[int | None]
    bounds: dict[int, int]
    changes: Sequence[tuple[int, int, int]] = ()

    def bound_at(self, key: int, second: int) -> int:
        """The bound of a key that holds at a second."""
        later = [bound for since, of, bound in self.changes if of == key and since <= second]
        return later[-1] if later else self.bounds[key]


class OracleGate(NamedTuple):
    """Jobs that it holds by their order, and the spans (s) in which it is closed: from the first to before the second."""

    jobs: frozenset[int]
    closed: Sequence[tuple[int, int]]


class OracleShares(NamedTuple):
    """paths: of each job by its order, its owner on each floor of the tree, the top one first. shares: by owner. half_life_s: of usage."""

    paths: Sequence[tuple[int | None, ...]]
    shares: dict[int, float]
    half_life_s: float


class OracleRules(NamedTuple):
    """Who is held, and who comes first where shares say so."""

    limits: Sequence[OracleLimit] = ()
    gates: Sequence[OracleGate] = ()
    shares: OracleShares | None = None


def limited_oracle_run(
    workload: Workload, policy: str, backfill: str, correction: str, rules: OracleRules
) -> OracleRun:
    """Replay the workload under limits, gates and shares."""
    return LimitedReplay(workload, policy, backfill, correction, rules).run()


class LimitedReplay(Replay):
    """One replay in which jobs may be held."""

    def __init__(self, workload: Workload, policy: str, backfill: str, correction: str, rules: OracleRules) -> None:
        super().__init__(workload, policy, backfill, correction)
        self.limits, self.gates, self.shares = rules

    def run(self) -> OracleRun:
        """As without limits, but jobs may be held for ever."""
        self.t = self.workload.jobs[0].submit
        while True:
            self.one_event_time()
            if self.is_over() or not self.events_ahead():
                return self.outcome
            self.last_pass = self.t
            self.t = min(self.events_ahead())

    def events_ahead(self) -> list[int]:
        """Changes of gates, and the times at which outstanding time has shrunk enough, are events too."""
        events = super().events_ahead()
        events += [second for gate in self.gates for span in gate.closed for second in span if second > self.t]
        events += [second for limit in self.limits for second, _, _ in limit.changes if second > self.t]
        return events + [second for job in self.waiting for second in self.over_no_longer(job)]

    # Who is held.

    def of_key(self, limit: OracleLimit, job: Job) -> list[RunningJob]:
        """The running jobs that count together with a job."""
        key = limit.keys[job.order]
        return [running for running in self.running if limit.keys[running.job.order] == key]

    def outstanding(self, limit: OracleLimit, job: Job) -> int:
        """Outstanding time (processor-seconds) of the running jobs of a job's key."""
        return sum(
            running.job.procs * (running.start + running.job.limit - self.t) for running in self.of_key(limit, job)
        )

    def used(self, limit: OracleLimit, job: Job) -> int:
        """Used time (processor-seconds) of all jobs of a job's key until now."""
        mine = [each for each in self.history if limit.keys[each.job.order] == limit.keys[job.order]]
        return sum(each.job.procs * (min(self.t, each.end) - each.start) for each in mine)

    def over(self, limit: OracleLimit, job: Job) -> bool:
        """Say whether a limit holds a job."""
        key = limit.keys[job.order]
        if key is None or key not in limit.bounds:
            return False
        bound, others = limit.bound_at(key, self.t), self.of_key(limit, job)
        if limit.counts == "jobs":
            return len(others) >= bound
        if limit.counts == "used":
            return self.used(limit, job) >= bound
        if bound == 0:
            return True
        if not others:
            return False
        if limit.counts == "cpu":
            return sum(running.job.procs for running in others) + job.procs > bound
        return self.outstanding(limit, job) + job.procs * job.limit > bound

    def held(self, job: Job) -> bool:
        """Say whether a limit or a gate keeps a job from starting."""
        closed = any(
            job.order in gate.jobs and any(begin <= self.t < end for begin, end in gate.closed) for gate in self.gates
        )
        return closed or any(self.over(limit, job) for limit in self.limits)

    def over_no_longer(self, job: Job) -> list[int]:
        """When a job that is over limits on outstanding time is over none any more, if nothing starts or ends before: one time or none."""
        seconds = []
        for limit in self.limits:
            if limit.counts == "outstanding" and self.over(limit, job):
                key = limit.keys[job.order]
                assert key is not None
                rate = sum(running.job.procs for running in self.of_key(limit, job))
                if limit.bound_at(key, self.t) == 0:
                    return []
                too_much = self.outstanding(limit, job) + job.procs * job.limit - limit.bound_at(key, self.t)
                seconds.append(self.t + -(-too_much // rate))
        return [max(seconds)] if seconds else []

    # Shares.

    def used_by(self, owner: int) -> float:
        """Decayed use of an owner by its shares."""
        assert self.shares is not None
        half_life_s, parts = self.shares.half_life_s, []
        for running in self.history:
            end = min(running.end, self.t)
            if owner in self.shares.paths[running.job.order] and running.start < end:
                held = -math.expm1(-math.log(2) * (end - running.start) / half_life_s)
                decay = 2.0 ** (-(self.t - end) / half_life_s)
                parts.append(running.job.procs * half_life_s / math.log(2) * decay * held)
        return math.fsum(parts) / self.shares.shares[owner]

    def in_queue_order(self, jobs: Sequence[Job]) -> list[Job]:
        """Order jobs by shares, if there are any."""
        if self.shares is None:
            return super().in_queue_order(jobs)
        owners = {owner for job in jobs for owner in self.shares.paths[job.order] if owner is not None}
        used = {owner: self.used_by(owner) for owner in owners}
        some = sorted(value for value in used.values() if value > 0)
        near = any(second - first <= 1e-9 * second for first, second in pairwise(some))
        self.outcome.ambiguous_order = self.outcome.ambiguous_order or near

        def standing(job: Job) -> tuple[list[float], int, int]:
            assert self.shares is not None
            path = self.shares.paths[job.order]
            return [0.0 if owner is None else used[owner] for owner in path], job.submit, job.order

        return sorted(jobs, key=standing)

    # The pass.

    def pass_with_a_head(self, queue: list[Job]) -> list[Job]:
        """Held jobs are not looked at. Returns those that were, in the order of the queue."""
        seen: list[Job] = []
        for place, job in enumerate(queue):
            if self.held(job):
                continue
            seen.append(job)
            if not self.can_start(job):
                if self.backfill != "none":
                    self.go_past(job, queue[place + 1 :])
                return seen + queue[place + 1 :]
            self.start_now(job)
        return seen

    def go_past(self, head: Job, behind: list[Job]) -> None:
        """Start jobs behind the blocked head, each of which is held or not when its turn comes."""
        if self.backfill == "easy-sjbf":
            behind = sorted(behind, key=lambda job: (job.estimate, job.submit, job.order))
        turn = self.not_held(behind)
        if self.backfill == "any":
            for job in turn:
                if self.can_start(job.admitted_for):
                    self.start_now(job)
        elif self.announcement_pending():
            self.backfill_in_the_plan(head, turn)  # type: ignore[arg-type]
        else:
            self.backfill_before_shadow_time(head, turn)  # type: ignore[arg-type]

    def not_held(self, jobs: Sequence[Job]) -> Iterator[Job]:
        """The jobs that are not held when they are asked for."""
        for job in jobs:
            if not self.held(job):
                yield job
