"""What a job can use on a node, now and once running jobs have ended.

Jobs that ask for the same on a node have one shape. Of each shape that somebody waits with, what it can use on every node is kept, and
recomputed only for the nodes on which a job has begun or ended since.
"""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.jobs.cluster import FOREVER
from simulator.slurm.nodes.suspended import cpus_left

_PER_CPU, _PER_GPU = 1, 2
"""Places in MEMORY_PER."""


@referring
def holds_whole_nodes(site, jobs, job, partition):
    """Whether the job has its nodes for itself."""
    return jobs.exclusive[job] > 0 or site.partition_exclusive[partition] > 0 or site.settings.whole_nodes > 0


@referring
def wanted_cpus(jobs, job):
    """CPUs of the job's tasks."""
    return max(jobs.tasks[job] * jobs.cpus_per_task[job], jobs.min_nodes[job])


@referring
def node_gpus(jobs, job, column):
    """GPUs of a type that the job wants on each node, in the last column of all types."""
    gpus = jobs.gpus[job, column]
    if jobs.gpus_per[job] == 1:
        nodes = jobs.min_nodes[job]
        return (gpus + nodes - 1) // nodes
    if jobs.gpus_per[job] == 2:
        nodes = jobs.min_nodes[job]
        return gpus * ((jobs.tasks[job] + nodes - 1) // nodes)
    return gpus


@referring
def has_gpus(jobs, free, job, node):
    """Whether all GPUs that the job wants on a node are free there."""
    for column in range(jobs.gpus.shape[1]):
        wanted = node_gpus(jobs, job, column)
        if wanted > 0 and free.gpus[node, column] < wanted:
            return False
    return True


@referring
def wants_gpus(jobs, job):
    """GPUs of all types that the job wants on each node."""
    return node_gpus(jobs, job, jobs.gpus.shape[1] - 1)


@referring
def node_memory(jobs, job, cpus):
    """Memory that the job holds on a node on which it has these CPUs."""
    memory = jobs.memory[job]
    if jobs.memory_per[job] == _PER_CPU:
        return memory * cpus
    if jobs.memory_per[job] == _PER_GPU:
        return memory * wants_gpus(jobs, job)
    return memory


@referring
def usable_cpus(engine, free, job, whole, node):
    """CPUs that the job could use on the node, 0 where it cannot have the node."""
    site, jobs = engine.site, engine.jobs
    least = 1
    if jobs.tasks_per_node[job] > 0:
        least = jobs.tasks_per_node[job]
    elif jobs.max_nodes[job] == 1:
        least = jobs.tasks[job]
    least *= jobs.cpus_per_task[job]
    cpus = free.cpus[node]
    if whole:
        if free.jobs[node] > 0:
            return 0
    elif free.whole[node] > 0:
        return 0
    gpus = wants_gpus(jobs, job)
    if gpus > 0:
        if not has_gpus(jobs, free, job, node):
            return 0
        if jobs.max_nodes[job] == 1 and not whole:
            cpus = min(cpus, wanted_cpus(jobs, job))
    if jobs.memory[job] > 0 and site.memory[node] > 0:
        if jobs.memory_per[job] == _PER_CPU and not whole:
            cpus = min(cpus, free.memory[node] // jobs.memory[job])
        elif node_memory(jobs, job, cpus) > free.memory[node]:
            return 0
    if cpus < least:
        return 0
    if jobs.tasks_per_node[job] > 0 and jobs.max_nodes[job] > jobs.min_nodes[job]:
        return least
    return cpus


@referring
def hold_on_node(engine, free, job, row, sign):
    """The job takes what it holds on the node of one of its rows (sign 1), or gives it back (-1)."""
    running, jobs = engine.running, engine.jobs
    node = running.node[row]
    free.cpus[node] -= sign * running.cpus[row]
    free.memory[node] -= sign * node_memory(jobs, job, running.cpus[row])
    for column in range(jobs.gpus.shape[1]):
        free.gpus[node, column] -= sign * node_gpus(jobs, job, column)
    for column in range(running.any_gpus.shape[1]):
        free.gpus[node, column] -= sign * running.any_gpus[row, column]
    free.jobs[node] += sign
    if holds_whole_nodes(engine.site, jobs, job, running.partition[job]):
        free.whole[node] += sign


@referring
def take_any_gpus(engine, job, row):
    """GPUs of any type that the job gets on the node of one of its rows are the first that are free, in the order of the types. Noted only
    where some node has several types: on all others the number of all GPUs is enough."""
    running, jobs, node = engine.running, engine.jobs, engine.running.node[row]
    num_types = running.any_gpus.shape[1]
    left = node_gpus(jobs, job, jobs.gpus.shape[1] - 1)
    for column in range(num_types):
        left -= node_gpus(jobs, job, column)
    for column in range(num_types):
        free = engine.free.gpus[node, column] - node_gpus(jobs, job, column)
        running.any_gpus[row, column] = max(min(left, free), 0)
        left -= running.any_gpus[row, column]


@referring
def copy_free(free, trial):
    """Copies what is free."""
    for node in range(len(free.cpus)):
        _copy_node(free, trial, node)
    for kind in range(len(free.licences)):
        trial.licences[kind] = free.licences[kind]


@referring
def _copy_node(free, trial, node):
    trial.cpus[node] = free.cpus[node]
    trial.memory[node] = free.memory[node]
    for column in range(free.gpus.shape[1]):
        trial.gpus[node, column] = free.gpus[node, column]
    trial.jobs[node] = free.jobs[node]
    trial.whole[node] = free.whole[node]


@referring
def note_change(shapes, node):
    """What is free on a node has changed."""
    shapes.changed[shapes.length[0] % len(shapes.changed)] = node
    shapes.length[0] += 1


@referring_apart
def kept_shape(engine, job, partition):
    """The place of the job's shape among those that are kept, with what it can use now. Overwrites `scratch.trial` where nodes have
    changed."""
    shapes = engine.shapes
    whole = holds_whole_nodes(engine.site, engine.jobs, job, partition)
    name = 2 * shapes.of_job[job] + np.int64(whole)
    place = name % len(shapes.name)
    if shapes.name[place] != name:
        shapes.name[place] = name
        shapes.num_usable[place] = 0
        for node in range(len(engine.free.cpus)):
            shapes.usable[place, node] = 0
            _look_at(engine, place, job, whole, node)
    else:
        changes = min(shapes.length[0] - shapes.seen[place], len(shapes.changed))
        for entry in range(changes):
            # after too many changes this goes over all nodes
            node = entry
            if changes < len(shapes.changed):
                node = shapes.changed[(shapes.seen[place] + entry) % len(shapes.changed)]
            if shapes.until[place, node] < FOREVER:
                _look_at(engine, place, job, whole, node)
    shapes.seen[place] = shapes.length[0]
    return place


@referring
def end_on_node(engine, node, last):
    """Lays down in the trial what is free on a node once its running jobs have ended up to `last`, in the order of their ends."""
    running, trial = engine.running, engine.scratch.trial
    _copy_node(engine.free, trial, node)
    for k in range(running.node_length[node]):
        other = running.on_node[node, k, 0]
        if ends_after(running, other, last):
            break
        hold_on_node(engine, trial, other, running.on_node[node, k, 1], -1)
        if engine.preemption.suspends[0] > 0:
            trial.cpus[node] = cpus_left(engine, node, k + 1)


@referring
def ends_after(running, other, job):
    """Running jobs are in the order of their ends by limit, then in the order in which they were submitted."""
    if running.end[other] != running.end[job]:
        return running.end[other] > running.end[job]
    return running.number[other] > running.number[job]


@referring
def _look_at(engine, place, job, whole, node):
    """What a shape can use on one node, and the end by limit of the running job after which it can use something."""
    shapes, running, trial, free = engine.shapes, engine.running, engine.scratch.trial, engine.free
    before = shapes.usable[place, node]
    shapes.usable[place, node] = usable_cpus(engine, free, job, whole, node)
    shapes.num_usable[place] += np.int64(shapes.usable[place, node] > 0) - np.int64(before > 0)
    shapes.until[place, node] = NOT_GIVEN
    if shapes.usable[place, node] > 0 or running.crowded[0] > 0:
        return
    _copy_node(free, trial, node)
    for k in range(running.node_length[node]):
        other = running.on_node[node, k, 0]
        hold_on_node(engine, trial, other, running.on_node[node, k, 1], -1)
        if engine.preemption.suspends[0] > 0:
            trial.cpus[node] = cpus_left(engine, node, k + 1)
        if usable_cpus(engine, trial, job, whole, node) > 0:
            shapes.until[place, node] = running.end[other]
            return
    shapes.until[place, node] = FOREVER
