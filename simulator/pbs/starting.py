"""Starts and ends of jobs, and what they change, and the layout of jobs whose nodes are known."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.pbs.limiting import count_limits
from simulator.pbs.occurrences import end_of_held
from simulator.pbs.placing import add_rows, add_to_plan, copy_load, find_nodes
from simulator.pbs.state import UNSET, WHOLE_VNODE


@referring_apart
def start_pbs_job(engine, job, rows, now):
    """The job starts on the first `rows` rows that the last search has filled."""
    running, scratch, jobs, tops = engine.running, engine.scratch, engine.jobs, engine.tops
    site, asks, limits = engine.site, engine.asks, engine.limits
    first, ask = running.first[job], jobs.ask[job]
    for row in range(rows):
        running.node[first + row] = scratch.node[row]
        running.chunk[first + row] = scratch.chunk[row]
    running.count[job] = rows
    add_rows(site, asks, engine.load, ask, (running.node, running.chunk, first, rows), -1)
    count_limits(limits, limits.used, job, 1)
    count_limits(engine.soft, engine.soft.used, job, 1)
    if jobs.array[job] >= 0:
        running.of_array[jobs.array[job]] += 1
    end = now + jobs.wall[job]
    if asks.reservation[ask] >= 0:
        end = min(end, end_of_held(site, asks.reservation[ask], now))
    for top in range(tops.length[0]):
        if now <= tops.start[top] < end:
            add_to_plan(site, asks, tops, top, ask, (running.node, running.chunk, first, rows), -1)
            count_limits(limits, tops.used[top], job, 1)
    engine.waiting.suspended[job] = False
    engine.waiting.preempted[job] = UNSET
    running.start[job] = now
    engine.shares.counted[job] = now
    running.job[running.length[0]] = job
    running.length[0] += 1
    expect_end(running, job, end)


@referring
def expect_end(running, job, end):
    """Sets when a running job is expected to end, and puts it in its place among those that run."""
    place = running.length[0] - 1
    while running.job[place] != job:
        place -= 1
    running.end[job] = end
    while place > 0 and running.end[running.job[place - 1]] > end:
        running.job[place] = running.job[place - 1]
        place -= 1
    while place + 1 < running.length[0] and running.end[running.job[place + 1]] <= end:
        running.job[place] = running.job[place + 1]
        place += 1
    running.job[place] = job


@referring_apart
def expect_limits(engine, now):
    """Running jobs that have outlived what they were planned for are expected to end at their walltimes, or with their reservations."""
    running, jobs, asks = engine.running, engine.jobs, engine.asks
    k = 0
    while k < running.length[0]:
        job = running.job[k]
        if running.end[job] >= now:
            break
        if jobs.wall[job] >= jobs.limit[job]:
            k += 1
            continue
        end = running.end[job] + jobs.limit[job] - jobs.wall[job]
        jobs.wall[job] = jobs.limit[job]
        if asks.reservation[jobs.ask[job]] >= 0:
            end = min(end, max(end_of_held(engine.site, asks.reservation[jobs.ask[job]], now), running.end[job]))
        expect_end(running, job, end)


@referring_apart
def end_pbs_job(engine, job):
    """The job ends, or is taken from its nodes."""
    running, jobs = engine.running, engine.jobs
    place = 0
    while running.job[place] != job:
        place += 1
    for k in range(place, running.length[0] - 1):
        running.job[k] = running.job[k + 1]
    running.length[0] -= 1
    rows = (running.node, running.chunk, running.first[job], running.count[job])
    add_rows(engine.site, engine.asks, engine.load, jobs.ask[job], rows, 1)
    count_limits(engine.limits, engine.limits.used, job, -1)
    count_limits(engine.soft, engine.soft.used, job, -1)
    if jobs.array[job] >= 0:
        running.of_array[jobs.array[job]] -= 1
    running.end[job] = UNSET


@referring_apart
def find_known_nodes(engine, held, job, now):
    """Looks for room on the nodes that a job is known to hold, as PBS would lay it out there, and on all where nobody knows them. Returns
    rows as `find_nodes` does.

    held: the nodes of job j are the rows first[j] to first[j + 1] of node and of cpus, processors that it holds there, UNSET where that is
    not known."""
    site, asks, scratch = engine.site, engine.asks, engine.scratch
    first, last = held.first[job], held.first[job + 1]
    copy_load(engine.load, scratch.trial)
    if last > first:
        for node in range(len(scratch.trial.jobs)):
            scratch.trial.jobs[node] += WHOLE_VNODE
        for row in range(first, last):
            node = held.node[row]
            scratch.trial.jobs[node] -= WHOLE_VNODE
            if held.cpus[row] >= 0:
                scratch.trial.free[node, 0] = min(scratch.trial.free[node, 0], held.cpus[row])
    return find_nodes(site, asks, engine.tops, scratch, scratch.trial, engine.jobs.ask[job], (now, now + 1))
