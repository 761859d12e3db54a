"""A whole replay under Slurm: submissions, ends, passes of the main scheduler and backfill cycles in the order of time.

Rules: docs/reference/slurm.md, "When they run". All times are whole seconds of the log's clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.jobs.cluster import FOREVER
from simulator.slurm.backfill import STARTED, Decisions, WaitingRows, backfill_cycle
from simulator.slurm.fair_tree import decay_of
from simulator.slurm.limits import count_elapsed, count_past
from simulator.slurm.main_pass import main_pass
from simulator.slurm.preemption import CANCEL, REQUEUE_DELAY, group_of
from simulator.slurm.priority import (
    FIRST_BASIC,
    FairShares,
    PriorityRules,
    StaticFactors,
    count_job,
    count_usage,
    job_priority,
)
from simulator.slurm.queue import enqueue, sort_queue
from simulator.slurm.starting import end_earlier, end_job
from simulator.slurm.state import Engine

IntArray = NDArray[np.int64]
ALL = np.int64(1 << 40)
"""Depth of a pass over the full queue."""
(
    FULL_DUE,
    CYCLE_DUE,
    BATCH_DUE,
    LAST_BATCH,
    PERIOD_DUE,
    LAST_PERIOD,
    NEXT_SUBMIT,
    PENDING,
    ENDING,
    EPILOGS,
    LAST_EVENT,
) = range(11)
"""Places in `Replay.clock`: when each scheduler runs next, and how long the lists are."""
_AFTER, _AFTER_ANY, _AFTER_OK, _AFTER_NOT_OK = range(4)


class Replay(NamedTuple):
    """What a replay needs beside the engine."""

    engine: Engine
    waiting: WaitingRows
    decisions: Decisions
    rules: PriorityRules
    statics: StaticFactors
    fair: FairShares
    order: IntArray  # (jobs,), by submission
    position: IntArray  # (jobs,), of each job in it
    runtime: IntArray  # (jobs,)
    epilog: IntArray  # (jobs,), seconds until its nodes can be used again
    next_task: IntArray  # (jobs,), the task behind it in its array
    clock: IntArray  # (11,)
    pending: IntArray  # (rows, 3), jobs that wait, their partitions and their priorities there, in order
    room: IntArray  # (rows, 3), to sort the queue in
    eligible: IntArray  # (jobs,), second from which the job may start, NOT_GIVEN as long as something keeps it
    finished: IntArray  # (jobs,), when it ended, NOT_GIVEN before
    ending: IntArray  # (jobs,), running jobs by their true ends
    epilog_end: IntArray  # (jobs,), ends of epilogs, ascending
    backfilled: NDArray[np.bool_]  # (jobs,)
    preempted: IntArray  # (jobs,), how often


@referring
def run_replay(replay):
    """Runs until all jobs have started that can. Starts are in `engine.running.start`."""
    clock = replay.clock
    settings = replay.engine.site.settings
    while True:
        now = _next_time(replay)
        if now >= FOREVER:
            return
        _end_jobs(replay, now)
        if clock[PERIOD_DUE] <= now:
            _new_priorities(replay, now)
        _submit(replay, now)
        after_epilog = False
        while clock[EPILOGS] > 0 and replay.epilog_end[clock[EPILOGS] - 1] <= now:
            clock[EPILOGS] -= 1
            after_epilog = True
        if after_epilog:
            _pass(replay, settings.depth + 1, now)
        if clock[FULL_DUE] <= now:
            _pass(replay, ALL, now)
            clock[FULL_DUE] += settings.full_interval
            clock[LAST_BATCH] = now
            clock[BATCH_DUE] = FOREVER
        elif clock[BATCH_DUE] <= now:
            _pass(replay, settings.depth + 1, now)
            clock[LAST_BATCH] = now
            clock[BATCH_DUE] = FOREVER
        if clock[CYCLE_DUE] <= now:
            _cycle(replay, now)
            clock[CYCLE_DUE] += settings.interval


@referring
def _next_time(replay):
    """The next second in which something happens. Schedulers that have nobody to start are passed over, in their own rhythm."""
    clock, settings = replay.clock, replay.engine.site.settings
    now = FOREVER
    if clock[NEXT_SUBMIT] < len(replay.order):
        now = replay.engine.jobs.submit[replay.order[clock[NEXT_SUBMIT]]]
    if clock[ENDING] > 0:
        job = replay.ending[clock[ENDING] - 1]
        now = min(now, replay.engine.running.start[job] + replay.runtime[job])
    if clock[EPILOGS] > 0:
        now = min(now, replay.epilog_end[clock[EPILOGS] - 1])
    if clock[PENDING] > 0:
        if now >= FOREVER and not _may_start_later(replay):
            return FOREVER
        return min(min(now, clock[FULL_DUE]), min(clock[CYCLE_DUE], clock[BATCH_DUE]))
    if now < FOREVER:
        clock[FULL_DUE] += _whole_steps(now - clock[FULL_DUE], settings.full_interval)
        clock[CYCLE_DUE] += _whole_steps(now - clock[CYCLE_DUE], settings.interval)
        clock[BATCH_DUE] = FOREVER
    return now


@referring
def _whole_steps(late, step):
    """The seconds to add so that a rhythm is not late."""
    return (late + step - 1) // step * step if late > 0 else 0


@referring
def _may_start_later(replay):
    """When nothing runs and nobody comes: whether a waiting job is kept by a time to come, or the schedulers have yet to run twice."""
    site, jobs, clock = replay.engine.site, replay.engine.jobs, replay.clock
    now = min(clock[FULL_DUE], clock[CYCLE_DUE])
    if now < clock[LAST_EVENT] + 2 * max(site.settings.full_interval, site.settings.interval):
        return True
    for k in range(len(site.reservation_times)):
        if site.reservation_times[k, 1] >= clock[LAST_EVENT]:
            clock[LAST_EVENT] = min(now, site.reservation_times[k, 1] + 1)
            return True
    for k in range(clock[PENDING]):
        if jobs.begin[replay.pending[k, 0]] >= clock[LAST_EVENT]:
            clock[LAST_EVENT] = min(now, jobs.begin[replay.pending[k, 0]] + 1)
            return True
    return False


@referring
def _end_jobs(replay, now):
    """Jobs whose time is over end, and their nodes complete."""
    clock, running = replay.clock, replay.engine.running
    while clock[ENDING] > 0:
        job = replay.ending[clock[ENDING] - 1]
        end = running.start[job] + replay.runtime[job]
        if end > now:
            return
        clock[ENDING] -= 1
        _end_one(replay, job, end)
        replay.finished[job] = end
        clock[LAST_EVENT] = now


@referring_apart
def _end_one(replay, job, end):
    """A running job ends, its use counts, and its nodes complete."""
    clock, running = replay.clock, replay.engine.running
    if clock[LAST_PERIOD] >= 0:
        count_job(replay.engine, replay.rules, replay.fair, job, max(clock[LAST_PERIOD], running.start[job]), end)
    count_past(replay.engine, job, end - running.start[job])
    over = end + replay.epilog[job]
    end_job(replay.engine, job, over)
    replay.engine.preemption.doomed[job] = False
    place = clock[EPILOGS]
    while place > 0 and replay.epilog_end[place - 1] < over:
        replay.epilog_end[place] = replay.epilog_end[place - 1]
        place -= 1
    replay.epilog_end[place] = over
    clock[EPILOGS] += 1


@referring
def _submit(replay, now):
    """Jobs of this second join the queue."""
    clock, jobs = replay.clock, replay.engine.jobs
    while clock[NEXT_SUBMIT] < len(replay.order):
        job = replay.order[clock[NEXT_SUBMIT]]
        if jobs.submit[job] > now:
            return
        replay.eligible[job] = _eligible_from(replay, job, now)
        _join_all(replay, job, now)
        clock[NEXT_SUBMIT] += 1
        clock[LAST_EVENT] = now
        due = max(now, clock[LAST_BATCH] + replay.engine.site.settings.batch_delay)
        clock[BATCH_DUE] = min(clock[BATCH_DUE], due)


@referring
def _priority(replay, job, partition, now):
    if replay.engine.jobs.priority[job] >= 0:
        return replay.engine.jobs.priority[job]
    if replay.engine.site.settings.basic > 0:
        return FIRST_BASIC - replay.position[job]
    since = replay.eligible[job]
    seconds = now - since if since >= 0 else 0
    return job_priority(replay.engine, replay.rules, replay.statics, replay.fair, (job, partition), seconds)


@referring
def _join_all(replay, job, now):
    """The job takes its place in the queue for each of its partitions."""
    partitions = replay.engine.jobs.partitions
    for k in range(partitions.shape[1]):
        if partitions[job, k] >= 0:
            priority = _priority(replay, job, partitions[job, k], now)
            enqueue(replay.engine, replay.pending, replay.clock[PENDING], job, partitions[job, k], priority)
            replay.clock[PENDING] += 1


@referring
def _eligible_from(replay, job, now):
    """The second from which nothing keeps the job, NOT_GIVEN if something does."""
    jobs = replay.engine.jobs
    if jobs.held[job] > 0 or jobs.begin[job] > now:
        return np.int64(NOT_GIVEN)
    for row in range(jobs.first_dependency[job], jobs.first_dependency[job + 1]):
        kind, other = jobs.dependency[row, 0], jobs.dependency[row, 1]
        if kind == _AFTER_NOT_OK:
            return np.int64(NOT_GIVEN)
        done = replay.engine.running.start[other] if kind == _AFTER else replay.finished[other]
        if done < 0:
            return np.int64(NOT_GIVEN)
    return max(now, jobs.submit[job])


@referring
def _new_priorities(replay, now):
    """Once a period all priorities are recomputed, and the queue is sorted."""
    clock, pending = replay.clock, replay.pending
    count_usage(replay.engine, replay.rules, replay.fair, clock[LAST_PERIOD], now)
    left = decay_of(now - clock[LAST_PERIOD], replay.rules.half_life)
    for slot in range(len(replay.engine.limits.past)):
        replay.engine.limits.past[slot] *= left
    count_elapsed(replay.engine, now)
    clock[LAST_PERIOD] = now
    clock[PERIOD_DUE] = now + replay.rules.period
    for k in range(clock[PENDING]):
        job, partition = pending[k, 0], pending[k, 1]
        if replay.engine.site.settings.basic == 0:
            pending[k, 2] = _priority(replay, job, partition, now)
    sort_queue(replay.engine, pending, clock[PENDING], replay.room)


@referring
def _fill_waiting(replay, now):
    """The rows that a scheduler looks at: eligible jobs, and of an array its first task that waits."""
    waiting, jobs, clock = replay.waiting, replay.engine.jobs, replay.clock
    count = 0
    for k in range(clock[PENDING]):
        job, partition = replay.pending[k, 0], replay.pending[k, 1]
        if replay.eligible[job] < 0:
            replay.eligible[job] = _eligible_from(replay, job, now)
        if replay.eligible[job] < 0:
            continue
        if count > 0 and jobs.array[job] >= 0:
            before = waiting.job[count - 1]
            if jobs.array[before] == jobs.array[job] and waiting.partition[count - 1] == partition:
                continue
        waiting.job[count] = job
        waiting.partition[count] = partition
        count += 1
    waiting.length[0] = count


@referring
def _pass(replay, depth, now):
    if replay.clock[PENDING] == 0:
        return
    _fill_waiting(replay, now)
    if main_pass(replay.engine, replay.waiting, depth, now) > 0:
        _leave_queue(replay, now, False)
    _end_victims(replay, now)


@referring
def _cycle(replay, now):
    if replay.clock[PENDING] == 0 or replay.engine.site.settings.backfills == 0:
        return
    _fill_waiting(replay, now)
    backfill_cycle(replay.engine, replay.waiting, replay.decisions, now)
    for k in range(replay.decisions.length[0]):
        if replay.decisions.kind[k] == STARTED:
            _leave_queue(replay, now, True)
            break
    _end_victims(replay, now)


@referring
def _leave_queue(replay, now, by_backfill):
    """Jobs that have started leave the queue, and their ends are noted."""
    clock, pending, running = replay.clock, replay.pending, replay.engine.running
    kept = 0
    for k in range(clock[PENDING]):
        job = pending[k, 0]
        if running.start[job] < 0:
            for column in range(pending.shape[1]):
                pending[kept, column] = pending[k, column]
            kept += 1
        elif running.partition[job] == pending[k, 1]:
            replay.backfilled[job] = by_backfill
            _note_end(replay, job)
    clock[PENDING] = kept


@referring
def _note_end(replay, job):
    """The job joins those that run, by their true ends."""
    clock, end = replay.clock, _true_end(replay, job)
    place = clock[ENDING]
    while place > 0 and _true_end(replay, replay.ending[place - 1]) < end:
        replay.ending[place] = replay.ending[place - 1]
        place -= 1
    replay.ending[place] = job
    clock[ENDING] += 1


@referring
def _end_victims(replay, now):
    """Jobs that were preempted end. Those that are requeued may start again after a delay, and run for their whole time."""
    rules, clock, running = replay.engine.preemption, replay.clock, replay.engine.running
    for k in range(rules.length[0]):
        job = rules.victims[k]
        place = 0
        while replay.ending[place] != job:
            place += 1
        for other in range(place, clock[ENDING] - 1):
            replay.ending[other] = replay.ending[other + 1]
        clock[ENDING] -= 1
        group = group_of(replay.engine, job)
        replay.preempted[job] += 1
        if rules.mode[group] == CANCEL:
            end = min(_true_end(replay, job), now + rules.grace_s[group])
            replay.runtime[job] = end - running.start[job]
            end_earlier(replay.engine, job, now + rules.grace_s[group])
            _note_end(replay, job)
        else:
            _end_one(replay, job, now)
            running.start[job] = NOT_GIVEN
            replay.engine.jobs.begin[job] = now + REQUEUE_DELAY
            replay.eligible[job] = NOT_GIVEN
            _join_all(replay, job, now)
    rules.length[0] = 0


@referring
def _true_end(replay, job):
    return replay.engine.running.start[job] + replay.runtime[job]
