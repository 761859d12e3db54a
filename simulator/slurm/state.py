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


class Site(NamedTuple):
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
    start: IntArray  # (jobs,), NOT_GIVEN until it starts
    end: IntArray  # (jobs,), start + limit
    partition: IntArray  # (jobs,)
    first: IntArray  # (jobs + 1,)
    nodes: IntArray  # (jobs,)
    node: IntArray  # (rows,)
    cpus: IntArray  # (rows,)
    array_running: IntArray  # (arrays,), tasks of each array that run


class Slices(NamedTuple):
    """The plan of a backfill cycle: times [begin, end) with the nodes that no plan has."""

    length: IntArray  # (1,)
    rows: IntArray  # (1,), of the controller's table, in which equal neighbours stay apart
    begin: IntArray  # (most,)
    end: IntArray  # (most,)
    free: BoolArray  # (most, nodes)


class Workspace(NamedTuple):
    """Room to compute in. trial: a copy of `Free`. allowed: nodes that a job may have. usable: CPUs of each node for it. chosen, cpus:
    nodes that were chosen, in the order of the nodes, and CPUs on each. weight: of each node, with what a test for GPUs left in it."""

    trial: Free
    allowed: BoolArray  # (nodes,)
    base: BoolArray  # (nodes,)
    usable: IntArray  # (nodes,)
    chosen: IntArray  # (nodes,)
    cpus: IntArray  # (nodes,)
    weight: IntArray  # (nodes,)
    completing: IntArray  # (nodes,), second until which a node completes
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


class Engine(NamedTuple):
    """All of it. limits: simulator/slurm/limits.py."""

    site: Site
    jobs: Requests
    limits: Limits
    free: Free
    running: Running
    slices: Slices
    scratch: Workspace
    preemption: Preemption


class Limits(NamedTuple):
    """Limits as slots: a bound on one resource for one owner, such as CPUs of one user in one QOS. The slots of job j are the entries
    first[j] to first[j + 1] of slot. used: by running jobs. counts: RUNNING, ONE_JOB or USED of simulator/slurm/limits.py. past:
    resource-seconds of jobs that have ended, with decay. elapsed: those of running jobs, when they were last counted."""

    first: IntArray  # (jobs + 1,)
    slot: IntArray  # (entries,)
    checked: IntArray  # (entries,), 0 where the job counts for the slot, but another limit hides it from the job
    resource: IntArray  # (slots,)
    bound: IntArray  # (slots,)
    counts: IntArray  # (slots,)
    used: IntArray  # (slots,)
    past: NDArray[np.float64]  # (slots,)
    elapsed: IntArray  # (slots,)


def site_of(arrays: ClusterArrays, settings: Settings) -> Site:
    """The site of a cluster."""
    return Site(
        arrays.cpus,
        arrays.memory,
        arrays.gpus,
        arrays.weight,
        arrays.feature_nodes,
        arrays.partition_nodes,
        arrays.exclusive,
        arrays.tier,
        arrays.max_time,
        arrays.reservation_nodes,
        arrays.reservation_times,
        arrays.switch_nodes,
        arrays.switch_level,
        arrays.licences,
        settings,
    )


def idle_engine(site: Site, jobs: Requests, limits: Limits, preemption: Preemption) -> Engine:
    """The state in which nothing runs."""
    num_nodes, num_jobs = len(site.cpus), len(jobs.submit)
    most = _most_nodes(site, jobs)
    first = np.concatenate([[0], np.cumsum(most)]).astype(np.int64)
    num_slices = 2 * (site.settings.job_tests + site.settings.array_plans) + 4
    num_slices = min(num_slices, 2 * num_jobs + 4)
    zeros = np.zeros
    running = Running(
        length=zeros(1, np.int64),
        job=zeros(num_jobs, np.int64),
        start=np.full(num_jobs, NOT_GIVEN, np.int64),
        end=zeros(num_jobs, np.int64),
        partition=zeros(num_jobs, np.int64),
        first=first,
        nodes=zeros(num_jobs, np.int64),
        node=zeros(first[-1], np.int64),
        cpus=zeros(first[-1], np.int64),
        array_running=zeros(int(jobs.array.max(initial=0)) + 1, np.int64),
    )
    slices = Slices(
        zeros(1, np.int64),
        zeros(1, np.int64),
        zeros(num_slices, np.int64),
        zeros(num_slices, np.int64),
        zeros((num_slices, num_nodes), np.bool_),
    )
    scratch = Workspace(
        trial=_all_free(site),
        allowed=zeros(num_nodes, np.bool_),
        base=zeros(num_nodes, np.bool_),
        usable=zeros(num_nodes, np.int64),
        chosen=zeros(num_nodes, np.int64),
        cpus=zeros(num_nodes, np.int64),
        weight=site.weight * 256 + 255,
        completing=zeros(num_nodes, np.int64),
        open_nodes=zeros(num_nodes, np.bool_),
        failed=zeros(len(site.max_time), np.bool_),
        failed_reservation=zeros(len(site.reservation_times), np.bool_),
        tested=zeros(num_jobs, np.bool_),
    )
    return Engine(site, jobs, limits, _all_free(site), running, slices, scratch, preemption)


def _all_free(site: Site) -> Free:
    nothing = np.zeros(len(site.cpus), np.int64)
    return Free(
        site.cpus.copy(), site.memory.copy(), site.gpus.copy(), nothing.copy(), nothing.copy(), site.licences.copy()
    )


def _most_nodes(site: Site, jobs: Requests) -> IntArray:
    """Nodes that each job can have at most: as many as it asks for, or one for each CPU."""
    cpus = np.maximum(jobs.tasks * jobs.cpus_per_task, jobs.min_nodes)
    return np.minimum(np.minimum(jobs.max_nodes, cpus), len(site.cpus))
