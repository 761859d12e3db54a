"""What a Slurm controller knows, as tuples of arrays: the site, the jobs, what is free, what runs, and room to compute in.

All arrays are int64 where nothing else is said. Compiled functions take these tuples and change the arrays in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import ClusterArrays
from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.slurm.settings import Settings

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
SHAPE_NODES = 1 << 21
"""Nodes of all shapes that are kept: 32 MiB."""


class SlurmSite(NamedTuple):
    """What does not change: nodes, partitions, reservations, settings. Shapes as in `ClusterArrays`."""

    cpus: IntArray
    memory: IntArray
    gpus: IntArray
    weight: IntArray
    feature_nodes: BoolArray
    partition_nodes: BoolArray
    partition_exclusive: IntArray
    partition_tier: IntArray
    max_time: IntArray
    reservation_nodes: BoolArray
    reservation_times: IntArray
    switch_nodes: BoolArray
    switch_level: IntArray
    licences: IntArray
    absences: IntArray
    all_cpus: int
    settings: Settings


class Free(NamedTuple):
    """What nobody holds on each node. jobs: how many run there. whole: how many of them hold the node for themselves."""

    cpus: IntArray  # (nodes,)
    memory: IntArray  # (nodes,)
    gpus: IntArray  # (nodes, types + 1)
    jobs: IntArray  # (nodes,)
    whole: IntArray  # (nodes,)
    licences: IntArray  # (kinds,)


class Running(NamedTuple):
    """Jobs that run, by their ends by limit. Those of job j are the rows first[j] to first[j] + nodes[j] of node and cpus."""

    length: IntArray  # (1,), how many run
    job: IntArray  # (jobs,), the first `length` are those that run, by end
    number: IntArray  # (jobs,), in the order in which jobs are submitted
    start: IntArray  # (jobs,), NOT_GIVEN until it starts
    end: IntArray  # (jobs,), start + limit
    partition: IntArray  # (jobs,)
    first: IntArray  # (jobs + 1,)
    nodes: IntArray  # (jobs,)
    node: IntArray  # (rows,)
    cpus: IntArray  # (rows,)
    shared: IntArray  # (rows,), of these CPUs those that the job took from suspended ones
    any_gpus: (
        IntArray  # (rows, types), GPUs of types that the job does not name, (0, 0) where no node has several types
    )
    array_running: IntArray  # (arrays,), tasks of each array that run
    node_length: IntArray  # (nodes,), jobs on each node
    on_node: IntArray  # (nodes, most, 2), these jobs by end, and their rows of `node`
    crowded: IntArray  # (1,), jobs that found no room there
    to_leave: IntArray  # (1,), rows of the queue whose jobs have started


class Plans(NamedTuple):
    """The plan of a backfill cycle: on each node the times [begin, end) in which a job is planned, apart from each other and in order."""

    window: IntArray  # (2,), begin and end of what is planned
    num_planned: IntArray  # (1,)
    planned: IntArray  # (nodes,), nodes with plans
    length: IntArray  # (nodes,), plans on each node
    begin: IntArray  # (nodes, most)
    end: IntArray  # (nodes, most)
    num_edges: IntArray  # (1,)
    edge: IntArray  # (most,), times at which a plan begins or ends, ascending
    at_edge: IntArray  # (most,), how many do
    rows: IntArray  # (1,), of the controller's table of slices, in which equal neighbours stay apart
    changes: IntArray  # (1,), what the cycle itself has changed: see simulator/slurm/changes.py


class Shapes(NamedTuple):
    """What jobs of one shape can use on each node. Jobs have one shape if they ask for the same on a node. A place holds one shape, and is
    as of the change `seen`."""

    of_job: IntArray  # (jobs,)
    name: IntArray  # (places,), twice the shape, and one more for whole nodes
    seen: IntArray  # (places,)
    num_usable: IntArray  # (places,), nodes on which it can use something now
    usable: IntArray  # (places, nodes), CPUs that it can use now
    until: IntArray  # (places, nodes), end by limit of the running job after which it can use something, NOT_GIVEN if it can now
    length: IntArray  # (1,), changes so far
    changed: IntArray  # (most,), nodes that the last changes were on, as a ring


class Workspace(NamedTuple):
    """Room to compute in. trial: a copy of `Free`. allowed: nodes that a job may have. listed: nodes that it can use, in
    their order. usable: its CPUs on each. taken: CPUs that it takes on each listed one. chosen, cpus: nodes that were chosen, in the order
    of the nodes, and CPUs on each. weight: of each node, with what a test for GPUs left in it. marked: how many nodes such tests have left
    something in, and which."""

    trial: Free
    allowed: BoolArray  # (nodes,)
    base: BoolArray  # (nodes,)
    usable: IntArray  # (nodes,)
    listed: IntArray  # (nodes,)
    taken: IntArray  # (nodes,)
    chosen: IntArray  # (nodes,)
    cpus: IntArray  # (nodes,)
    weight: IntArray  # (nodes,)
    marked: IntArray  # (nodes + 1,)
    completing: IntArray  # (nodes,), second until which a node completes
    away: IntArray  # (nodes,), second until which a node is down or drained
    open_nodes: BoolArray  # (nodes,), those that no blocked job of a pass of the main scheduler has closed
    failed: BoolArray  # (partitions,), closed in this pass
    failed_reservation: BoolArray  # (reservations,)
    tested: BoolArray  # (jobs,), those that nodes have been looked for


class Preemption(NamedTuple):
    """Who may preempt whom, and who has been preempted.

    kind: (1,), see simulator/slurm/preemption.py. preempts: bool (qualities, qualities). rank: (qualities,) or (partitions,), jobs of the
    lowest are preempted first. mode, grace_s: (qualities,) or (partitions,). exempt_s: (1,), a job is safe until it has run so
    long. youngest_first: (1,).
    length, victims: (1,) and (jobs,), jobs preempted since somebody last looked. doomed: bool (jobs,), those that have been
    preempted and still run. released: bool (jobs,), those that a test counts as gone.
    candidates: (jobs,), room to compute in.
    suspends: (1,), 1 where jobs of some partition are suspended. suspended: (jobs,), second since which a job is, NOT_GIVEN for others.
    num_suspended: (1,).
    """

    kind: IntArray
    preempts: BoolArray
    rank: IntArray
    mode: IntArray
    grace_s: IntArray
    exempt_s: IntArray
    youngest_first: IntArray
    length: IntArray
    victims: IntArray
    doomed: BoolArray
    released: BoolArray
    candidates: IntArray
    suspends: IntArray
    suspended: IntArray
    num_suspended: IntArray


class Engine(NamedTuple):
    """All of it. limits: simulator/slurm/limits.py."""

    site: SlurmSite
    jobs: Requests
    limits: Limits
    free: Free
    running: Running
    plans: Plans
    shapes: Shapes
    scratch: Workspace
    preemption: Preemption


class Limits(NamedTuple):
    """Limits as slots: a bound on one resource for one owner, such as CPUs of one user in one QOS. The slots of job j are the entries
    first[j] to first[j + 1] of slot. counts: one of those of simulator/slurm/limits.py. used: by running jobs. past:
    resource-seconds of jobs that have ended, with decay. elapsed: those of running jobs, at the second `counted`."""

    first: IntArray  # (jobs + 1,)
    slot: IntArray  # (entries,)
    checked: IntArray  # (entries,), 0 where the job counts for the slot, but another limit hides it from the job
    resource: IntArray  # (slots,)
    bound: IntArray  # (slots,)
    counts: IntArray  # (slots,)
    used: IntArray  # (slots,)
    past: NDArray[np.float64]  # (slots,)
    elapsed: IntArray  # (slots,)
    counted: IntArray  # (1,)


def slurm_site_of(arrays: ClusterArrays, settings: Settings) -> SlurmSite:
    """The site of a cluster. Memory that jobs do not consume is 0, and so is the number of switches that nobody looks at."""
    switches = slice(None) if settings.by_switch else slice(0)
    return SlurmSite(
        arrays.cpus,
        arrays.memory if settings.counts_memory else np.zeros_like(arrays.memory),
        arrays.gpus,
        arrays.weight,
        arrays.feature_nodes,
        arrays.partition_nodes,
        arrays.exclusive,
        arrays.tier,
        arrays.max_time,
        arrays.reservation_nodes,
        arrays.reservation_times,
        arrays.switch_nodes[switches],
        arrays.switch_level[switches],
        arrays.licences,
        arrays.absences,
        int(arrays.cpus.sum()),
        settings,
    )


def idle_engine(site: SlurmSite, jobs: Requests, limits: Limits, preemption: Preemption) -> Engine:
    """The state in which nothing runs."""
    num_nodes, num_jobs = len(site.cpus), len(jobs.submit)
    most = _most_nodes(site, jobs)
    first = np.concatenate([[0], np.cumsum(most)]).astype(np.int64)
    num_plans = site.settings.job_tests + site.settings.array_plans + 2
    num_plans = min(num_plans, jobs.partitions.size + 2)
    crowd = min(int(site.cpus.max(initial=0)), num_jobs) + 1
    zeros = np.zeros
    running = Running(
        length=zeros(1, np.int64),
        job=zeros(num_jobs, np.int64),
        number=np.arange(num_jobs),
        start=np.full(num_jobs, NOT_GIVEN, np.int64),
        end=zeros(num_jobs, np.int64),
        partition=zeros(num_jobs, np.int64),
        first=first,
        nodes=zeros(num_jobs, np.int64),
        node=zeros(first[-1], np.int64),
        cpus=zeros(first[-1], np.int64),
        shared=zeros(first[-1], np.int64),
        any_gpus=zeros((first[-1], site.gpus.shape[1] - 1) if _has_mixed_nodes(site) else (0, 0), np.int64),
        array_running=zeros(int(jobs.array.max(initial=0)) + 1, np.int64),
        node_length=zeros(num_nodes, np.int64),
        on_node=zeros((num_nodes, crowd, 2), np.int64),
        crowded=zeros(1, np.int64),
        to_leave=zeros(1, np.int64),
    )
    plans = Plans(
        window=zeros(2, np.int64),
        num_planned=zeros(1, np.int64),
        planned=zeros(num_nodes, np.int64),
        length=zeros(num_nodes, np.int64),
        begin=zeros((num_nodes, num_plans), np.int64),
        end=zeros((num_nodes, num_plans), np.int64),
        num_edges=zeros(1, np.int64),
        edge=zeros(2 * num_plans + 2, np.int64),
        at_edge=zeros(2 * num_plans + 2, np.int64),
        rows=zeros(1, np.int64),
        changes=zeros(1, np.int64),
    )
    scratch = _workspace(site, num_jobs)
    shapes = _shapes(jobs, num_nodes)
    return Engine(site, jobs, limits, _all_free(site), running, plans, shapes, scratch, preemption)


def _workspace(site: SlurmSite, num_jobs: int) -> Workspace:
    num_nodes, zeros = len(site.cpus), np.zeros
    return Workspace(
        trial=_all_free(site),
        allowed=zeros(num_nodes, np.bool_),
        base=zeros(num_nodes, np.bool_),
        usable=zeros(num_nodes, np.int64),
        listed=zeros(num_nodes, np.int64),
        taken=zeros(num_nodes, np.int64),
        chosen=zeros(num_nodes, np.int64),
        cpus=zeros(num_nodes, np.int64),
        weight=site.weight * 256 + 255,
        marked=zeros(num_nodes + 1, np.int64),
        completing=zeros(num_nodes, np.int64),
        away=np.full(num_nodes, NOT_GIVEN, np.int64),
        open_nodes=zeros(num_nodes, np.bool_),
        failed=zeros(len(site.max_time), np.bool_),
        failed_reservation=zeros(len(site.reservation_times), np.bool_),
        tested=zeros(num_jobs, np.bool_),
    )


def _shapes(jobs: Requests, num_nodes: int) -> Shapes:
    """Nothing is kept. Without GPUs the whole of a job of several nodes does not matter on one of them."""
    single = jobs.max_nodes == 1
    has_gpus = jobs.gpus.sum(axis=1) > 0
    columns = [
        np.where(single | has_gpus, jobs.tasks, 0),
        np.where(has_gpus, jobs.min_nodes, 0),
        single,
        (jobs.tasks_per_node > 0) & (jobs.max_nodes > jobs.min_nodes),
        jobs.cpus_per_task,
        jobs.tasks_per_node,
        jobs.memory,
        jobs.memory_per,
        jobs.gpus_per,
        jobs.exclusive,
        *jobs.gpus.T,
    ]
    shapes, of_job = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    places = max(min(2 * len(shapes), SHAPE_NODES // max(num_nodes, 1)), 1)
    return Shapes(
        of_job=of_job.reshape(-1).astype(np.int64),
        name=np.full(places, NOT_GIVEN, np.int64),
        seen=np.zeros(places, np.int64),
        num_usable=np.zeros(places, np.int64),
        usable=np.zeros((places, num_nodes), np.int64),
        until=np.zeros((places, num_nodes), np.int64),
        length=np.zeros(1, np.int64),
        changed=np.zeros(max(num_nodes, 1), np.int64),
    )


def _has_mixed_nodes(site: SlurmSite) -> bool:
    """Whether a node has GPUs of several types, or some without a type."""
    of_types, total = site.gpus[:, :-1], site.gpus[:, -1]
    most = of_types.max(axis=1, initial=0)
    return bool(((most > 0) & (most < total)).any())


def _all_free(site: SlurmSite) -> Free:
    nothing = np.zeros(len(site.cpus), np.int64)
    return Free(
        site.cpus.copy(), site.memory.copy(), site.gpus.copy(), nothing.copy(), nothing.copy(), site.licences.copy()
    )


def _most_nodes(site: SlurmSite, jobs: Requests) -> IntArray:
    """Nodes that each job can have at most: as many as it asks for, or one for each CPU."""
    cpus = np.maximum(jobs.tasks * jobs.cpus_per_task, jobs.min_nodes)
    return np.minimum(np.minimum(jobs.max_nodes, cpus), len(site.cpus))
