"""Jobs begin to run and end: what they hold, and what that leaves free."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.slurm.limits import change_used
from simulator.slurm.nodes.suspended import cpus_left, share_node
from simulator.slurm.nodes.usable import ends_after, hold_on_node, note_change, take_any_gpus


@referring_apart
def begin_job(engine, job, partition, chosen, now):
    """The job begins to run on the first `chosen` nodes of `scratch.chosen`."""
    running, scratch = engine.running, engine.scratch
    first = running.first[job]
    for k in range(chosen):
        running.node[first + k] = scratch.chosen[k]
        running.cpus[first + k] = scratch.cpus[k]
    running.nodes[job] = chosen
    running.start[job] = now
    for k in range(engine.jobs.partitions.shape[1]):
        running.to_leave[0] += engine.jobs.partitions[job, k] >= 0
    running.end[job] = now + job_limit(engine, job, partition)
    running.partition[job] = partition
    _note_running(engine, job)
    for row in range(first, first + chosen):
        running.shared[row] = 0
        if engine.preemption.suspends[0] > 0:
            running.shared[row] = share_node(engine, job, partition, row)
        if running.any_gpus.shape[1] > 0:
            take_any_gpus(engine, job, row)
    if engine.jobs.array[job] >= 0:
        running.array_running[engine.jobs.array[job]] += 1
    hold(engine, engine.free, job, 1)
    _count_shared(engine, job)
    change_used(engine, job, 1)


@referring
def _note_running(engine, job):
    """The job joins those that run, by their ends, also on each of its nodes."""
    running = engine.running
    place = _place_by_end(running, job)
    for k in range(running.length[0], place, -1):
        running.job[k] = running.job[k - 1]
    running.job[place] = job
    running.length[0] += 1
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        node = running.node[row]
        note_change(engine.shapes, node)
        place = running.node_length[node]
        if place == running.on_node.shape[1]:
            running.crowded[0] += 1
            continue
        while place > 0 and ends_after(running, running.on_node[node, place - 1, 0], job):
            running.on_node[node, place, 0] = running.on_node[node, place - 1, 0]
            running.on_node[node, place, 1] = running.on_node[node, place - 1, 1]
            place -= 1
        running.on_node[node, place, 0] = job
        running.on_node[node, place, 1] = row
        running.node_length[node] += 1


@referring
def _place_by_end(running, job):
    """The place behind all running jobs that do not end after this one."""
    low, high = 0, running.length[0]
    while low < high:
        middle = (low + high) // 2
        if ends_after(running, running.job[middle], job):
            high = middle
        else:
            low = middle + 1
    return low


@referring
def _forget_running(engine, job):
    running = engine.running
    for k in range(_place_by_end(running, job) - 1, running.length[0] - 1):
        running.job[k] = running.job[k + 1]
    running.length[0] -= 1
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        node = running.node[row]
        note_change(engine.shapes, node)
        length = running.node_length[node]
        place = 0
        while place < length and running.on_node[node, place, 0] != job:
            place += 1
        if place == length:
            running.crowded[0] -= 1
            continue
        for k in range(place, length - 1):
            running.on_node[node, k, 0] = running.on_node[node, k + 1, 0]
            running.on_node[node, k, 1] = running.on_node[node, k + 1, 1]
        running.node_length[node] -= 1


@referring
def end_earlier(engine, job, end):
    """The running job will end by this second at the latest."""
    if end < engine.running.end[job]:
        move_end(engine, job, end)


@referring
def move_end(engine, job, end):
    """The limit of the running job is over at this second."""
    _forget_running(engine, job)
    engine.running.end[job] = end
    _note_running(engine, job)


@referring_apart
def end_job(engine, job, completing_until):
    """The job ends. Nothing starts on its nodes before `completing_until`."""
    running = engine.running
    _forget_running(engine, job)
    if engine.jobs.array[job] >= 0:
        running.array_running[engine.jobs.array[job]] -= 1
    hold(engine, engine.free, job, -1)
    _count_shared(engine, job)
    change_used(engine, job, -1)
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        node = running.node[row]
        engine.scratch.completing[node] = max(engine.scratch.completing[node], completing_until)


@referring
def _count_shared(engine, job):
    """CPUs that are free on the job's nodes, where jobs share some with suspended ones."""
    running = engine.running
    if engine.preemption.suspends[0] > 0:
        for row in range(running.first[job], running.first[job] + running.nodes[job]):
            engine.free.cpus[running.node[row]] = cpus_left(engine, running.node[row], 0)


@referring
def hold(engine, free, job, sign):
    """The job takes what it holds on its nodes (sign 1), or gives it back (-1)."""
    running, jobs = engine.running, engine.jobs
    for kind in range(len(free.licences)):
        free.licences[kind] -= sign * jobs.licences[job, kind]
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        hold_on_node(engine, free, job, row, sign)


@referring
def job_limit(engine, job, partition):
    """The time for which the job is planned, which is its limit where nothing else is said, at most that of the partition."""
    return min(engine.jobs.planned[job], engine.site.max_time[partition])


@referring
def plan_to_limits(engine, now):
    """Running jobs that have outlived what they were planned for are planned to their limits."""
    running, jobs, place = engine.running, engine.jobs, 0
    while place < running.length[0] and running.end[running.job[place]] <= now:
        job = running.job[place]
        end = running.start[job] + min(jobs.limit[job], engine.site.max_time[running.partition[job]])
        if jobs.planned[job] < jobs.limit[job] and running.end[job] < end:
            move_end(engine, job, end)
        else:
            place += 1


@referring
def leave_node(engine, absence):
    """Nothing starts on a node while it is away. Jobs on one that is down join those that were preempted. absence: a row of
    `ClusterArrays.absences`."""
    running, rules, node = engine.running, engine.preemption, absence[2]
    engine.scratch.away[node] = max(engine.scratch.away[node], absence[1])
    for k in range(running.length[0]):
        job = running.job[k]
        for row in range(running.first[job], running.first[job] + running.nodes[job]):
            if absence[3] > 0 and running.node[row] == node:
                rules.victims[rules.length[0]] = job
                rules.length[0] += 1
