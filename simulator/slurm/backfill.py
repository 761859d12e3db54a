"""The backfill cycle: every waiting job down to a depth is started now, planned for later, or neither. Rules: docs/reference/slurm.md.

It is neither EASY nor conservative backfilling: every job has a plan, but all plans are recomputed in every cycle, from the limits of
the running jobs and in whole nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.jobs.cluster import FOREVER
from simulator.slurm.limits import is_over_anywhere, lacks_licences, over_limit, too_many_jobs
from simulator.slurm.nodes.plans import begin_plans, is_free, narrow, narrow_to_reservations, take_nodes
from simulator.slurm.nodes.selection import choose_above, choose_later, choose_nodes, reset_weights
from simulator.slurm.nodes.suspended import free_above, may_suspend
from simulator.slurm.nodes.usable import copy_free, holds_whole_nodes, kept_shape, wants_gpus
from simulator.slurm.preemption import may_preempt, preempt_for, release_candidates
from simulator.slurm.rows import HAS_LEFT, PLANS, ROW, STARTS, TESTS, clear_counts, is_beyond, may_plan
from simulator.slurm.starting import begin_job, hold, job_limit, plan_to_limits

STARTED, PLANNED, NEITHER = range(3)
"""What becomes of a job in a cycle."""
BATCH = 200
"""Running jobs that are taken away at once, at most."""
WIDTH = 30
"""Seconds of the first batch of ends, and of the grid that it begins on."""
STOPPED = 500
"""Seconds after which a job over a limit is planned, under assoc_limit_stop."""
BY_PREEMPTING = -2
"""As a start: now, if other jobs go for this one."""


class Decisions(NamedTuple):
    """What a cycle has decided, in the order in which it looked at jobs. nodes: bool (rows, nodes), or (0, nodes) if nobody asks."""

    length: NDArray[np.int64]  # (1,)
    job: NDArray[np.int64]  # (rows,)
    kind: NDArray[np.int64]  # (rows,), STARTED, PLANNED or NEITHER
    start: NDArray[np.int64]  # (rows,), the start, or the planned one
    end: NDArray[np.int64]  # (rows,), end of the plan
    nodes: NDArray[np.bool_]


@referring_apart
def backfill_cycle(engine, waiting, decisions, now):
    """Runs one cycle over all rows at second `now`. Jobs that start are running afterwards. Returns how many jobs it tested."""
    begin_cycle(engine, waiting, decisions, now)
    cycle_down(engine, waiting, decisions, now)
    return waiting.walk[TESTS]


@referring_apart
def begin_cycle(engine, waiting, decisions, now):
    """A cycle begins at the head of the queue, with no plans."""
    plan_to_limits(engine, now)
    begin_plans(engine.plans, now, engine.site.settings)
    for k in range(decisions.length[0]):
        waiting.planned[decisions.job[k]] = False
    decisions.length[0] = 0
    clear_counts(waiting)


@referring_apart
def cycle_down(engine, waiting, decisions, now):
    """The cycle goes down the rows that it has not looked at. Returns whether it would look at more."""
    settings, jobs, walk = engine.site.settings, engine.jobs, waiting.walk
    most_tests = min(settings.job_tests, waiting.most_tests[0])
    for row in range(walk[ROW], waiting.length[0]):
        job, partition = waiting.job[row], waiting.partition[row]
        if waiting.goes_on[row]:
            if walk[HAS_LEFT] > 0:
                continue
        else:
            walk[PLANS] = 0
            walk[HAS_LEFT] = engine.running.start[job] >= 0 or is_beyond(engine, waiting, row)
            if walk[HAS_LEFT] > 0:
                continue
        while job >= 0:
            if walk[TESTS] >= most_tests:
                return False
            if engine.running.start[job] >= 0:  # in another of its partitions
                job = waiting.next_task[job]
                continue
            limit = jobs.array_limit[job]
            if limit > 0 and engine.running.array_running[jobs.array[job]] >= limit:
                break
            if too_many_jobs(engine, job):
                break
            walk[TESTS] += 1
            is_full = engine.plans.rows[0] >= settings.table_rows
            plannable = may_plan(settings, waiting, row, job)
            kind = consider(engine, decisions, job, partition, now + waiting.delay[row], plannable)
            if kind == NEITHER:
                break
            if kind == PLANNED:
                if is_full:
                    return False
                waiting.planned[job] = True
                walk[PLANS] += 1
            else:
                walk[STARTS] += 1
                if 0 < settings.cycle_starts <= walk[STARTS]:
                    return False
            job = waiting.next_task[job]
            if walk[PLANS] >= settings.array_plans:
                break
        walk[HAS_LEFT] = job >= 0 or walk[PLANS] >= settings.array_plans
    walk[ROW] = waiting.length[0]
    return True


@referring_apart
def consider(engine, decisions, job, partition, now, plannable):
    """Starts one job, or plans it if it is plannable. Returns STARTED, PLANNED or NEITHER, which is also noted."""
    kind, start, end, chosen = NEITHER, 0, 0, 0
    if not lacks_licences(engine, job) and not _is_kept_by_limit(engine, job, partition):
        kind, start, end, chosen = _place(engine, job, partition, now, plannable)
    row = decisions.length[0]
    decisions.job[row] = job
    decisions.kind[row] = kind
    decisions.start[row] = start
    decisions.end[row] = end
    if len(decisions.nodes) > 0:
        decisions.nodes[row, :] = False
        for k in range(chosen):
            decisions.nodes[row, engine.scratch.chosen[k]] = True
    decisions.length[0] += 1
    return kind


@referring
def _place(engine, job, partition, now, plannable):
    """What becomes of the job, when it starts, when its plan ends, and on how many nodes."""
    site, scratch, plans = engine.site, engine.scratch, engine.plans
    limit = job_limit(engine, job, partition)
    step = site.settings.resolution
    least_nodes = engine.jobs.min_nodes[job]
    shape = kept_shape(engine, job, partition)
    # a job that may preempt others can start before any job ends, and a test for GPUs leaves its marks
    may_free = may_preempt(engine, job, partition) or may_suspend(engine, partition)
    may_pass_over = wants_gpus(engine.jobs, job) == 0 and not may_free
    _begin_with(site, scratch, partition, engine.jobs.features[job], now)
    least = least_end(engine, scratch.base, shape, least_nodes) if may_pass_over else now
    time = now
    while True:
        if time > now and len(site.reservation_times) > 0:
            _begin_with(site, scratch, partition, engine.jobs.features[job], now)
        earliest, first_end = narrow_to_reservations(engine, job, limit, time, now)
        if earliest < 0:
            return NEITHER, 0, 0, 0
        begin = max(earliest, now)
        later, left = narrow(plans, scratch.base, scratch.allowed, begin, begin + limit)
        if first_end > 0:
            again = (first_end + step - 1) // step * step + 1
            later = again if later == 0 else min(later, again)
        start, chosen = -1, 0
        if left >= least_nodes:
            scratch.tested[job] = True
            # in most rounds too few of the nodes come free before others may
            is_soon = later > 0 and may_pass_over
            if not is_soon or (later >= least and free_by(engine, shape, later) >= least_nodes):
                start, chosen = earliest_by_limits(engine, job, partition, now)
        if chosen == 0:
            if later == 0 or not plannable:
                return NEITHER, 0, 0, 0
            time = later
            continue
        if start == BY_PREEMPTING and earliest <= now:
            chosen = preempt_for(engine, job, partition, now)
            return _plan(engine, chosen, now, limit)
        is_moved = start < earliest
        start = max(start, earliest)
        if start <= now and _is_completing(scratch, chosen, now):
            start, later = now + 1, 0
        if start <= now:
            return _start_now(engine, job, partition, now, limit)
        if not plannable:
            return NEITHER, 0, 0, 0
        if later > 0 and start > later:
            time = later
            continue
        if start > now + site.settings.window:
            return NEITHER, 0, 0, 0
        if not is_free(plans, scratch.chosen, chosen, start - start % step, start + limit - (start + limit) % step):
            time = start
            continue
        if site.settings.stops_at_limit == 0 and over_limit(engine, job, chosen):
            return NEITHER, 0, 0, 0
        engine.plans.changes[0] += is_moved or _has_idle(engine, chosen, now)
        return _plan(engine, chosen, start, limit)


@referring
def _is_kept_by_limit(engine, job, partition):
    """Whether a limit keeps the job on whatever nodes, and a look for nodes would change nothing. One that could start would take back the
    marks of tests for GPUs, and one with whole nodes weighs more from its first test on."""
    jobs, holds = engine.jobs, engine.jobs.exclusive[job] > 0
    for k in range(jobs.partitions.shape[1]):
        holds = holds or (jobs.partitions[job, k] >= 0 and engine.site.partition_exclusive[jobs.partitions[job, k]] > 0)
    if holds or engine.scratch.marked[0] > 0 or engine.site.settings.stops_at_limit > 0:
        return False
    if may_preempt(engine, job, partition) or may_suspend(engine, partition):
        return False
    return is_over_anywhere(engine, job)


@referring
def _begin_with(site, scratch, partition, features, now):
    """The nodes of the partition that have the features and are not away."""
    nodes, featured = site.partition_nodes[partition], site.feature_nodes[features]
    base, away = scratch.base, scratch.away
    for node in range(len(base)):
        base[node] = nodes[node] & featured[node] & (away[node] <= now)


@referring
def _plan(engine, chosen, start, limit):
    """Nobody else is planned on the chosen nodes from the start to the end, both rounded down, for one step at least."""
    step = engine.site.settings.resolution
    begin = start - start % step
    end = max(start + limit - (start + limit) % step, begin + step)
    take_nodes(engine.plans, engine.scratch.chosen, chosen, begin, end)
    return PLANNED, start, end, chosen


@referring
def _start_now(engine, job, partition, now, limit):
    """Starts the job on nodes that are chosen again, without those that are completing."""
    scratch, step = engine.scratch, engine.site.settings.resolution
    for node in range(len(scratch.allowed)):
        if scratch.completing[node] > now:
            scratch.allowed[node] = False
    reset_weights(engine, partition)
    chosen = choose_above(engine, job, partition)
    if chosen == 0:
        return NEITHER, 0, 0, 0
    if over_limit(engine, job, chosen):
        if engine.site.settings.stops_at_limit > 0:
            return _plan(engine, chosen, now + STOPPED, limit)
        return NEITHER, 0, 0, 0
    begin_job(engine, job, partition, chosen, now)
    engine.plans.changes[0] += 1
    end = now + limit - (now + limit) % step
    if holds_whole_nodes(engine.site, engine.jobs, job, partition):
        take_nodes(engine.plans, scratch.chosen, chosen, engine.plans.window[0], end)
    return STARTED, now, end, chosen


@referring
def _has_idle(engine, chosen, now):
    """Whether nothing runs on one of the chosen nodes."""
    free, scratch = engine.free, engine.scratch
    idle = False
    for k in range(chosen):
        node = scratch.chosen[k]
        idle = idle or (free.jobs[node] == 0 and scratch.completing[node] <= now)
    return idle


@referring
def _is_completing(scratch, chosen, now):
    completing = False
    for k in range(chosen):
        completing = completing or scratch.completing[scratch.chosen[k]] > now
    return completing


@referring_apart
def earliest_by_limits(engine, job, partition, now):
    """When the job fits on the allowed nodes if running jobs end by their limits, and how many nodes it then gets. 0 nodes for never.

    Running jobs are taken away in the order of their ends, a batch at a time. The job starts at the end of the last one of the batch
    that makes room. Jobs that this one may preempt count as gone.
    """
    chosen = choose_above(engine, job, partition)
    if chosen > 0:
        return now, chosen
    shape = kept_shape(engine, job, partition)
    if may_suspend(engine, partition):
        free_above(engine, engine.scratch.trial, partition)
        return _end_running(engine, job, partition, (shape, NOT_GIVEN, True), now)
    if may_preempt(engine, job, partition):
        trial = engine.scratch.trial
        copy_free(engine.free, trial)
        if release_candidates(engine, trial, job, partition, now) > 0:
            chosen = choose_nodes(engine, trial, job, partition)
            if chosen > 0:
                return BY_PREEMPTING, chosen
            return _end_running(engine, job, partition, (shape, NOT_GIVEN, True), now)
    least = least_end(engine, engine.scratch.allowed, shape, engine.jobs.min_nodes[job])
    if least >= FOREVER and wants_gpus(engine.jobs, job) == 0:
        return now, 0
    return _end_running(engine, job, partition, (shape, least, False), now)


@referring
def free_by(engine, shape, time):
    """How many allowed nodes can be used, each by itself, once jobs have ended that do so by this second."""
    allowed, until = engine.scratch.allowed, engine.shapes.until[shape]
    count = 0
    for node in range(len(allowed)):
        count += allowed[node] & (until[node] <= time)
    return count


@referring
def least_end(engine, allowed, shape, nodes):
    """The first end by limit after which so many of the allowed nodes can be used, each by itself."""
    until, values = engine.shapes.until, engine.scratch.taken
    count = 0
    least = np.int64(FOREVER)
    for node in range(len(allowed)):
        if allowed[node] and until[shape, node] < FOREVER:
            least = min(least, until[shape, node])
            values[count] = until[shape, node]
            count += 1
    if count < nodes:
        return np.int64(FOREVER)
    return least if nodes <= 1 else _smallest(values, count, nodes)


@referring
def _smallest(values, count, place):
    """The value that would be at this place, from 1, of the first `count` values in order. Changes their order."""
    low, high = 0, count - 1
    while low < high:
        middle = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] < middle:
                left += 1
            while values[right] > middle:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if place - 1 <= right:
            high = right
        elif place - 1 >= left:
            low = left
        else:
            break
    return values[place - 1]


@referring_apart
def _end_running(engine, job, partition, needed, now):
    """Takes running jobs away until the job fits. needed: its kept shape, the end before which it is sure not to fit, and whether the
    trial lacks jobs that it may preempt, and is to lack those that are taken away."""
    running, released = engine.running, engine.preemption.released
    shape, least, preempts = needed
    base, width, batch = -1, WIDTH, 0
    linear = engine.site.settings.linear_width
    last_end, chosen = now, 0
    for k in range(running.length[0]):
        other = running.job[k]
        if (preempts and released[other]) or not _touches(engine, other):
            continue
        if preempts:
            hold(engine, engine.scratch.trial, other, -1)
        last_end = running.end[other]
        batch += 1
        if base < 0:
            base = (last_end // WIDTH + 1) * WIDTH
        behind = k + 1
        while preempts and behind < running.length[0] and released[running.job[behind]]:
            behind += 1
        if behind < running.length[0]:
            following = running.end[running.job[behind]]
            if following <= base + width and batch < BATCH:
                continue
            if preempts:
                chosen = choose_nodes(engine, engine.scratch.trial, job, partition)
            elif last_end >= least:
                chosen = choose_later(engine, job, partition, shape, other)
            if chosen > 0:
                return _start_after(engine, last_end, now), chosen
            batch = 0
            while following > base + width:
                width = width + linear if linear > 0 else 2 * width
    if batch > 0 and preempts:
        chosen = choose_nodes(engine, engine.scratch.trial, job, partition)
    elif batch > 0:
        chosen = choose_later(engine, job, partition, shape, running.job[running.length[0] - 1])
    return _start_after(engine, last_end, now), chosen


@referring
def _start_after(engine, end, now):
    """The start of a job that waits for another one to end by its limit."""
    if end <= now:
        return max(end + engine.site.settings.kill_wait, now + 1)
    return end


@referring
def _touches(engine, job):
    """Whether a running job has one of the allowed nodes."""
    running, allowed = engine.running, engine.scratch.allowed
    touches = False
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        touches = allowed[running.node[row]]
        if touches:
            break
    return touches
