"""Plans for top jobs: when, and on which nodes, a job that cannot start now will start. Rules: docs/reference/pbs.md, "Top jobs"."""

from __future__ import annotations

from simulator.compiled import compiled
from simulator.jobs.cluster import FOREVER
from simulator.pbs.limiting import count_limits, is_within
from simulator.pbs.placing import add_rows, add_to_plan, copy_load, find_nodes
from simulator.pbs.state import CONFIRMED, ENDS

MINUTE = 60
"""Ends within the same minute count as one moment: the start is that of the last one."""


@compiled
def plan_top_job(engine, job, now):
    """Plans a job's start by letting running jobs end at their walltimes, and earlier plans begin and end. Returns whether there is one.

    The plan is appended to `engine.tops`, and what it takes is taken from the plans that begin while it runs."""
    jobs, scratch, limits = engine.jobs, engine.scratch, engine.limits
    trial, ask = scratch.trial, jobs.ask[job]
    copy_load(engine.load, trial)
    limits.trial[:] = limits.used
    ended, when = 0, now
    while True:
        when, ended = _next_moment(engine, when, ended, now, FOREVER)
        if when >= FOREVER:
            return False
        minute = (when + engine.settings.minute_phase) // MINUTE
        while True:
            later, ended = _next_moment(
                engine, when, ended, now, (minute + 1) * MINUTE - engine.settings.minute_phase + 1
            )
            if later >= FOREVER:
                break
            when = later
        if not is_within(engine, limits.trial, job, (when, when + jobs.wall[job])):
            continue
        rows = find_nodes(engine, trial, ask, when, when + jobs.wall[job])
        if rows > 0:
            _append(engine, job, when, rows)
            return True


@compiled
def _next_moment(engine, when, ended, now, until):
    """Goes on to the next moment before `until` at which something ends or begins, and does it in the trial.

    Returns it, FOREVER where there is none, and how many jobs have ended."""
    running, tops, site = engine.running, engine.tops, engine.site
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
    if moment >= until:
        return FOREVER, ended
    while ended < running.length[0] and max(running.end[running.job[ended]], now + 1) <= moment:
        _end_in_trial(engine, running.job[ended])
        ended += 1
    for top in range(tops.length[0]):
        if tops.end[top] == moment:
            _top_in_trial(engine, top, 1)
        if tops.start[top] == moment:
            _top_in_trial(engine, top, -1)
    return moment, ended


@compiled
def _end_in_trial(engine, job):
    running, scratch = engine.running, engine.scratch
    first, count = running.first[job], running.count[job]
    node, chunk = running.node[first : first + count], running.chunk[first : first + count]
    add_rows(engine, scratch.trial, engine.jobs.ask[job], node, chunk, count, 1)
    count_limits(engine.limits, engine.limits.trial, job, -1)


@compiled
def _top_in_trial(engine, top, sign):
    tops, scratch = engine.tops, engine.scratch
    job = tops.job[top]
    add_rows(engine, scratch.trial, engine.jobs.ask[job], tops.node[top], tops.chunk[top], tops.count[top], sign)
    count_limits(engine.limits, engine.limits.trial, job, -sign)


@compiled
def _append(engine, job, when, rows):
    """Notes the plan whose rows are in the scratch."""
    tops, scratch, jobs = engine.tops, engine.scratch, engine.jobs
    place, ask = tops.length[0], jobs.ask[job]
    end = when + jobs.wall[job]
    for top in range(place):
        if when <= tops.start[top] < end:
            add_to_plan(engine, top, ask, (scratch.node, scratch.chunk, rows))
            count_limits(engine.limits, tops.used[top], job, 1)
    tops.job[place] = job
    tops.start[place] = when
    tops.end[place] = end
    tops.count[place] = rows
    tops.node[place, :rows] = scratch.node[:rows]
    tops.chunk[place, :rows] = scratch.chunk[:rows]
    tops.free[place] = scratch.trial.free
    tops.jobs[place] = scratch.trial.jobs
    tops.used[place] = engine.limits.trial
    count_limits(engine.limits, tops.used[place], job, 1)
    tops.length[0] = place + 1
    add_to_plan(engine, place, ask, (scratch.node, scratch.chunk, rows))
