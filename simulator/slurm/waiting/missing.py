"""Which resource a job lacks that does not fit on the nodes that it may have."""

from __future__ import annotations

from simulator.compiled import referring
from simulator.slurm.nodes.usable import (
    has_gpus,
    holds_whole_nodes,
    node_gpus,
    node_memory,
    wanted_cpus,
    wants_gpus,
)

MEMORY, GPUS, WHOLE_NODES, FRAGMENTS, CORES = range(5)
"""FRAGMENTS: enough of everything in sum, but not on the nodes. CORES comes last: the others are asked first."""


@referring
def missing_resource(engine, job, partition):
    """The one of MEMORY, GPUS and WHOLE_NODES without which the job would fit on the nodes `scratch.allowed`. If there is none, GPUS or
    CORES if too few are free in sum, and FRAGMENTS otherwise."""
    site, jobs, free, allowed = engine.site, engine.jobs, engine.free, engine.scratch.allowed
    whole = holds_whole_nodes(site, jobs, job, partition)
    for resource in (MEMORY, GPUS, WHOLE_NODES):
        if _fits_without(engine, job, whole, resource):
            return resource
    for column in range(jobs.gpus.shape[1]):
        gpus = 0
        for node in range(len(allowed)):
            gpus += free.gpus[node, column] if allowed[node] else 0
        if node_gpus(jobs, job, column) * jobs.min_nodes[job] > gpus:
            return GPUS
    cpus = 0
    for node in range(len(allowed)):
        cpus += free.cpus[node] if allowed[node] else 0
    return CORES if wanted_cpus(jobs, job) > cpus else FRAGMENTS


@referring
def _fits_without(engine, job, whole, resource):
    """Whether enough nodes and CPUs could be used if one resource did not count."""
    allowed = engine.scratch.allowed
    nodes, cpus = 0, 0
    for node in range(len(allowed)):
        usable = _usable_without(engine, job, whole, resource, node) if allowed[node] else 0
        nodes += usable > 0
        cpus += usable
    return nodes >= engine.jobs.min_nodes[job] and cpus >= wanted_cpus(engine.jobs, job)


@referring
def _usable_without(engine, job, whole, resource, node):
    """CPUs that the job could use on a node if one resource did not count, as `usable_cpus` has it."""
    site, jobs, free = engine.site, engine.jobs, engine.free
    cpus = free.cpus[node]
    if resource != WHOLE_NODES and (free.jobs[node] > 0 if whole else free.whole[node] > 0):
        return 0
    if resource != GPUS and wants_gpus(jobs, job) > 0 and not has_gpus(jobs, free, job, node):
        return 0
    least = 1
    if jobs.tasks_per_node[job] > 0:
        least = jobs.tasks_per_node[job]
    elif jobs.max_nodes[job] == 1:
        least = jobs.tasks[job]
    if cpus < least * jobs.cpus_per_task[job]:
        return 0
    counts_memory = resource != MEMORY and jobs.memory[job] > 0 and site.memory[node] > 0
    if counts_memory and node_memory(jobs, job, least * jobs.cpus_per_task[job]) > free.memory[node]:
        return 0
    return cpus
