"""CPUs that jobs of a higher partition share with jobs that are suspended for them (PreemptMode=SUSPEND,GANG).

To a job of a higher tier, CPUs of running jobs in lower ones count as free. Memory, GPUs and licences do not, since a job that is suspended
keeps them. Cores have no numbers here: on each node jobs of lower tiers are taken to have the first ones, in the order of their starts.
"""

from __future__ import annotations

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart

OFF, REQUEUE, CANCEL, SUSPEND = range(4)
"""What becomes of a job that is preempted."""


@referring
def is_under(rules, group, partition):
    """Whether jobs of one partition are suspended for those of another one."""
    return rules.suspends[0] > 0 and rules.mode[group] == SUSPEND and rules.rank[group] < rules.rank[partition]


@referring
def may_suspend(engine, partition):
    """Whether there are partitions whose jobs are suspended for those of this one."""
    rules = engine.preemption
    may = False
    for group in range(len(rules.mode)):
        may = may or is_under(rules, group, partition)
    return may


@referring_apart
def free_above(engine, trial, partition):
    """Lays down in the trial the CPUs that jobs of this partition find free where those below it do not count, and marks the latter as
    released."""
    running, rules, site = engine.running, engine.preemption, engine.site
    for k in range(running.length[0]):
        job = running.job[k]
        rules.released[job] = is_under(rules, running.partition[job], partition)
    for node in range(len(trial.cpus)):
        trial.cpus[node] = site.cpus[node]
        for k in range(running.node_length[node]):
            job = running.on_node[node, k, 0]
            if not rules.released[job]:
                trial.cpus[node] -= running.cpus[running.on_node[node, k, 1]]
                continue
            trial.jobs[node] -= 1
            if engine.jobs.exclusive[job] > 0 or site.partition_exclusive[running.partition[job]] > 0:
                trial.whole[node] -= 1


@referring
def cpus_left(engine, node, first):
    """CPUs that are free on a node if of its jobs in the order of their ends those before `first` are gone. Shared ones count once."""
    running, rules = engine.running, engine.preemption
    cpus, below, shared = engine.site.cpus[node], 0, 0
    for k in range(first, running.node_length[node]):
        row = running.on_node[node, k, 1]
        cpus -= running.cpus[row]
        shared += running.shared[row]
        if rules.mode[running.partition[running.on_node[node, k, 0]]] == SUSPEND:
            below += running.cpus[row]
    return cpus + min(shared, below)


@referring_apart
def share_node(engine, job, partition, row):
    """The CPUs of a row of the job that begins which it takes from jobs below it, which are noted as preempted."""
    running, rules = engine.running, engine.preemption
    node, cpus = running.node[row], running.cpus[row]
    if cpus <= engine.free.cpus[node]:
        return 0
    below = 0
    for k in range(running.node_length[node]):
        other, place = running.on_node[node, k, 0], running.on_node[node, k, 1]
        if other == job:
            continue
        if is_under(rules, running.partition[other], partition):
            below += running.cpus[place]
        else:
            below -= running.shared[place]
    shared = max(min(cpus, below), cpus - engine.free.cpus[node])
    left = shared
    while left > 0:
        victim = _first_below(engine, partition, node)
        if victim < 0:
            break
        rules.doomed[victim] = True
        rules.victims[rules.length[0]] = victim
        rules.length[0] += 1
        left -= _cpus_on(running, victim, node)
    return shared


@referring
def _first_below(engine, partition, node):
    """The job on a node that began first of those that run below a partition, NOT_GIVEN for none."""
    running, rules = engine.running, engine.preemption
    first = NOT_GIVEN
    for k in range(running.node_length[node]):
        other = running.on_node[node, k, 0]
        may_go = is_under(rules, running.partition[other], partition) and not rules.doomed[other]
        if may_go and (first < 0 or running.start[other] < running.start[first]):
            first = other
    return first


@referring
def _cpus_on(running, job, node):
    cpus = 0
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        if running.node[row] == node:
            cpus = running.cpus[row]
    return cpus


@referring_apart
def may_resume(engine, job):
    """Whether the cores of a suspended job are enough beside jobs above it and those that run."""
    running, rules = engine.running, engine.preemption
    may = True
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        node, cpus = running.node[row], running.cpus[row]
        for k in range(running.node_length[node]):
            other = running.on_node[node, k, 0]
            if other != job and rules.suspended[other] < 0:
                cpus += running.cpus[running.on_node[node, k, 1]]
        may = may and cpus <= engine.site.cpus[node]
    return may
