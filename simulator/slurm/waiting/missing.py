"""Which resource a job lacks that does not fit on the nodes that it may have.

By which factor of priority one job is ahead of another. Rules: docs/reference/slurm.md, "Priority".
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import referring, referring_apart
from simulator.slurm.nodes.usable import (
    has_gpus,
    holds_whole_nodes,
    node_gpus,
    node_memory,
    wanted_cpus,
    wants_gpus,
)
from simulator.slurm.priority import job_priority, size_factor

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


# --- ahead


AGE, FAIR_SHARE, JOB_SIZE, PARTITION, QOS, OTHER, EARLIER = range(7)
"""OTHER: priority given by hand, a reservation, nice, the association or the resources asked for. EARLIER: nothing but the time of
submission."""


@referring_apart
def leading_factor(replay, first, second, partition, now):
    """The factor by which the first job is furthest ahead of the second, both in this partition."""
    jobs, settings = replay.engine.jobs, replay.engine.site.settings
    if first < 0 or jobs.priority[first] >= 0 or jobs.priority[second] >= 0:
        return OTHER
    if settings.basic > 0:
        return EARLIER
    leading, most, total = EARLIER, 0.0, 0.0
    for factor in (AGE, FAIR_SHARE, JOB_SIZE, PARTITION, QOS):
        lead = _part(replay, first, partition, factor, now) - _part(replay, second, partition, factor, now)
        total += lead
        if lead > most:
            leading, most = factor, lead
    rest = _priority_now(replay, first, partition, now) - _priority_now(replay, second, partition, now) - total
    return OTHER if rest > max(most, 1.0) else leading


@referring
def _priority_now(replay, job, partition, now):
    row = (job, partition)
    return job_priority(replay.engine, replay.rules, replay.statics, replay.fair, row, _age(replay, job, now))


@referring
def _age(replay, job, now):
    """Seconds for which the job has gathered age."""
    since = replay.eligible[job]
    return max(now - since, 0) if since >= 0 else np.int64(0)


@referring
def _part(replay, job, partition, factor, now):
    """What a factor adds to the priority of a job."""
    rules, statics, fair, jobs = replay.rules, replay.statics, replay.fair, replay.engine.jobs
    if factor == AGE:
        return rules.age * min(1.0, _age(replay, job, now) / rules.most_age) if rules.most_age > 0 else 0.0
    if factor == FAIR_SHARE:
        owner = fair.owner[job]
        return rules.fair_share * fair.factor[owner - fair.num_accounts] if owner >= 0 else 0.0
    if factor == JOB_SIZE:
        return rules.job_size * size_factor(replay.engine, rules, job, partition)
    if factor == PARTITION:
        return rules.partition * statics.partition[partition]
    return rules.qos * statics.qos[jobs.qos[job]] if jobs.qos[job] >= 0 else 0.0
