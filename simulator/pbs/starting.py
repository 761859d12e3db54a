"""Starts and ends of jobs, and what they change."""

from __future__ import annotations

from simulator.compiled import compiled
from simulator.pbs.limiting import count_limits
from simulator.pbs.placing import add_rows, add_to_plan
from simulator.pbs.state import NEVER, OVER


@compiled
def start_job(engine, job, rows, now):
    """The job starts on the first `rows` rows that the last search has found."""
    running, scratch = engine.running, engine.scratch
    first = running.first[job]
    running.node[first : first + rows] = scratch.node[:rows]
    running.chunk[first : first + rows] = scratch.chunk[:rows]
    running.count[job] = rows
    resume_job(engine, job, now)


@compiled
def resume_job(engine, job, now):
    """The job runs on its nodes from now on."""
    running, jobs, tops = engine.running, engine.jobs, engine.tops
    first, rows, ask = running.first[job], running.count[job], jobs.ask[job]
    node, chunk = running.node[first : first + rows], running.chunk[first : first + rows]
    add_rows(engine, engine.load, ask, node, chunk, rows, -1)
    count_limits(engine.limits, engine.limits.used, job, 1)
    if jobs.array[job] >= 0:
        running.of_array[jobs.array[job]] += 1
    end = now + jobs.wall[job]
    if engine.asks.reservation[ask] >= 0:
        end = min(end, engine.site.reservation_times[engine.asks.reservation[ask], OVER])
    for top in range(tops.length[0]):
        if now <= tops.start[top] < end:
            add_to_plan(engine, top, ask, (node, chunk, rows))
            count_limits(engine.limits, tops.used[top], job, 1)
    running.start[job] = now
    running.end[job] = end
    engine.shares.counted[job] = now
    place = running.length[0]
    while place > 0 and running.end[running.job[place - 1]] > end:
        running.job[place] = running.job[place - 1]
        place -= 1
    running.job[place] = job
    running.length[0] += 1


@compiled
def end_job(engine, job):
    """The job ends, or is taken from its nodes."""
    running, jobs = engine.running, engine.jobs
    place = 0
    while running.job[place] != job:
        place += 1
    for k in range(place, running.length[0] - 1):
        running.job[k] = running.job[k + 1]
    running.length[0] -= 1
    first, rows = running.first[job], running.count[job]
    node, chunk = running.node[first : first + rows], running.chunk[first : first + rows]
    add_rows(engine, engine.load, jobs.ask[job], node, chunk, rows, 1)
    count_limits(engine.limits, engine.limits.used, job, -1)
    if jobs.array[job] >= 0:
        running.of_array[jobs.array[job]] -= 1
    running.end[job] = NEVER
