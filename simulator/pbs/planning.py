"""Plans for top jobs: when, and on which nodes, a job that cannot start now will start. Rules: docs/reference/pbs.md, "Top jobs"."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.jobs.cluster import FOREVER
from simulator.jobs.followers import NEVER_SUBMITTED
from simulator.pbs.limiting import copy_use, count_limits, is_within
from simulator.pbs.occurrences import has_hours_for, latest_end, leave_windows, next_window, rewind_windows
from simulator.pbs.placing import add_rows, add_to_plan, copy_load, find_nodes, find_rows
from simulator.pbs.state import BEGINS, CONFIRMED, ENDS

PLANNED_STEP_S = 60
"""Ends within the same minute count as one moment: the start is that of the last one."""


@referring_apart
def mark_hopeless(engine):
    """Notes the jobs that get no plan: they do not fit on an idle site or in any hours, or a limit is below what they ask for."""
    site, asks, jobs, limits = engine.site, engine.asks, engine.jobs, engine.limits
    for ask in range(len(asks.chunks)):
        rows = find_nodes(site, asks, engine.tops, engine.scratch, engine.load, ask, (-FOREVER, -FOREVER))
        engine.scratch.failed_wall[ask] = rows
    before = -FOREVER
    for job in range(len(jobs.ask)):
        hopeless = engine.scratch.failed_wall[jobs.ask[job]] == 0
        for entry in range(limits.first[job], limits.first[job + 1]):
            hopeless = hopeless or limits.amount[entry] > limits.bound[limits.slot[entry]]
        if jobs.submit[job] != NEVER_SUBMITTED:  # hours are looked at once a submission is known
            if jobs.submit[job] < before:
                rewind_windows(site)
            before = jobs.submit[job]
            leave_windows(site, before)
            hopeless = hopeless or not has_hours(engine, job)
        engine.waiting.hopeless[job] = hopeless
    rewind_windows(site)


@referring
def has_hours(engine, job):
    """Whether there are hours from the job's submission on that have room for it."""
    jobs = engine.jobs
    return jobs.level[job] == 0 or has_hours_for(engine.site, jobs.queue[job], jobs.submit[job], jobs.wall[job])


@referring_apart
def plan_top_job(engine, job, now):
    """Plans a job's start by letting running jobs end at their walltimes, and earlier plans begin and end. Returns whether there is one.

    The plan is appended to `engine.tops`, and what it takes is taken from the plans that begin while it runs."""
    site, asks, jobs, tops = engine.site, engine.asks, engine.jobs, engine.tops
    limits, running = engine.limits, engine.running
    trial, phase = engine.scratch.trial, engine.settings.minute_phase
    copy_load(engine.load, trial)
    copy_use(limits.used, limits.trial)
    ended, when = 0, now
    while True:
        until = FOREVER
        while True:
            moment = next_window(site, jobs.queue[job], when, _next_moment(site, tops, running, when, ended, now))
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
        if span[1] > latest_end(site, jobs.queue[job], when) or not is_within(limits, tops, limits.trial, job, span):
            continue
        rows = find_rows(engine, trial, job, span)
        if rows > 0:
            _append(engine, job, when, rows)
            return True


@referring
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
    for reservation in range(site.reservation_first[0], len(site.reservation_times)):
        if site.reservation_times[reservation, BEGINS] >= moment:
            break
        end = site.reservation_times[reservation, ENDS]
        if site.reservation_times[reservation, CONFIRMED] <= now and end > when:
            moment = min(moment, end)
    return moment


@referring
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


@referring
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
    for row in range(rows):
        tops.node[place, row] = scratch.node[row]
        tops.chunk[place, row] = scratch.chunk[row]
    for node in range(len(site.all_nodes)):
        tops.jobs[place, node] = scratch.trial.jobs[node]
        for kind in range(site.amounts.shape[1]):
            tops.free[place, node, kind] = scratch.trial.free[node, kind]
    for slot in range(len(limits.trial)):
        tops.used[place, slot] = limits.trial[slot]
    for top in range(place + 1):
        if top == place or when <= tops.start[top] < end:
            add_to_plan(site, asks, tops, top, ask, (scratch.node, scratch.chunk, 0, rows), -1)
            count_limits(limits, tops.used[top], job, 1)
    tops.length[0] = place + 1
