"""A whole replay under Slurm: submissions, ends, passes of the main scheduler and backfill cycles in the order of time.

Rules: docs/reference/slurm.md, "When they run". All times are whole seconds of the log's clock.
"""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.jobs.cluster import FOREVER
from simulator.jobs.jobs import NEVER
from simulator.slurm.backfill import begin_cycle, cycle_down
from simulator.slurm.changes import (
    may_start_later,
    next_run,
    note_ended,
    pass_edges,
    purge_due,
    purge_ended,
    runs_scheduler,
    tests_before_break,
    wake,
    whole_steps,
)
from simulator.slurm.clockwork import (
    ALL_DONE,
    ASLEEP,
    BATCH_DUE,
    BEGIN,
    CYCLE_DUE,
    CYCLE_US,
    ENDING,
    EPILOGS,
    FULL_DUE,
    HAS_STOPPED,
    LAST_BATCH,
    LAST_CHANGE,
    LAST_EVENT,
    LAST_PERIOD,
    MILLION,
    NEVER_STOPS,
    NEXT_ABSENCE,
    NEXT_EDGE,
    NEXT_SUBMIT,
    NODES_FREED,
    NOW,
    PENDING,
    PERIOD_DUE,
    STOPS,
    STOPS_TO_ORDER,
    STOPS_TO_SCORE,
    UNSCORED,
    WANT_ORDER,
)
from simulator.slurm.limits import count_elapsed, count_past, count_submitted
from simulator.slurm.main_pass import begin_pass, pass_down
from simulator.slurm.nodes.suspended import CANCEL, REQUEUE, SUSPEND, may_resume
from simulator.slurm.preemption import REQUEUE_DELAY, group_of
from simulator.slurm.priority import count_job, count_usage, decay_of
from simulator.slurm.queue import begin_rows, count_queued, drop_rows, fill_rows, sort_queue
from simulator.slurm.rows import STARTS, TESTS
from simulator.slurm.starting import end_earlier, end_job, leave_node, move_end
from simulator.slurm.submission import (
    give_up,
    leave_for_good,
    priority_in,
    queue_up,
    take_submissions,
    time_to_give_up,
)

ALL = np.int64(1 << 40)
"""Depth of a pass over the full queue."""


@referring_apart
def run_replay(replay):
    """Runs until all jobs have started that can, and returns ALL_DONE. Starts are in `engine.running.start`.

    Where the clock STOPS_TO_ORDER, it also stops before schedulers run, and returns WANT_ORDER. Then the caller may change the
    priorities of `pending`, puts its rows in order, and calls again. Where it STOPS_TO_LEARN, it stops as well, and the caller may
    change what jobs are planned for. Where it STOPS_TO_SCORE, it does so when jobs have come that have no priority."""
    clock = replay.clock
    while True:
        if clock[STOPS] < HAS_STOPPED:
            now = _next_time(replay)
            if now >= FOREVER:
                return ALL_DONE
            _take_events(replay, now)
            if _stops(clock, now):
                clock[STOPS] += HAS_STOPPED
                return WANT_ORDER
        else:
            clock[STOPS] -= HAS_STOPPED
        _run_schedulers(replay, clock[NOW])


@referring
def _stops(clock, now):
    if clock[STOPS] == NEVER_STOPS:
        return False
    if clock[STOPS] == STOPS_TO_SCORE:
        return clock[UNSCORED] > 0
    return clock[PENDING] > 0 and runs_scheduler(clock, now)


@referring
def _take_events(replay, now):
    """Jobs end, nodes go, reservations begin and end, priorities are recomputed, users give up, jobs are submitted, and epilogs end."""
    clock = replay.clock
    clock[NOW] = now
    end_finished(replay, now)
    _lose_nodes(replay, now)
    begin = pass_edges(replay, now)
    if clock[PERIOD_DUE] <= now:
        renew_priorities(replay, now)
    give_up(replay, now)
    take_submissions(replay, now)
    epilogs = clock[EPILOGS]
    while clock[EPILOGS] > 0 and replay.epilog_end[clock[EPILOGS] - 1] <= now:
        clock[EPILOGS] -= 1
    clock[NODES_FREED] = int(clock[EPILOGS] < epilogs or begin > 0)


@referring
def _run_schedulers(replay, now):
    """The main scheduler after an epilog or the begin of a reservation, then the one that is due by time, then a backfill cycle."""
    clock, settings = replay.clock, replay.engine.site.settings
    if clock[NODES_FREED] > 0:
        wake(replay, now)
        _resume_all(replay, now)
        _pass(replay, settings.depth + 1, now)
    is_full = clock[FULL_DUE] <= now
    if is_full or clock[BATCH_DUE] <= now:
        _pass(replay, ALL if is_full else settings.depth + 1, now)
        clock[LAST_BATCH] = now
        clock[BATCH_DUE] = FOREVER
    if is_full:
        clock[FULL_DUE] += settings.full_interval
        purge_ended(replay, now)
    if clock[CYCLE_DUE] <= now and clock[ASLEEP] == 0:
        _cycle(replay, now)


@referring
def _next_time(replay):
    """The next second in which something happens. Passes that have nobody to start are left out, in their own rhythm."""
    clock, settings, absences = replay.clock, replay.engine.site.settings, replay.engine.site.absences
    now = np.int64(FOREVER)
    if clock[NEXT_SUBMIT] < len(replay.order):
        now = max(replay.engine.jobs.submit[replay.order[clock[NEXT_SUBMIT]]], clock[BEGIN])
    if clock[ENDING] > 0:
        job = replay.ending[clock[ENDING] - 1]
        now = min(now, replay.engine.running.start[job] + replay.runtime[job])
    if clock[EPILOGS] > 0:
        now = min(now, replay.epilog_end[clock[EPILOGS] - 1])
    now = min(now, time_to_give_up(replay))
    if clock[NEXT_ABSENCE] < len(absences) and (now < FOREVER or clock[PENDING] > 0):
        now = min(now, absences[clock[NEXT_ABSENCE], 0])
    if clock[PENDING] > 0:
        if now >= FOREVER and not may_start_later(replay):
            return FOREVER
        if clock[NEXT_EDGE] < len(replay.edges):
            now = min(now, replay.edges[clock[NEXT_EDGE], 0])
        now = min(now, clock[PERIOD_DUE])
        return min(min(now, next_run(clock)), clock[BATCH_DUE])
    if now < FOREVER:
        now = min(now, purge_due(replay))
        clock[FULL_DUE] += whole_steps(now - clock[FULL_DUE], settings.full_interval)
        clock[BATCH_DUE] = FOREVER
        if clock[ASLEEP] == 0 and clock[CYCLE_DUE] < now:
            clock[CYCLE_DUE] += settings.interval  # a cycle with nobody to start
            clock[ASLEEP] = 1
    return now


@referring
def end_finished(replay, now):
    """Jobs whose time is over end, and their nodes complete."""
    clock, running = replay.clock, replay.engine.running
    while clock[ENDING] > 0:
        job = replay.ending[clock[ENDING] - 1]
        end = running.start[job] + replay.runtime[job]
        if end > now:
            return
        clock[ENDING] -= 1
        _end_one(replay, job, end)
        count_submitted(replay.engine, job, -1)
        replay.finished[job] = end
        leave_for_good(replay, job, end)
        note_ended(replay, now)
        clock[LAST_EVENT] = now
        wake(replay, now)


@referring
def _lose_nodes(replay, now):
    """Nodes go down or are drained. Jobs on a node that is down wait again, or have failed."""
    clock, absences = replay.clock, replay.engine.site.absences
    while clock[NEXT_ABSENCE] < len(absences) and absences[clock[NEXT_ABSENCE], 0] <= now:
        leave_node(replay.engine, absences[clock[NEXT_ABSENCE]])
        clock[NEXT_ABSENCE] += 1
        _end_victims(replay, now, CANCEL if replay.engine.site.settings.requeues == 0 else REQUEUE, 0)
        wake(replay, now)


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
def renew_priorities(replay, now):
    """Once a period all priorities are recomputed, and the queue is sorted, unless somebody else orders it."""
    clock, pending = replay.clock, replay.pending
    count_usage(replay.engine, replay.rules, replay.fair, clock[LAST_PERIOD], now)
    left = decay_of(now - clock[LAST_PERIOD], replay.rules.half_life)
    for slot in range(len(replay.engine.limits.past)):
        replay.engine.limits.past[slot] *= left
    count_elapsed(replay.engine, now)
    clock[LAST_PERIOD] = now
    clock[PERIOD_DUE] = now + replay.rules.period
    if clock[STOPS] == STOPS_TO_ORDER:
        wake(replay, now)
        return
    for k in range(clock[PENDING]):
        job, partition = pending[k, 0], pending[k, 1]
        if replay.engine.site.settings.basic == 0:
            priority = priority_in(replay, job, partition, now)
            if replay.rules.only_rises > 0:
                priority = max(priority, pending[k, 2])
            if priority != pending[k, 2]:
                pending[k, 2] = priority
                clock[LAST_CHANGE] = now
    if clock[LAST_CHANGE] == now:
        wake(replay, now)
    sort_queue(replay.engine, pending, clock[PENDING], replay.room)


@referring
def _pass(replay, depth, now):
    if replay.clock[PENDING] == 0:
        return
    engine, waiting = replay.engine, replay.waiting
    if begin_rows(replay, now) > 0:
        wake(replay, now)
    begin_pass(engine, waiting)
    while fill_rows(replay, now) and pass_down(engine, waiting, depth, now):
        pass
    if waiting.walk[STARTS] > 0:
        take_started(replay, now, False)
        wake(replay, now)
    _end_victims(replay, now, NOT_GIVEN, NOT_GIVEN)


@referring
def _cycle(replay, now):
    """A cycle, after whose end the interval to the next one begins. After one that changes nothing backfill waits for a change."""
    clock, settings, waiting, decisions = replay.clock, replay.engine.site.settings, replay.waiting, replay.decisions
    clock[CYCLE_DUE] = now + settings.interval
    if clock[PENDING] == 0 or settings.backfills == 0:
        clock[ASLEEP] = 1
        return
    begin_rows(replay, now)
    waiting.most_tests[0] = tests_before_break(replay, now)
    begin_cycle(replay.engine, waiting, decisions, now)
    while fill_rows(replay, now) and cycle_down(replay.engine, waiting, decisions, now):
        pass
    spent = waiting.walk[TESTS] * replay.test_us
    spent += spent // settings.yield_us * settings.sleep_us + clock[CYCLE_US]
    clock[CYCLE_DUE] += spent // MILLION
    clock[CYCLE_US] = spent % MILLION
    has_changed = replay.engine.plans.changes[0] > 0 or clock[LAST_CHANGE] >= now + spent // MILLION
    clock[ASLEEP] = int(not has_changed)
    if waiting.walk[STARTS] > 0:
        take_started(replay, now, True)
    _end_victims(replay, now, NOT_GIVEN, NOT_GIVEN)


@referring
def take_started(replay, now, by_backfill):
    """Jobs that have started leave the queue, and their ends are noted."""
    clock, pending, running = replay.clock, replay.pending, replay.engine.running
    place, kept = 0, 0
    while place < clock[PENDING] and running.to_leave[0] > 0:
        job, partition = pending[place, 0], pending[place, 1]
        if running.start[job] < 0:
            for column in range(pending.shape[1]):
                pending[kept, column] = pending[place, column]
            kept += 1
        else:
            running.to_leave[0] -= 1
            count_queued(replay, job, partition, -1)
            if running.partition[job] == partition:
                replay.backfilled[job] = by_backfill
                note_end(replay, job)
        place += 1
    running.to_leave[0] = 0
    drop_rows(replay, place, kept)


@referring
def note_end(replay, job):
    """The job joins those that run, by their true ends."""
    clock, end = replay.clock, _true_end(replay, job)
    place = clock[ENDING]
    while place > 0 and _true_end(replay, replay.ending[place - 1]) < end:
        replay.ending[place] = replay.ending[place - 1]
        place -= 1
    replay.ending[place] = job
    clock[ENDING] += 1


@referring
def _forget_end(replay, job):
    """The job leaves the list of true ends, on which a suspended one is not."""
    rules, clock = replay.engine.preemption, replay.clock
    if rules.suspended[job] >= 0:
        rules.suspended[job] = NOT_GIVEN
        rules.num_suspended[0] -= 1
        return
    place = 0
    while replay.ending[place] != job:
        place += 1
    for other in range(place, clock[ENDING] - 1):
        replay.ending[other] = replay.ending[other + 1]
    clock[ENDING] -= 1


@referring
def _end_victims(replay, now, mode, grace_s):
    """Jobs that were preempted end. Those that are requeued may start again after a delay, and run for their whole time. mode, grace_s:
    NOT_GIVEN for those of the job's group."""
    rules, running = replay.engine.preemption, replay.engine.running
    for k in range(rules.length[0]):
        job = rules.victims[k]
        _forget_end(replay, job)
        group = group_of(replay.engine, job)
        replay.preempted[job] += 1
        grace = rules.grace_s[group] if grace_s < 0 else grace_s
        end_by = rules.mode[group] if mode < 0 else mode
        if end_by == SUSPEND:
            rules.suspended[job] = now
            rules.num_suspended[0] += 1
        elif end_by == CANCEL:
            end = min(_true_end(replay, job), now + grace)
            replay.runtime[job] = end - running.start[job]
            end_earlier(replay.engine, job, now + grace)
            note_end(replay, job)
        else:
            _end_one(replay, job, now)
            running.start[job] = NOT_GIVEN
            replay.engine.jobs.begin[job] = now + REQUEUE_DELAY
            replay.eligible[job] = NOT_GIVEN
            replay.giving.patience[job] = NEVER
            queue_up(replay, job, now)
    rules.length[0] = 0


@referring
def _resume_all(replay, now):
    """Suspended jobs go on where those that they were suspended for have ended, the first that began before others. They end later by the
    time for which they were suspended."""
    rules, running = replay.engine.preemption, replay.engine.running
    job = np.int64(0)
    while rules.num_suspended[0] > 0 and job >= 0:
        job = np.int64(NOT_GIVEN)
        for k in range(running.length[0]):
            other = running.job[k]
            if rules.suspended[other] >= 0 and (job < 0 or running.start[other] < running.start[job]):
                job = other if may_resume(replay.engine, other) else job
        if job >= 0:
            seconds = now - rules.suspended[job]
            replay.runtime[job] += seconds
            move_end(replay.engine, job, running.end[job] + seconds)
            rules.suspended[job] = NOT_GIVEN
            rules.doomed[job] = False
            rules.num_suspended[0] -= 1
            note_end(replay, job)


@referring
def _true_end(replay, job):
    return replay.engine.running.start[job] + replay.runtime[job]
