"""Jobs of express queues take the nodes of others. Rules: docs/reference/pbs.md, "Preemption"."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.pbs.limiting import copy_use, count_limits, is_within
from simulator.pbs.placing import add_rows, copy_load, find_nodes
from simulator.pbs.settings import REQUEUED, SUSPENDED
from simulator.pbs.starting import end_pbs_job


@referring_apart
def preempt_youngest(engine, job, now):
    """Takes the nodes of the youngest jobs of other queues until the job fits, and of no more of them than it needs. Returns its rows as
    `find_nodes` does, 0 where nothing helps.

    The victims are appended to `engine.victims`. They no longer run, and wait to go on, or to begin again."""
    scratch, victims, limits = engine.scratch, engine.victims, engine.limits
    begin, ask = victims.length[0], engine.jobs.ask[job]
    span = (now, now + engine.jobs.wall[job])
    copy_load(engine.load, scratch.trial)
    copy_use(limits.used, limits.trial)
    count, rows = begin, 0
    while rows == 0:
        victim = _youngest(engine, begin, count)
        if victim < 0:
            return 0
        victims.job[count] = victim
        count += 1
        _move(engine, victim, 1)
        if is_within(limits, engine.tops, limits.trial, job, span):
            rows = find_nodes(engine.site, engine.asks, engine.tops, scratch, scratch.trial, ask, span)
    kept = begin
    for k in range(begin, count):
        victim = victims.job[k]
        _move(engine, victim, -1)
        fits = is_within(limits, engine.tops, limits.trial, job, span)
        if not fits or find_nodes(engine.site, engine.asks, engine.tops, scratch, scratch.trial, ask, span) == 0:
            _move(engine, victim, 1)
            victims.job[kept] = victim
            kept += 1
    for k in range(begin, kept):
        _take_from(engine, victims.job[k], now)
    victims.length[0] = kept
    scratch.search[1] += 1  # jobs that did not fit may fit now
    return find_nodes(engine.site, engine.asks, engine.tops, scratch, engine.load, ask, span)


@referring
def _youngest(engine, begin, count):
    """Of the jobs that may be preempted and are no victims yet, the one that started last, -1 where there is none. Of several that started
    in the same second, the one that was submitted first."""
    running, jobs, victims = engine.running, engine.jobs, engine.victims
    best = -1
    for k in range(running.length[0]):
        job = running.job[k]
        if jobs.express[job] or engine.asks.reservation[jobs.ask[job]] >= 0:
            continue
        is_victim = False
        for other in range(begin, count):
            is_victim = is_victim or victims.job[other] == job
        if is_victim:
            continue
        later = best < 0 or running.start[job] > running.start[best]
        if later or (running.start[job] == running.start[best] and jobs.number[job] < jobs.number[best]):
            best = job
    return best


@referring
def _move(engine, victim, sign):
    """A victim gives its nodes back in the trial (1), or takes them again (-1)."""
    running, ask = engine.running, engine.jobs.ask[victim]
    rows = (running.node, running.chunk, running.first[victim], running.count[victim])
    add_rows(engine.site, engine.asks, engine.scratch.trial, ask, rows, sign)
    count_limits(engine.limits, engine.limits.trial, victim, -sign)


@referring
def _take_from(engine, victim, now):
    """A victim waits again. One that was suspended or checkpointed has the rest of its walltime left, one that was queued again all."""
    jobs, running, victims, way = engine.jobs, engine.running, engine.victims, engine.settings.preempt_way
    victims.ran[victim] = now - running.start[victim] if way != REQUEUED else 0
    jobs.wall[victim] = max(jobs.wall[victim] - victims.ran[victim], 1)
    end_pbs_job(engine, victim)
    engine.waiting.suspended[victim] = way == SUSPENDED
    engine.waiting.preempted[victim] = now
