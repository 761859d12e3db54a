"""Jobs of higher levels take the nodes of others. Rules: docs/reference/pbs.md, "Preemption"."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.pbs.limiting import copy_use, count_limits, is_within
from simulator.pbs.placing import add_rows, add_to_plan, copy_load, find_rows
from simulator.pbs.settings import DELETED, EXPRESS, REQUEUED, SUSPENDED
from simulator.pbs.starting import end_pbs_job


@referring_apart
def set_levels(engine):
    """The level of preemption of all jobs that wait or run, by the soft limits that their owners are over, or would be with the job."""
    for k in range(engine.waiting.length[0]):
        _set_level(engine, engine.waiting.pending[k])
    for k in range(engine.running.length[0]):
        _set_level(engine, engine.running.job[k])


@referring
def _set_level(engine, job):
    jobs, soft, masks = engine.jobs, engine.soft, engine.masks
    if jobs.level[job] == 0:
        return
    reasons, runs = (EXPRESS if jobs.express[job] else 0), engine.running.end[job] >= 0
    for entry in range(soft.first[job], soft.first[job + 1]):
        slot = soft.slot[entry]
        if soft.used[slot] + (0 if runs else soft.amount[entry]) > soft.bound[slot]:
            reasons |= soft.kind[slot]
    level = -1
    for k in range(len(masks)):
        if level < 0 and masks[k] > 0 and reasons & masks[k] == masks[k]:
            level = k
    for k in range(len(masks)):
        if level < 0 and masks[k] == 0:
            level = k
    jobs.level[job] = level + 1


@referring_apart
def preempt_youngest(engine, job, now):
    """Takes the nodes of jobs of lower levels until the job fits, of the lowest level first and there of the youngest, and of no more of
    them than it needs. Returns its rows as `find_nodes` does, 0 where nothing helps.

    The victims are appended to `engine.victims`. They no longer run, and wait to go on, or to begin again."""
    scratch, victims, limits = engine.scratch, engine.victims, engine.limits
    begin = victims.length[0]
    span = (now, now + engine.jobs.wall[job])
    copy_load(engine.load, scratch.trial)
    copy_use(limits.used, limits.trial)
    count, rows = begin, 0
    while rows == 0:
        victim = _youngest(engine, job, now, count)
        if victim < 0:
            for k in range(begin, count):
                _move(engine, victims.job[k], -1, now)
            return 0
        victims.job[count] = victim
        count += 1
        _move(engine, victim, 1, now)
        if is_within(limits, engine.tops, limits.trial, job, span):
            rows = find_rows(engine, scratch.trial, job, span)
    kept = begin
    for k in range(begin, count):
        victim = victims.job[k]
        _move(engine, victim, -1, now)
        fits = is_within(limits, engine.tops, limits.trial, job, span)
        if not fits or find_rows(engine, scratch.trial, job, span) == 0:
            _move(engine, victim, 1, now)
            victims.job[kept] = victim
            kept += 1
    for k in range(begin, kept):
        _take_from(engine, victims.job[k], now)
    victims.length[0] = kept
    scratch.search[1] += 1  # jobs that did not fit may fit now
    return find_rows(engine, engine.load, job, span)


@referring
def _youngest(engine, preemptor, now, count):
    """Of the jobs that may be preempted and are no victims yet, the one of the lowest level that started last, -1 where there is none. Of
    several that started in the same second, the one that was submitted first. Those that started in this one are left alone."""
    running, jobs, victims = engine.running, engine.jobs, engine.victims
    best = -1
    for k in range(running.length[0]):
        job = running.job[k]
        if (
            jobs.level[job] <= jobs.level[preemptor]
            or running.start[job] == now
            or engine.asks.reservation[jobs.ask[job]] >= 0
        ):
            continue
        is_victim = False
        for other in range(count):
            is_victim = is_victim or victims.job[other] == job
        if is_victim:
            continue
        if best < 0 or _gives_way_before(running, jobs, job, best):
            best = job
    return best


@referring
def _gives_way_before(running, jobs, job, other):
    if jobs.level[job] != jobs.level[other]:
        return jobs.level[job] > jobs.level[other]
    if running.start[job] != running.start[other]:
        return running.start[job] > running.start[other]
    return jobs.number[job] < jobs.number[other]


@referring
def _move(engine, victim, sign, now):
    """A victim gives its nodes back in the trial and in the plans that begin before its end (1), or takes them again (-1)."""
    running, tops, ask = engine.running, engine.tops, engine.jobs.ask[victim]
    rows = (running.node, running.chunk, running.first[victim], running.count[victim])
    add_rows(engine.site, engine.asks, engine.scratch.trial, ask, rows, sign)
    count_limits(engine.limits, engine.limits.trial, victim, -sign)
    for top in range(tops.length[0]):
        if tops.start[top] < max(running.end[victim], now + 1):
            add_to_plan(engine.site, engine.asks, tops, top, ask, rows, sign)
            count_limits(engine.limits, tops.used[top], victim, -sign)


@referring
def _take_from(engine, victim, now):
    """A victim waits again, unless it is deleted. One that was suspended or checkpointed has the rest of its walltime left, one that was
    queued again all."""
    jobs, running, victims, way = engine.jobs, engine.running, engine.victims, engine.settings.preempt_way
    victims.ran[victim] = now - running.start[victim] if way != REQUEUED else 0
    jobs.wall[victim] = max(jobs.wall[victim] - victims.ran[victim], 1)
    jobs.limit[victim] = max(jobs.limit[victim] - victims.ran[victim], 1)
    end_pbs_job(engine, victim)
    engine.waiting.suspended[victim] = way == SUSPENDED
    engine.waiting.preempted[victim] = now if way != DELETED else -1
