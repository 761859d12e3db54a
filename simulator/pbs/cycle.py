"""One pass of PBS's scheduler over its queue. Rules: docs/reference/pbs.md, "A pass"."""

from __future__ import annotations

from simulator.compiled import compiled
from simulator.pbs.limiting import is_within
from simulator.pbs.placing import find_nodes
from simulator.pbs.planning import plan_top_job
from simulator.pbs.preempting import preempt_for
from simulator.pbs.queueing import keep_eligible_time, score_queue, sort_queue
from simulator.pbs.sharing import add_request, count_running, forget_requests
from simulator.pbs.starting import resume_job, start_job
from simulator.pbs.state import BEGINS, ENDS, KEPT, NEVER, OVER

STARTED, BLOCKED, LIMITED, CLOSED = range(4)
"""What a pass makes of a job: it starts, resources keep it, a limit does, or it is not its turn."""


@compiled
def run_pass(engine, now):
    """Starts what can start now. Jobs that have started leave the queue. Returns how many did."""
    queue, settings, tops, scratch = engine.waiting, engine.settings, engine.tops, engine.scratch
    scratch.search[1] += 1
    scratch.search[2] = now
    _move_ends(engine, now)
    tops.length[0] = 0
    tops.left[:] = tops.depth
    if settings.fair_share > 0:
        count_running(engine, now)
    if settings.fair_share > 0 or len(engine.formula.ops) > 0:
        score_queue(engine, now)
        sort_queue(engine, 0)
    started, place = 0, 0
    while place < queue.length[0]:
        job = queue.pending[place]
        place += 1
        outcome = consider(engine, job, now)
        if outcome == STARTED:
            started += 1
        elif outcome == CLOSED:
            continue
        elif settings.strict == 0 or not _gets_plan(engine, job, now):
            if settings.strict > 0 and settings.depth == 0 and not queue.hopeless[job]:
                break
            continue
        if settings.fair_share > 0:
            add_request(engine, job)
            sort_queue(engine, place)
    if settings.fair_share > 0:
        forget_requests(engine)
    if started > 0:
        _leave_queue(engine)
    return started


@compiled
def _move_ends(engine, now):
    """A reservation that is over but keeps its nodes is expected to give them back in a second, like a job over its walltime."""
    times = engine.site.reservation_times
    for k in range(len(times)):
        times[k, ENDS] = now + 1 if times[k, OVER] <= now < times[k, KEPT] else times[k, OVER]


@compiled
def consider(engine, job, now):
    """Starts a job if it can start now. Returns STARTED, BLOCKED, LIMITED or CLOSED."""
    jobs, queue, scratch = engine.jobs, engine.waiting, engine.scratch
    if queue.hopeless[job] or not _may_start(engine, job, now):
        return CLOSED
    array = jobs.array[job]
    if array >= 0:
        if scratch.array_failed[array] == scratch.search[1]:
            return CLOSED
        if 0 < jobs.array_limit[job] <= engine.running.of_array[array]:
            return CLOSED
    is_limited = not is_within(engine, engine.limits.used, job, (now, now + jobs.wall[job]))
    keep_eligible_time(engine, job, is_limited, now)
    if is_limited:
        outcome = LIMITED
    elif queue.suspended[job]:
        outcome = _resume(engine, job, now)
    else:
        outcome = _start(engine, job, now)
    if outcome != STARTED and array >= 0:
        scratch.array_failed[array] = scratch.search[1]
    return outcome


@compiled
def _may_start(engine, job, now):
    """Whether the job's reservation lasts, if it has one."""
    reservation = engine.asks.reservation[engine.jobs.ask[job]]
    if reservation < 0:
        return True
    times = engine.site.reservation_times[reservation]
    return times[BEGINS] <= now < times[OVER]


@compiled
def _start(engine, job, now):
    jobs, scratch = engine.jobs, engine.scratch
    ask, wall = jobs.ask[job], jobs.wall[job]
    if scratch.failed_in[ask] == scratch.search[1] and scratch.failed_wall[ask] <= wall and not jobs.express[job]:
        return BLOCKED
    rows = find_nodes(engine, engine.load, ask, now, now + wall)
    if rows == 0 and jobs.express[job]:
        rows = preempt_for(engine, job, now)
    if rows > 0:
        start_job(engine, job, rows, now)
        return STARTED
    scratch.failed_in[ask] = scratch.search[1]
    scratch.failed_wall[ask] = wall
    return BLOCKED


@compiled
def _resume(engine, job, now):
    """A suspended job goes on if its own nodes have room."""
    if not _has_room(engine, job, now):
        return BLOCKED
    engine.waiting.suspended[job] = False
    resume_job(engine, job, now)
    return STARTED


@compiled
def _has_room(engine, job, now):
    """Whether the nodes that a suspended job was on have room for it, now and beside the plans of the pass."""
    running, load, tops, amounts = engine.running, engine.load, engine.tops, engine.asks.amounts
    first, end = running.first[job], now + engine.jobs.wall[job]
    scratch = engine.scratch
    scratch.search[0] += 1
    for row in range(first, first + running.count[job]):
        node, chunk = running.node[row], running.chunk[row]
        if scratch.taken_for[node] != scratch.search[0]:
            scratch.taken_for[node] = scratch.search[0]
            scratch.taken[node] = 0
        for kind in range(amounts.shape[1]):
            scratch.taken[node, kind] += amounts[chunk, kind]
            if load.free[node, kind] < scratch.taken[node, kind]:
                return False
            for top in range(tops.length[0]):
                if now < tops.start[top] < end and tops.free[top, node, kind] < scratch.taken[node, kind]:
                    return False
    return True


@compiled
def _gets_plan(engine, job, now):
    """Makes the job a top job if a place for one is left. A job that cannot have a plan takes none, and can never start."""
    tops, queue, jobs = engine.tops, engine.waiting, engine.jobs
    if queue.suspended[job] or engine.asks.reservation[jobs.ask[job]] >= 0:
        return False
    group = jobs.queue[job] if tops.depth[jobs.queue[job]] >= 0 else len(tops.depth) - 1
    if tops.left[group] <= 0:
        return False
    if not plan_top_job(engine, job, now):
        queue.hopeless[job] = True
        return False
    tops.left[group] -= 1
    return True


@compiled
def _leave_queue(engine):
    """Jobs that run leave the queue."""
    queue, running = engine.waiting, engine.running
    kept = 0
    for k in range(queue.length[0]):
        job = queue.pending[k]
        if running.end[job] == NEVER:
            queue.pending[kept] = job
            kept += 1
    queue.length[0] = kept
