"""Tests of simulator/slurm/nodes: selection, plans, suspended, usable."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import NOT_GIVEN, Request
from simulator.jobs.cluster import FOREVER
from simulator.slurm.loop import run_replay
from simulator.slurm.nodes.plans import begin_plans, is_free, narrow, narrow_to_reservations, take_nodes
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.nodes.usable import holds_whole_nodes, kept_shape, usable_cpus
from simulator.slurm.replaying import Phases, new_replay
from simulator.slurm.starting import begin_job, end_job, hold
from simulator.slurm.state import Engine
from tests.simulator.busy import SITE, columns_of, engine_of, with_reservation
from tests.simulator.slurm.test_slurm import LONG, WHOLE, site
from tests.simulator.slurm.test_slurm import Request as RequestOfSuspended
from traces.cluster.description import Switch

# leaves: Which nodes a job gets below switches.

SWITCHED = replace(
    SITE, switches=(Switch("top", switches=("one", "two")), Switch("one", ("a", "b", "c")), Switch("two", ("d",)))
)
SWITCHED_CASES = {
    "the switch with the fewest nodes that suffices": (Request(1, limit_s=60, tasks=2), [3], [2]),
    "more nodes than the small switch has": (Request(1, limit_s=60, min_nodes=2, max_nodes=2, tasks=2), [1, 2], [1, 1]),
    "all: first the leaf with most nodes": (
        Request(1, limit_s=60, min_nodes=3, max_nodes=3, tasks=7),
        [1, 2, 3],
        [4, 2, 1],
    ),
    "too many": (Request(1, limit_s=60, min_nodes=4, max_nodes=4), [], []),
}


@pytest.mark.parametrize("case", SWITCHED_CASES)
def test_nodes_of_a_job_below_switches(case: str) -> None:
    request, nodes, cpus = SWITCHED_CASES[case]
    engine = engine_of([request, Request(0, limit_s=60, min_nodes=1, max_nodes=1, exclusive=True)], SWITCHED)
    engine.scratch.allowed[:] = [True, False, False, False]  # node a is full
    begin_job(engine, 1, 0, choose_nodes(engine, engine.free, 1, 0), 0)
    engine.scratch.allowed[:] = True
    chosen = choose_nodes(engine, engine.free, 0, 0)
    assert engine.scratch.chosen[:chosen].tolist() == nodes
    assert engine.scratch.cpus[:chosen].tolist() == cpus


# plans: The plan of a backfill cycle.

NODES, STEP, WINDOW = 4, 60, 3600


def test_plans_take_nodes_and_those_that_touch_join() -> None:
    engine = engine_of([Request(0, limit_s=60)] * 9)
    plans = engine.plans
    begin_plans(plans, 130, engine.site.settings)
    assert plans.window.tolist() == [120, 3720]
    take_nodes(plans, np.array([0, 1]), 2, 240, 360)
    take_nodes(plans, np.array([0, 1]), 2, 360, 480)
    assert plans.edge[: plans.num_edges[0]].tolist() == [240, 480] and plans.length.tolist() == [1, 1, 0, 0]
    assert is_free(plans, np.array([0]), 1, 120, 240) and not is_free(plans, np.array([0]), 1, 180, 241)
    base, allowed = np.ones(4, dtype=np.bool_), np.zeros(4, dtype=np.bool_)
    assert narrow(plans, base, allowed, 130, 300) == (480, 2)
    assert allowed.tolist() == [False, False, True, True]
    # the first slice behind the job is looked at for a later start, and does not narrow
    assert narrow(plans, base, allowed, 130, 200) == (480, 4) and allowed.all()


def test_plans_are_the_slices_of_slurm() -> None:
    """Against slices of one minute, which are joined where neighbours have the same free nodes."""
    random = np.random.default_rng(7)
    base, allowed = np.ones(NODES, dtype=np.bool_), np.zeros(NODES, dtype=np.bool_)
    for _ in range(200):
        engine = engine_of([Request(0, limit_s=60)] * 60)
        begin_plans(engine.plans, 0, engine.site.settings)
        free = np.ones((WINDOW // STEP, NODES), dtype=np.bool_)
        for _ in range(int(random.integers(1, 40))):
            begin, length = int(random.integers(WINDOW // STEP)), int(random.integers(1, 20))
            chosen = random.permutation(NODES)[: random.integers(1, NODES + 1)]
            asks = STEP * begin, STEP * (begin + length)
            empty = free[begin : begin + length][:, chosen].all()
            assert is_free(engine.plans, chosen, len(chosen), *asks) == empty
            if empty or random.random() < 0.1:
                take_nodes(engine.plans, chosen, len(chosen), *asks)
                free[begin : begin + length, chosen] = False
            base[:] = random.random(NODES) < 0.8
            start = int(random.integers(WINDOW))
            end = start + int(random.integers(1, WINDOW))
            later, count = narrow(engine.plans, base, allowed, start, end)
            assert (later, allowed.tolist()) == _narrowed(free, base, start, end) and count == allowed.sum()


def _narrowed(free: np.ndarray, base: np.ndarray, start: int, end: int) -> tuple[int, list[bool]]:
    """As the rules say it: down the slices that are not over at the start, until one begins behind the end."""
    edges = [0, *(k for k in range(1, len(free)) if (free[k] != free[k - 1]).any()), len(free)]
    slices = [(STEP * low, STEP * high, free[low]) for low, high in pairwise(edges)]
    allowed, later = base.copy(), 0
    for k, (begin, over, nodes) in enumerate(slices):
        if over <= start:
            continue
        if begin <= end:
            allowed &= nodes
        if later == 0 and k + 1 < len(slices) and (base & slices[k + 1][2] & ~nodes).any():
            later = over
        if begin > end:
            break
    return later, allowed.tolist()


# reservations: Advance reservations.

CASES = {
    "all nodes: the job waits for the end": ((), "", 300, 400, (1200, 0), [1, 1, 1, 1]),
    "all nodes: a short job goes before": ((), "", 300, 60, (300, 0), [1, 1, 1, 1]),
    "some nodes are taken away": (("a", "b"), "", 300, 400, (300, 1200), [0, 0, 1, 1]),
    "its own nodes, from its begin on": (("a", "b"), "r", 300, 60, (600, 0), [1, 1, 0, 0]),
    "its own, which is over": (("a", "b"), "r", 1200, 60, (-1, 0), [1, 1, 0, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_start_and_nodes(case: str) -> None:
    nodes, own, start, limit, answer, base = CASES[case]
    engine = engine_of([Request(0, limit_s=limit, reservation=own)], with_reservation(*nodes))
    engine.scratch.base[:] = True
    assert narrow_to_reservations(engine, 0, limit, start, 0) == answer
    assert engine.scratch.base.astype(int).tolist() == base


# selection: Which nodes a job gets.

CASES_OF_SELECTION = {
    "the node with the fewest CPUs that suffices": (
        Request(1, limit_s=60, min_nodes=1, max_nodes=1, tasks=1),
        [1],
        [1],
    ),
    "a run of neighbours, one CPU kept for each further node": (
        Request(1, limit_s=60, min_nodes=2, max_nodes=2, tasks=2),
        [1, 2],
        [1, 1],
    ),
    "CPUs without a count of nodes": (Request(1, limit_s=60, tasks=9), [1, 2, 3], [1, 4, 4]),
    "small nodes are left out where there would be too many": (
        Request(1, limit_s=60, min_nodes=2, max_nodes=2, tasks=8),
        [2, 3],
        [4, 4],
    ),
    "whole nodes": (Request(1, limit_s=60, min_nodes=2, max_nodes=2, exclusive=True), [2, 3], [4, 4]),
    "memory by CPU": (Request(1, limit_s=60, tasks=3, memory_mib=500, memory_per="cpu"), [1, 2], [1, 2]),
    "GPUs": (Request(1, limit_s=60, min_nodes=1, max_nodes=1, tasks=2, gpus={"": 2}), [2], [2]),
    "tasks per node without a count of nodes": (Request(1, limit_s=60, tasks=4, tasks_per_node=2), [2, 3], [2, 2]),
    "more than there is": (Request(1, limit_s=60, tasks=17), [], []),
}


@pytest.mark.parametrize("case", CASES_OF_SELECTION)
def test_nodes_of_a_job(case: str) -> None:
    request, nodes, cpus = CASES_OF_SELECTION[case]
    engine = engine_of([request, Request(0, limit_s=60, tasks=4), Request(0, limit_s=60, tasks=3)])
    engine.scratch.allowed[:] = True
    for other in (1, 2):  # node a is full, node b has one CPU
        begin_job(engine, other, 0, choose_nodes(engine, engine.free, other, 0), 0)
    chosen = choose_nodes(engine, engine.free, 0, 0)
    assert engine.scratch.chosen[:chosen].tolist() == nodes
    if case != "small nodes are left out where there would be too many":
        assert engine.scratch.cpus[:chosen].tolist() == cpus


def test_the_rest_goes_to_the_one_node_that_suffices() -> None:
    """Recorded of a real Slurm: nodes have 1, 3 and 4 free CPUs, and 5 are wanted on two of them."""
    asked = [Request(1, limit_s=60, min_nodes=2, max_nodes=2, tasks=5)]
    engine = engine_of([*asked, *(Request(0, limit_s=60, tasks=tasks) for tasks in (4, 3, 1))])
    for other, node in ((1, 0), (2, 1), (3, 2)):
        engine.scratch.allowed[:] = np.arange(4) == node
        begin_job(engine, other, 0, choose_nodes(engine, engine.free, other, 0), 0)
    engine.scratch.allowed[:] = True
    chosen = choose_nodes(engine, engine.free, 0, 0)
    assert engine.scratch.chosen[:chosen].tolist() == [1, 3]
    assert engine.scratch.cpus[:chosen].tolist() == [1, 4]


# suspended: Jobs that are suspended for others.


def test_a_job_is_suspended_and_goes_on_later() -> None:
    cluster = site("partition")
    values = {**cluster.scheduler.values, "preemptmode": "suspend,gang"}
    cluster = replace(cluster, scheduler=replace(cluster.scheduler, values=values))
    new = RequestOfSuspended(100, partitions=("gpu",), **WHOLE)
    replay = new_replay(
        cluster,
        cluster_arrays(cluster),
        columns_of([LONG, LONG, new], cluster),
        np.array([200, 200, 50]),
        Phases(25, 59),
    )
    run_replay(replay)
    assert replay.engine.running.start.tolist() == [0, 0, 100]
    assert replay.preempted.tolist() == [0, 1, 0] and replay.finished.tolist() == [200, 250, 150]
    assert (replay.engine.free.cpus == replay.engine.site.cpus).all()


# usable: What is kept of the shapes of jobs.


def test_what_is_kept_is_what_one_would_compute() -> None:
    random = np.random.default_rng(3)
    asked = [
        Request(
            0,
            limit_s=int(random.integers(1, 9)) * 60,
            tasks=int(random.integers(1, 6)),
            memory_mib=int(random.integers(0, 400)),
            exclusive=bool(random.random() < 0.2),
            gpus={"": 1} if random.random() < 0.2 else {},
        )
        for _ in range(60)
    ]
    engine = engine_of(asked)
    runs: list[int] = []
    for step in range(300):
        job = int(random.integers(len(asked)))
        if job in runs:
            runs.remove(job)
            end_job(engine, job, 0)
        else:
            engine.scratch.allowed[:] = True
            chosen = choose_nodes(engine, engine.free, job, 0)
            if chosen > 0:
                begin_job(engine, job, 0, chosen, step)
                runs.append(job)
        other = int(random.integers(len(asked)))
        place = kept_shape(engine, other, 0)
        usable, until = _computed(engine, other, runs)
        assert engine.shapes.usable[place].tolist() == usable and engine.shapes.until[place].tolist() == until
        assert engine.shapes.num_usable[place] == sum(cpus > 0 for cpus in usable)
    assert len(set(engine.shapes.of_job.tolist())) > 20


def _computed(engine: Engine, job: int, runs: list[int]) -> tuple[list[int], list[int]]:
    """CPUs on each node, and the end by limit after which there are some, jobs taken away one by one."""
    whole = holds_whole_nodes(engine.site, engine.jobs, job, 0)
    nodes = range(len(engine.site.cpus))
    usable = [usable_cpus(engine, engine.free, job, whole, node) for node in nodes]
    until = [NOT_GIVEN if cpus > 0 else FOREVER for cpus in usable]
    trial = type(engine.free)(*(array.copy() for array in engine.free))
    for other in sorted(runs, key=lambda one: (engine.running.end[one], one)):
        hold(engine, trial, other, -1)
        for node in nodes:
            if until[node] == FOREVER and usable_cpus(engine, trial, job, whole, node) > 0:
                until[node] = int(engine.running.end[other])
    return usable, until
