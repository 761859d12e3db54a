"""Limits of QOS and associations. Rules: docs/reference/slurm.md, "Limits"."""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.slurm.nodes.usable import node_gpus, node_memory, wanted_cpus

RUNNING, ONE_JOB, USED, OUTSTANDING, SUBMITTED = range(5)
"""What a slot counts: all running jobs of its owner with this one, this job alone, resource-seconds that were used in all, or that running
jobs may still use, or all jobs that wait or run. Of used ones a job starts as long as the bound is not reached; with `safe`, only if all
jobs would stay below it until their limits."""
JOBS, NODES, CPUS, MEMORY, TIME, GPUS = range(6)
"""Resources of slots. Behind GPUS, which counts all, are the types of GPUs."""


@referring
def resource_amount(engine, job, resource, nodes, cpus, memory):
    """How much of a resource the job takes on so many nodes with so many CPUs and so much memory in all."""
    if resource == JOBS:
        return 1
    if resource == NODES:
        return nodes
    if resource == CPUS:
        return cpus
    if resource == MEMORY:
        return memory
    if resource == TIME:
        return engine.jobs.limit[job]
    types = engine.jobs.gpus.shape[1]
    if resource > GPUS:
        return node_gpus(engine.jobs, job, resource - GPUS - 1) * nodes
    total = 0
    for column in range(types):
        total += node_gpus(engine.jobs, job, column) * nodes
    return total


@referring
def too_many_jobs(engine, job):
    """Whether a limit on the number of jobs, or on one job's time, keeps the job from starting. This is looked at before nodes."""
    return slot_before_nodes(engine, job) >= 0


@referring
def slot_before_nodes(engine, job):
    """The slot of the first such limit, NOT_GIVEN for none."""
    limits = engine.limits
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        resource = limits.resource[slot] if limits.checked[entry] > 0 else -1
        if resource == JOBS and limits.counts[slot] == RUNNING and limits.used[slot] >= limits.bound[slot]:
            return slot
        if resource == TIME and limits.counts[slot] == ONE_JOB and engine.jobs.limit[job] > limits.bound[slot]:
            return slot
    return np.int64(NOT_GIVEN)


@referring
def lacks_licences(engine, job):
    """Whether licences that the job needs are all in use. This is looked at before nodes."""
    lacks = False
    for kind in range(len(engine.free.licences)):
        lacks = lacks or engine.jobs.licences[job, kind] > engine.free.licences[kind]
    return lacks


@referring
def over_limit(engine, job, chosen):
    """Whether the job on the `chosen` nodes of the scratch would exceed a limit on a resource. chosen: 0 for what it asked for."""
    return slot_exceeded(engine, job, chosen) >= 0


@referring_apart
def slot_exceeded(engine, job, chosen):
    """The slot of the first such limit, NOT_GIVEN for none."""
    limits, jobs, scratch = engine.limits, engine.jobs, engine.scratch
    if limits.first[job] == limits.first[job + 1]:
        return np.int64(NOT_GIVEN)
    nodes, cpus, memory = chosen, 0, 0
    if chosen == 0:
        nodes = jobs.min_nodes[job]
        cpus = wanted_cpus(jobs, job)
        memory = jobs.memory[job] * cpus if jobs.memory_per[job] == 1 else node_memory(jobs, job, cpus) * nodes
    for k in range(chosen):
        cpus += scratch.cpus[k]
        memory += node_memory(jobs, job, scratch.cpus[k])
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        resource = limits.resource[slot]
        if resource in (JOBS, TIME) or limits.checked[entry] == 0:
            continue
        more = resource_amount(engine, job, resource, nodes, cpus, memory)
        if limits.counts[slot] == USED:
            more *= jobs.limit[job]
            past = np.int64(limits.past[slot])
            if engine.site.settings.safe > 0 and past + limits.used[slot] + more > limits.bound[slot]:
                return slot
            if past + limits.elapsed[slot] >= limits.bound[slot]:
                return slot
            continue
        if limits.counts[slot] == OUTSTANDING:
            more = more * jobs.limit[job] + limits.used[slot] - limits.elapsed[slot]
        if limits.counts[slot] == RUNNING:
            more += limits.used[slot]
        if more > limits.bound[slot]:
            return slot
    return np.int64(NOT_GIVEN)


@referring
def change_used(engine, job, sign):
    """A job that runs counts in its slots (sign 1), one that has ended does not (-1)."""
    limits, running = engine.limits, engine.running
    if limits.first[job] == limits.first[job + 1]:
        return
    cpus = 0
    memory = 0
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        cpus += running.cpus[row]
        memory += node_memory(engine.jobs, job, running.cpus[row])
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        amount = resource_amount(engine, job, limits.resource[slot], running.nodes[job], cpus, memory)
        if limits.counts[slot] == SUBMITTED:
            continue
        if limits.counts[slot] == OUTSTANDING and sign < 0:
            limits.elapsed[slot] -= amount * max(limits.counted[0] - running.start[job], 0)
        if limits.counts[slot] in (USED, OUTSTANDING):
            amount *= engine.jobs.limit[job]
        limits.used[slot] += sign * amount


@referring
def may_be_submitted(engine, job):
    """Whether no limit on submitted jobs refuses the job."""
    limits = engine.limits
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        is_checked = limits.checked[entry] > 0 and limits.counts[slot] == SUBMITTED
        if is_checked and limits.used[slot] >= limits.bound[slot]:
            return False
    return True


@referring
def count_submitted(engine, job, sign):
    """The job is submitted (sign 1), or has ended (-1)."""
    limits = engine.limits
    for entry in range(limits.first[job], limits.first[job + 1]):
        if limits.counts[limits.slot[entry]] == SUBMITTED:
            limits.used[limits.slot[entry]] += sign


@referring
def count_past(engine, job, seconds):
    """A job has ended after so many seconds: what it used stays in the slots that count used time."""
    limits = engine.limits
    for entry in range(limits.first[job], limits.first[job + 1]):
        slot = limits.slot[entry]
        if limits.counts[slot] == USED:
            limits.past[slot] += _held(engine, job, limits.resource[slot]) * max(seconds, 0)


@referring
def count_elapsed(engine, now):
    """What running jobs have used by now, in the slots that count used time."""
    limits, running = engine.limits, engine.running
    limits.elapsed[:] = 0
    limits.counted[0] = now
    for k in range(running.length[0]):
        job = running.job[k]
        for entry in range(limits.first[job], limits.first[job + 1]):
            slot = limits.slot[entry]
            if limits.counts[slot] in (USED, OUTSTANDING):
                limits.elapsed[slot] += _held(engine, job, limits.resource[slot]) * max(now - running.start[job], 0)


@referring
def _held(engine, job, resource):
    """How much of a resource a running job has."""
    running = engine.running
    cpus = 0
    memory = 0
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        cpus += running.cpus[row]
        memory += node_memory(engine.jobs, job, running.cpus[row])
    return resource_amount(engine, job, resource, running.nodes[job], cpus, memory)
