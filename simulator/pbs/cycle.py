"""One pass of PBS's scheduler over its queue. Rules: docs/reference/pbs.md, "A pass"."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.pbs.limiting import is_within
from simulator.pbs.occurrences import end_of_held, latest_end
from simulator.pbs.placing import find_nodes, find_own_nodes
from simulator.pbs.planning import plan_top_job
from simulator.pbs.preempting import preempt_youngest, set_levels
from simulator.pbs.queueing import (
    add_request,
    count_running,
    forget_requests,
    join_pbs_queue,
    keep_eligible_time,
    score_queue,
    sort_pbs_queue,
)
from simulator.pbs.settings import DELETED
from simulator.pbs.starting import expect_limits, start_pbs_job
from simulator.pbs.state import BEGINS, ENDS, KEPT, OVER, UNSET

STARTED, BLOCKED, LIMITED, CLOSED = range(4)
"""What a pass makes of a job: it starts, resources keep it, a limit does, or it is not its turn."""


@referring_apart
def run_pass(engine, now):
    """Starts what can start now. Jobs that have started leave the queue, and those that were preempted join it.

    Returns how many started."""
    queue, settings, tops, scratch = engine.waiting, engine.settings, engine.tops, engine.scratch
    jobs, limits = engine.jobs, engine.limits
    scratch.search[1] += 1
    scratch.search[2] = now
    tops.length[0] = 0
    engine.victims.length[0] = 0
    engine.victims.queued[0] = 0
    for group in range(len(tops.left)):
        tops.left[group] = tops.depth[group]
    move_ends(engine.site.reservation_times, engine.site.reservation_first[0], now)
    expect_limits(engine, now)
    has_shares, has_formula = settings.fair_share > 0, len(engine.formula.ops) > 0
    has_levels = len(engine.soft.bound) > 0
    looks_at_all = has_formula or len(engine.site.windows) > 0
    if has_shares:
        count_running(engine, now)
    if has_levels:
        set_levels(engine)
    if has_shares or has_formula or has_levels:
        score_queue(engine, now)
        sort_pbs_queue(engine, 0)
    started, place = 0, 0
    while place < queue.length[0]:
        job = queue.pending[place]
        place += 1
        outcome = BLOCKED
        if looks_at_all or not _is_surely_blocked(engine, job):
            is_limited = not is_within(limits, tops, limits.used, job, (now, now + jobs.wall[job]))
            keep_eligible_time(queue, job, is_limited, now)
            outcome = _consider(engine, job, is_limited, now)
        if outcome == STARTED:
            started += 1
            if engine.victims.length[0] > 0:
                _queue_victims(engine, place)
        elif outcome == CLOSED or settings.strict == 0 or queue.hopeless[job]:
            continue
        elif settings.depth == 0 and tops.depth[plan_group(tops, jobs, job)] <= 0:
            break
        elif not has_place(engine, job) or not gets_plan(engine, job, now):
            continue
        if has_shares:
            add_request(engine, job)
        if has_levels:
            set_levels(engine)
        if has_shares or has_levels:
            sort_pbs_queue(engine, place)
    if has_shares:
        forget_requests(engine)
    if started > 0:
        _leave_queue(queue, engine.running)
    return started


@referring
def move_ends(times, first, now):
    """A reservation that is over but keeps its nodes is expected to give them back in a second, like a job over its walltime."""
    for k in range(first, len(times)):
        if times[k, BEGINS] > now:
            break
        times[k, ENDS] = now + 1 if times[k, OVER] <= now < times[k, KEPT] else times[k, OVER]


@referring
def _is_surely_blocked(engine, job):
    """Whether a job that asks for the same and runs no longer did not fit in this pass."""
    jobs, scratch = engine.jobs, engine.scratch
    ask = jobs.ask[job]
    failed = scratch.failed_in[ask] == scratch.search[1] and scratch.failed_wall[ask] <= jobs.wall[job]
    return failed and not _may_preempt(engine, job) and jobs.array[job] < 0 and not engine.waiting.suspended[job]


@referring
def _may_preempt(engine, job):
    """Whether there is a level below that of the job, and none has preempted the job itself in this pass."""
    is_victim = engine.waiting.preempted[job] == engine.scratch.search[2]
    return 0 < engine.jobs.level[job] < engine.settings.lowest and not is_victim


@referring
def _consider(engine, job, is_limited, now):
    """Starts a job if it can start now. Returns STARTED, BLOCKED, LIMITED or CLOSED."""
    jobs, scratch = engine.jobs, engine.scratch
    array, in_reservation = jobs.array[job], jobs.level[job] == 0
    outcome = CLOSED
    if not may_start_pbs(engine, job, now) or (array >= 0 and not _may_task_start(engine, job)):
        outcome = CLOSED
    elif is_limited:
        outcome = LIMITED
    elif not in_reservation and now + jobs.wall[job] > latest_end(engine.site, jobs.queue[job], now):
        outcome = BLOCKED
    else:
        outcome = _try(engine, job, now)
        if outcome == BLOCKED and in_reservation:
            outcome = CLOSED
    if outcome != STARTED and array >= 0:
        scratch.array_failed[array] = scratch.search[1]
    return outcome


@referring
def _may_task_start(engine, job):
    """Whether no earlier task of its array failed in this pass, and the array may run a further one."""
    array, scratch = engine.jobs.array[job], engine.scratch
    limit = engine.jobs.array_limit[job]
    is_full = 0 < limit <= engine.running.of_array[array]
    return scratch.array_failed[array] != scratch.search[1] and not is_full


@referring
def may_start_pbs(engine, job, now):
    """Whether the job's reservation lasts, if it has one, and else its queue is open."""
    reservation = engine.asks.reservation[engine.jobs.ask[job]]
    if reservation >= 0:
        return end_of_held(engine.site, reservation, now) >= 0
    return latest_end(engine.site, engine.jobs.queue[job], now) >= 0


@referring
def _try(engine, job, now):
    """Starts a job if there are nodes for it, or can be."""
    site, asks, tops, scratch = engine.site, engine.asks, engine.tops, engine.scratch
    jobs, is_suspended = engine.jobs, engine.waiting.suspended[job]
    ask, wall = jobs.ask[job], jobs.wall[job]
    rows = 0
    if is_suspended:
        rows = find_own_nodes(site, asks, tops, scratch, engine.load, engine.running, (job, ask), (now, now + wall))
    elif not (scratch.failed_in[ask] == scratch.search[1] and scratch.failed_wall[ask] <= wall):
        rows = find_nodes(site, asks, tops, scratch, engine.load, ask, (now, now + wall))
        if rows == 0:
            scratch.failed_in[ask] = scratch.search[1]
            scratch.failed_wall[ask] = wall
    if rows == 0 and _may_preempt(engine, job):
        rows = preempt_youngest(engine, job, now)
    if rows > 0:
        start_pbs_job(engine, job, rows, now)
    return STARTED if rows > 0 else BLOCKED


@referring
def has_place(engine, job):
    """Whether the pass has a place for a further top job. A preempted job needs none, but takes one."""
    tops = engine.tops
    return engine.waiting.preempted[job] >= 0 or tops.left[plan_group(tops, engine.jobs, job)] > 0


@referring
def plan_group(tops, jobs, job):
    """Whose top jobs a job is counted with: those of its queue, if this has a depth of its own, or of the server."""
    queue = jobs.queue[job]
    return queue if tops.depth[queue] >= 0 else len(tops.depth) - 1


@referring
def gets_plan(engine, job, now):
    """Makes the job a top job. One that cannot have a plan takes no place."""
    tops = engine.tops
    if tops.length[0] == len(tops.job) or not plan_top_job(engine, job, now):
        return False
    tops.left[plan_group(tops, engine.jobs, job)] -= 1
    return True


@referring
def _queue_victims(engine, place):
    """Jobs that were preempted wait again, behind those that the pass has considered. Those that were deleted do not."""
    victims = engine.victims
    while victims.queued[0] < victims.length[0]:
        if engine.settings.preempt_way != DELETED:
            join_pbs_queue(engine, victims.job[victims.queued[0]], place)
        victims.queued[0] += 1


@referring
def _leave_queue(queue, running):
    """Jobs that run leave the queue."""
    kept = 0
    for k in range(queue.length[0]):
        job = queue.pending[k]
        if running.end[job] == UNSET:
            queue.pending[kept] = job
            kept += 1
    queue.length[0] = kept
