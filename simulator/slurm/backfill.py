"""The backfill cycle: every waiting job down to a depth is started now, planned for later, or neither. Rules: docs/reference/slurm.md.

It is neither EASY nor conservative backfilling: every job has a plan, but all plans are recomputed in every cycle, from the limits of
the running jobs and in whole nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled
from simulator.slurm.limits import lacks_licences, over_limit, too_many_jobs
from simulator.slurm.preemption import preempt_for, release_candidates
from simulator.slurm.reservations import narrow_to_reservations
from simulator.slurm.selection import choose_nodes, holds_whole_nodes, reset_weights
from simulator.slurm.slices import begin_slices, is_free, narrow, take_nodes
from simulator.slurm.starting import begin_job, hold, job_limit

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


class WaitingRows(NamedTuple):
    """The queue of a cycle, in order. next_task: the next waiting task of a job's array, NOT_GIVEN for none.
    user_tests, partition_tests: room for counts."""

    length: NDArray[np.int64]  # (1,)
    job: NDArray[np.int64]  # (rows,)
    partition: NDArray[np.int64]  # (rows,)
    delay: NDArray[np.int64]  # (rows,), seconds that the cycle takes to come to the job
    next_task: NDArray[np.int64]  # (jobs,)
    user_tests: NDArray[np.int64]  # (users,)
    partition_tests: NDArray[np.int64]  # (partitions,)


@compiled
def backfill_cycle(engine, waiting, decisions, now):
    """Runs one cycle over the queue at second `now`. Jobs that start are running afterwards. Returns how many jobs it tested."""
    settings, jobs = engine.site.settings, engine.jobs
    begin_slices(engine.slices, now, settings)
    decisions.length[0] = 0
    waiting.user_tests[:] = 0
    waiting.partition_tests[:] = 0
    tests = 0
    for row in range(waiting.length[0]):
        job, partition = waiting.job[row], waiting.partition[row]
        if engine.running.start[job] >= 0:
            continue
        waiting.user_tests[jobs.user[job]] += 1
        waiting.partition_tests[partition] += 1
        if 0 < settings.user_jobs < waiting.user_tests[jobs.user[job]]:
            continue
        if 0 < settings.partition_jobs < waiting.partition_tests[partition]:
            continue
        plans = 0
        while job >= 0:
            if tests >= settings.job_tests:
                return tests
            limit = jobs.array_limit[job]
            if limit > 0 and engine.running.array_running[jobs.array[job]] >= limit:
                break
            if too_many_jobs(engine, job):
                break
            tests += 1
            is_full = engine.slices.rows[0] >= settings.table_rows
            kind = consider(engine, decisions, job, partition, now + waiting.delay[row])
            if kind == NEITHER:
                break
            if kind == PLANNED:
                if is_full:
                    return tests
                plans += 1
            job = waiting.next_task[job]
            if plans >= settings.array_plans:
                break
    return tests


@compiled
def consider(engine, decisions, job, partition, now):
    """Starts one job, or plans it. Returns STARTED, PLANNED or NEITHER, which is also noted."""
    kind, start, end, chosen = _place(engine, job, partition, now)
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


@compiled
def _place(engine, job, partition, now):
    """What becomes of the job, when it starts, when its plan ends, and on how many nodes."""
    site, scratch, slices = engine.site, engine.scratch, engine.slices
    limit = job_limit(engine, job, partition)
    step = site.settings.resolution
    if lacks_licences(engine, job):
        return NEITHER, 0, 0, 0
    time = now
    while True:
        for node in range(len(scratch.base)):
            scratch.base[node] = (
                site.partition_nodes[partition, node] and site.feature_nodes[engine.jobs.features[job], node]
            )
        earliest, first_end = narrow_to_reservations(engine, job, limit, time, now)
        if earliest < 0:
            return NEITHER, 0, 0, 0
        later = narrow(slices, scratch.base, scratch.allowed, max(earliest, now), max(earliest, now) + limit)
        if first_end > 0:
            again = (first_end + step - 1) // step * step + 1
            later = again if later == 0 else min(later, again)
        start, chosen = -1, 0
        if scratch.allowed.sum() >= engine.jobs.min_nodes[job]:
            start, chosen = earliest_by_limits(engine, job, partition, now)
        if chosen == 0:
            if later == 0:
                return NEITHER, 0, 0, 0
            time = later
            continue
        if start == BY_PREEMPTING and earliest <= now:
            chosen = preempt_for(engine, job, partition, now)
            return _plan(engine, chosen, now, limit)
        start = max(start, earliest)
        if start <= now and _is_completing(scratch, chosen, now):
            start, later = now + 1, 0
        if start <= now:
            return _start_now(engine, job, partition, now, limit)
        if later > 0 and start > later:
            time = later
            continue
        begin = start - start % step
        end = start + limit - (start + limit) % step
        if start > now + site.settings.window:
            return NEITHER, 0, 0, 0
        if not is_free(slices, scratch.chosen, chosen, begin, end):
            time = start
            continue
        if site.settings.stops_at_limit == 0 and over_limit(engine, job, chosen):
            return NEITHER, 0, 0, 0
        return _plan(engine, chosen, start, limit)


@compiled
def _plan(engine, chosen, start, limit):
    """Nobody else is planned on the chosen nodes from the start to the end, both rounded down, for one step at least."""
    step = engine.site.settings.resolution
    begin = start - start % step
    end = max(start + limit - (start + limit) % step, begin + step)
    take_nodes(engine.slices, engine.scratch.chosen, chosen, begin, end)
    return PLANNED, start, end, chosen


@compiled
def _start_now(engine, job, partition, now, limit):
    """Starts the job on nodes that are chosen again, without those that are completing."""
    scratch, step = engine.scratch, engine.site.settings.resolution
    for node in range(len(scratch.allowed)):
        if scratch.completing[node] > now:
            scratch.allowed[node] = False
    reset_weights(engine, partition)
    chosen = choose_nodes(engine, engine.free, job, partition)
    if chosen == 0:
        return NEITHER, 0, 0, 0
    if over_limit(engine, job, chosen):
        if engine.site.settings.stops_at_limit > 0:
            return _plan(engine, chosen, now + STOPPED, limit)
        return NEITHER, 0, 0, 0
    begin_job(engine, job, partition, chosen, now)
    end = now + limit - (now + limit) % step
    if holds_whole_nodes(engine.site, engine.jobs, job, partition):
        take_nodes(engine.slices, scratch.chosen, chosen, engine.slices.begin[0], end)
    return STARTED, now, end, chosen


@compiled
def _is_completing(scratch, chosen, now):
    completing = False
    for k in range(chosen):
        completing = completing or scratch.completing[scratch.chosen[k]] > now
    return completing


@compiled
def earliest_by_limits(engine, job, partition, now):
    """When the job fits on the allowed nodes if running jobs end by their limits, and how many nodes it then gets. 0 nodes for never.

    Running jobs are taken away in the order of their ends, a batch at a time. The job starts at the end of the last one of the batch
    that makes room. Jobs that this one may preempt count as gone.
    """
    running = engine.running
    chosen = choose_nodes(engine, engine.free, job, partition)
    if chosen > 0:
        return now, chosen
    trial = engine.scratch.trial
    copy_free(engine.free, trial)
    if release_candidates(engine, trial, job, partition, now) > 0:
        chosen = choose_nodes(engine, trial, job, partition)
        if chosen > 0:
            return BY_PREEMPTING, chosen
    base, width, batch = -1, WIDTH, 0
    last_end = now
    released = engine.preemption.released
    preempts = engine.preemption.kind[0] > 0
    for k in range(running.length[0]):
        other = running.job[k]
        if (not preempts or not released[other]) and _touches(engine, other):
            hold(engine, trial, other, -1)
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
                chosen = choose_nodes(engine, trial, job, partition)
                if chosen > 0:
                    return _start_after(engine, last_end, now), chosen
                batch = 0
                while following > base + width:
                    width *= 2
    if batch > 0:
        chosen = choose_nodes(engine, trial, job, partition)
    return _start_after(engine, last_end, now), chosen


@compiled
def _start_after(engine, end, now):
    """The start of a job that waits for another one to end by its limit."""
    if end <= now:
        return max(end + engine.site.settings.kill_wait, now + 1)
    return end


@compiled
def _touches(engine, job):
    """Whether a running job has one of the allowed nodes."""
    running = engine.running
    touches = False
    for row in range(running.first[job], running.first[job] + running.nodes[job]):
        touches = touches or engine.scratch.allowed[running.node[row]]
    return touches


@compiled
def copy_free(free, trial):
    """Copies what is free."""
    trial.cpus[:] = free.cpus
    trial.memory[:] = free.memory
    trial.gpus[:] = free.gpus
    trial.jobs[:] = free.jobs
    trial.whole[:] = free.whole
    trial.licences[:] = free.licences
