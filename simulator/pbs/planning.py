"""Plans for top jobs: when, and on which nodes, a job that cannot start now will start. Rules: docs/reference/pbs.md, "Top jobs"."""

from __future__ import annotations

from simulator.compiled import compiled, inlined
from simulator.jobs.cluster import FOREVER
from simulator.pbs.limiting import count_limits, is_within
from simulator.pbs.placing import add_rows, add_to_plan, copy_load, find_nodes, find_own_nodes
from simulator.pbs.state import CONFIRMED, ENDS

PLANNED_STEP_S = 60
"""Ends within the same minute count as one moment: the start is that of the last one."""


@compiled
def plan_top_job(engine, job, now):
    """Plans a job's start by letting running jobs end at their walltimes, and earlier plans begin and end. Returns whether there is one.

    The plan is appended to `engine.tops`, and what it takes is taken from the plans that begin while it runs."""
    site, asks, jobs, tops = engine.site, engine.asks, engine.jobs, engine.tops
    scratch, limits, running = engine.scratch, engine.limits, engine.running
    trial, ask, phase = scratch.trial, jobs.ask[job], engine.settings.minute_phase
    copy_load(engine.load, trial)
    limits.trial[:] = limits.used
    ended, when = 0, now
    while True:
        until = FOREVER
        while True:
            moment = _next_moment(site, tops, running, when, ended, now)
            if moment >= until:
                break
            if until == FOREVER:
                until = ((moment + phase) // PLANNED_STEP_S + 1) * PLANNED_STEP_S - phase + 1
            when = moment
            while ended < running.length[0]:
                other = running.job[ended]
                if max(running.end[other], now + 1) > when:
                    break
                rows = (running.node, running.chunk, running.first[other], running.count[other])
                add_rows(site, asks, trial, jobs.ask[other], rows, 1)
                count_limits(limits, limits.trial, other, -1)
                ended += 1
            _move_plans(engine, when)
        if until == FOREVER:
            return False
        span = (when, when + jobs.wall[job])
        if not is_within(limits, tops, limits.trial, job, span):
            continue
        if engine.waiting.suspended[job]:
            rows = find_own_nodes(site, asks, tops, scratch, trial, running, (job, ask), span)
        else:
            rows = find_nodes(site, asks, tops, scratch, trial, ask, span)
        if rows > 0:
            _append(engine, job, when, rows)
            return True


@inlined
def _next_moment(site, tops, running, when, ended, now):
    """The next moment at which something ends or begins, FOREVER where there is none."""
    moment = FOREVER
    if ended < running.length[0]:
        moment = max(running.end[running.job[ended]], now + 1)
    for top in range(tops.length[0]):
        if tops.start[top] > when:
            moment = min(moment, tops.start[top])
        if tops.end[top] > when:
            moment = min(moment, tops.end[top])
    for reservation in range(len(site.reservation_times)):
        end = site.reservation_times[reservation, ENDS]
        if site.reservation_times[reservation, CONFIRMED] <= now and end > when:
            moment = min(moment, end)
    return moment


@inlined
def _move_plans(engine, moment):
    """Earlier plans begin and end at this moment in the trial."""
    tops, trial, limits = engine.tops, engine.scratch.trial, engine.limits
    for top in range(tops.length[0]):
        for sign in range(-1, 2, 2):
            if (tops.end[top] if sign > 0 else tops.start[top]) == moment:
                other = tops.job[top]
                rows = (tops.node[top], tops.chunk[top], 0, tops.count[top])
                add_rows(engine.site, engine.asks, trial, engine.jobs.ask[other], rows, sign)
                count_limits(limits, limits.trial, other, -sign)


@inlined
def _append(engine, job, when, rows):
    """Notes the plan whose rows are in the scratch."""
    site, asks, limits = engine.site, engine.asks, engine.limits
    tops, scratch, jobs = engine.tops, engine.scratch, engine.jobs
    place, ask = tops.length[0], jobs.ask[job]
    end = when + jobs.wall[job]
    tops.job[place] = job
    tops.start[place] = when
    tops.end[place] = end
    tops.count[place] = rows
    tops.node[place, :rows] = scratch.node[:rows]
    tops.chunk[place, :rows] = scratch.chunk[:rows]
    tops.free[place] = scratch.trial.free
    tops.jobs[place] = scratch.trial.jobs
    tops.used[place] = limits.trial
    for top in range(place + 1):
        if top == place or when <= tops.start[top] < end:
            add_to_plan(site, asks, tops, top, ask, (scratch.node, scratch.chunk, 0, rows))
            count_limits(limits, tops.used[top], job, 1)
    tops.length[0] = place + 1
