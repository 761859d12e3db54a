"""A slow placement of schedules on a tree of switches, written from docs/reference/semantics.md, "Placement", and nothing else.

`oracle_place` is for rules that leave no choice, `check_placement` for every rule. Beside it: `oracle_machine` (units,
hops, and the seconds at which anything begins or ends), `oracle_rules_of_placing` (the units of one job, and of a group),
`oracle_periods` and `oracle_switches` (what changes starts). All times are whole seconds.

Random small workloads with trees of switches: a few dozen units, 8 to 30 jobs.

All times are whole seconds, all sizes are whole processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import numpy as np

from simulator.topology.tree import SwitchTree, default_hops, regular_tree
from tests.simulator.oracle import CANCELLED
from tests.simulator.oracle_machine import NODES, Held, Machine, Wanted, in_whole_nodes, machine_of, walk
from tests.simulator.oracle_rules_of_placing import (
    ONE_BY_ONE,
    Units,
    arc,
    cost_of_group,
    dcas,
    groups,
    is_scattered,
    place_window,
    scas_optimum,
)
from tests.simulator.oracle_switches import BACKFILLS_WITH_SWITCHES, Switches
from tests.simulator.oracle_types import CORRECTIONS, Job, Outage, RunningJob, Workload

LEAVES_NO_CHOICE = (*ONE_BY_ONE, "dcas")


@dataclass
class Placement:
    """Who holds which units. Lists are by order in the log; cancelled jobs have none, and 0 of everything.

    units: sorted. running: units of the jobs of a warm start, by their place in the workload. held: what outages hold,
    at every second at which anything begins or ends. scattered: no block held the job (rule `contiguous` alone).
    """

    units: list[list[int]]
    running: list[list[int]]
    held: list[Held]
    scattered: list[bool]
    pair_hops: list[int] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    pods: list[int] = field(default_factory=list)

    def measure(self, machine: Machine) -> Placement:
        """Fill in pair hops, leaves and pods of every job."""
        self.pair_hops = [machine.pair_hops(units) for units in self.units]
        self.leaves = [machine.switches(units, 0) for units in self.units]
        self.pods = [machine.switches(units, 1) for units in self.units]
        return self


def oracle_place(machine: Machine, workload: Workload, start: Sequence[int], rule: str) -> Placement:
    """Return who holds which units, under a rule that leaves no choice.

    workload: with whole nodes that of `in_whole_nodes`. start: start times in s by order in the log, CANCELLED for jobs
    that left the queue.
    """
    scattered = [False] * len(workload.jobs)

    def give(t: int, q: Units, window: Wanted) -> dict[int, Units]:
        given = place_window(machine, rule, q, window)
        for at, (key, count) in enumerate(window):
            before = [unit for earlier, _ in window[:at] for unit in given[earlier]]
            if rule == "contiguous" and key >= 0:
                scattered[key] = is_scattered([unit for unit in q if unit not in before], count)
        return given

    given, held = walk(machine, workload, start, give)
    units = [given.get(job.order, []) for job in workload.jobs]
    running = [given[-1 - number] for number in range(len(workload.running))]
    return Placement(units, running, held, scattered).measure(machine)


def check_placement(
    machine: Machine, workload: Workload, start: Sequence[int], rule: str, placement: Placement
) -> None:
    """Raise AssertionError, with the second and the job, unless the rule allows these units of the jobs.

    Checked: every job has as many units as it asks for, that are idle beside the other jobs and what outages take, and no
    unit twice; whoever leaves the queue has none; and what the rule asks of a window. Of `placement`, `units` and
    `running` are read; `held` too, where it is not empty.
    """
    for job in workload.jobs:
        assert start[job.order] != CANCELLED or not placement.units[job.order], (
            f"job {job.order} never starts and has units"
        )

    def give(t: int, q: Units, window: Wanted) -> dict[int, Units]:
        given = {key: placement.units[key] if key >= 0 else placement.running[-1 - key] for key, _ in window}
        for key, count in window:
            assert len(set(given[key])) == len(given[key]) == count, f"at {t} job {key} has not {count} units"
            assert set(given[key]) <= set(q), f"at {t} job {key} gets units that are not idle: {given[key]}"
        assert len({unit for units in given.values() for unit in units}) == sum(count for _, count in window), (
            f"at {t} two jobs get a unit"
        )
        _check_window(machine, rule, q, window, given)
        return given

    _, held = walk(machine, workload, start, give)
    assert not placement.held or placement.held == held, "outages hold other units"


def _check_window(machine: Machine, rule: str, q: Units, window: Wanted, given: dict[int, Units]) -> None:
    """Check what the rule asks of a window, beyond units that are idle."""
    if rule in LEAVES_NO_CHOICE:
        expected = place_window(machine, rule, q, window)
        assert {key: sorted(units) for key, units in given.items()} == expected, f"{rule} gives {expected}"
    if rule not in ("scas", "free"):
        return
    for group in groups(window):
        units, counts = [given[key] for key, _ in group], [count for _, count in group]
        if rule == "scas":
            _check_scas(machine, q, counts, units)
        else:
            cost, at_first = cost_of_group(machine, units), cost_of_group(machine, dcas(machine, q, counts))
            assert cost <= at_first, f"a search from {at_first} ends at {cost}"
        q = [unit for unit in q if not any(unit in taken for taken in units)]


def _check_scas(machine: Machine, q: Units, counts: Sequence[int], units: Sequence[Units]) -> None:
    """Check that every job of a group has consecutive entries of the ring, and that no other entries cost less."""
    for count, taken in zip(counts, units, strict=True):
        starts = [at for at in range(len(q)) if set(arc(q, at, count)) == set(taken)]
        assert starts, f"{taken} are no consecutive entries of {q}"
    cost, least = cost_of_group(machine, units), scas_optimum(machine, q, counts)
    assert cost == least, f"the group costs {cost}, the least is {least}"


# --- oracle placing cases


LARGEST_MACHINE = 24
"""Units at most, so that looking at all pairs and starts stays quick."""


class PlacingCase(NamedTuple):
    """A workload as the log has it, the tree below it, and how it is replayed."""

    workload: Workload
    tree: SwitchTree
    procs_per_node: int
    nodes: str
    policy: str
    backfill: str
    correction: str
    switches: Switches
    period: int

    @property
    def machine(self) -> Machine:
        """The units of the cluster."""
        return machine_of(self.tree, self.workload.cluster_procs, self.procs_per_node, self.nodes)

    @property
    def replayed(self) -> Workload:
        """The workload whose starts a placement is of: with whole nodes every job asks for whole nodes."""
        return in_whole_nodes(self.workload, self.procs_per_node) if self.nodes == "whole" else self.workload


def random_tree(rng: Random) -> SwitchTree:
    """Return a regular or an uneven tree of 1 to 4 levels; one in four has hops of its own."""
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.5:
        return regular_tree(tuple(sizes), _hops(rng, len(sizes)))
    rows: list[list[int]] = []
    members = [[leaf] * rng.randint(1, 5) for leaf in range(rng.randint(1, 7))]
    below = [switch for switches in members for switch in switches]
    rows.append(below)
    while max(rows[-1]) > 0:
        top = len(rows) >= 3
        parents, parent = [0], 0
        for _ in range(max(rows[-1])):
            parent += 0 if top or rng.random() < 0.6 else 1
            parents.append(parent)
        rows.append([parents[switch] for switch in rows[-1]])
    return SwitchTree(np.array(rows), np.array(_hops(rng, len(rows))))


def _hops(rng: Random, levels: int) -> tuple[int, ...]:
    if rng.random() < 0.75:
        return default_hops(levels)
    return tuple(sorted(rng.randint(0, 9) for _ in range(levels)))


def random_placing_case(rng: Random) -> PlacingCase:
    """Draw a case. Two thirds of the workloads have outages, cancellations or a warm start; none has run times of zero.

    With whole nodes outages are of whole nodes, since the text is silent of others.
    """
    tree = random_tree(rng)
    nodes, procs_per_node = rng.choice(NODES), rng.choice((1, 1, 2, 3))
    used = rng.randint(max(1, tree.nodes // 2), tree.nodes)
    used = max(1, min(used, LARGEST_MACHINE // (procs_per_node if nodes == "shared" else 1)))
    missing = rng.randrange(procs_per_node) if nodes == "shared" else 0
    workload = _random_workload(rng, used * procs_per_node - missing, procs_per_node if nodes == "whole" else 1)
    return PlacingCase(
        workload,
        tree,
        procs_per_node,
        nodes,
        rng.choice(("FCFS", "SJF", "SAF", "WFP3")),
        rng.choice(BACKFILLS_WITH_SWITCHES),
        rng.choice(CORRECTIONS),
        Switches(rng.choice((1, 1, 1, 2, 2, 3)), rng.choice((1, 5, 20, 20, 100, 1000))),
        rng.choice((2, 5, 10, 30)),
    )


def _random_workload(rng: Random, procs: int, step: int) -> Workload:
    """Draw 8 to 30 jobs; `step`: processors of which outages are a multiple."""
    has = {name for name in ("cancelled", "warm", "outages", "under") if rng.random() < 0.3}
    span = rng.choice((6, 20, 60))
    clock = rng.choice((0, 0, 17, 1_000_003))
    outages = _random_outages(rng, clock, procs, step, span) if "outages" in has else []
    widest = procs - sum(outage.procs for outage in outages if outage.end is None)
    jobs: list[Job] = []
    for order in range(rng.randint(8, 30)):
        clock += rng.choice((0, 0, rng.randint(0, span // 2)))
        runtime, estimate, limit = _random_lengths(rng, span, "under" in has)
        width = rng.randint(1, widest if rng.random() < 0.3 else max(1, widest // 3))
        cancel = clock + rng.randint(0, 2 * span) if "cancelled" in has and rng.random() < 0.3 else None
        admit = rng.randint(estimate, limit) if rng.random() < 0.1 else None
        jobs.append(Job(order, clock, runtime, width, estimate, limit, rng.randrange(3), cancel, admit))
    running: list[RunningJob] = []
    left = procs // step
    while "warm" in has and left > 0 and rng.random() < 0.8:
        runtime, estimate, limit = _random_lengths(rng, span, "under" in has)
        units = rng.randint(1, left)
        start = jobs[0].submit - rng.randrange(runtime)
        width = units * step - rng.randrange(step)
        running.append(RunningJob(Job(-1 - len(running), start, runtime, width, estimate, limit), start))
        left -= units
    return Workload(jobs, procs, 0, running, outages)


def _random_lengths(rng: Random, span: int, under: bool) -> tuple[int, int, int]:
    """Return run time, estimate and limit in s."""
    runtime = rng.randint(1, span)
    estimate = runtime + rng.choice((0, 0, rng.randint(0, span)))
    if under and rng.random() < 0.5:
        estimate = rng.randint(1, runtime)
    return runtime, estimate, max(runtime, estimate) + rng.choice((0, rng.randint(0, span)))


def _random_outages(rng: Random, clock: int, procs: int, step: int, span: int) -> list[Outage]:
    """Draw up to 3 outages in the order of their starts; one that is for good leaves half of the machine."""
    starts = sorted(clock + rng.randint(-span, 4 * span) for _ in range(rng.randint(1, 3)))
    outages: list[Outage] = []
    for_good = False
    for start in starts:
        width = rng.randint(1, procs // step) * step
        announced = start - rng.choice((0, 0, rng.randint(0, 2 * span)))
        if not for_good and rng.random() < 0.2 and procs // step >= 2:
            for_good = True
            outages.append(Outage(start, None, rng.randint(1, procs // step // 2) * step, announced))
        else:
            outages.append(Outage(start, start + rng.randint(1, 2 * span), width, announced))
    return outages
