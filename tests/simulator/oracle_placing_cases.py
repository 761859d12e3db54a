"""Random small workloads with trees of switches: a few dozen units, 8 to 30 jobs.

All times are whole seconds, all sizes are whole processors.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np

from simulator.topology.tree import SwitchTree, default_hops, regular_tree
from tests.simulator.oracle_machine import NODES, Machine, in_whole_nodes, machine_of
from tests.simulator.oracle_switches import BACKFILLS_WITH_SWITCHES, Switches
from tests.simulator.oracle_types import CORRECTIONS, Job, Outage, RunningJob, Workload

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
