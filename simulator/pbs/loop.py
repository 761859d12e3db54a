"""The clock of a replay: ends, submissions and reservations in the order of time, and a pass after each. Rules: docs/reference/pbs.md,
"When passes come". All times are whole seconds of the log's clock."""

from __future__ import annotations

from simulator.compiled import referring
from simulator.jobs.cluster import FOREVER
from simulator.jobs.jobs import NEVER
from simulator.pbs.coming import call_followers_of, drop_impatient, next_impatient, release_jobs, submit_next
from simulator.pbs.cycle import run_pass
from simulator.pbs.occurrences import leave_windows, next_opening
from simulator.pbs.queueing import count_running
from simulator.pbs.settings import DELETED
from simulator.pbs.starting import end_pbs_job, expect_end
from simulator.pbs.state import (
    ALL_DONE,
    BEGINS,
    ENDING,
    EVENTS,
    HELD,
    IDLE,
    IS_QUIET,
    KEPT,
    KEPT_S,
    LAST_PASS,
    NEXT_SUBMIT,
    NOW,
    OVER,
    RELEASES,
    SECOND_OVER,
    STAGE,
    STILL_RUNS,
    STOPS,
    UNSET,
    WANT_PLANNED,
)


@referring
def run_pbs(replay):
    """Runs until all jobs have started that can, and returns ALL_DONE. Starts are in `first_start`.

    Where the clock STOPS, it also stops before a pass over a queue, and returns WANT_PLANNED. Then the caller may change what waiting jobs
    are planned for, and calls again."""
    clock, queue = replay.clock, replay.engine.waiting
    if clock[STOPS] > 0 and clock[STAGE] != SECOND_OVER and clock[IS_QUIET] == 0:  # it has stopped before this pass
        _pass(replay, clock[NOW])
    while _reach_pass(replay):
        if clock[STOPS] > 0 and queue.length[0] > 0:
            return WANT_PLANNED
        _pass(replay, clock[NOW])
    return ALL_DONE


@referring
def _reach_pass(replay):
    """Takes events until a pass is due, which is of the second NOW. Returns whether one is: else nothing is to come."""
    clock = replay.clock
    while True:
        if clock[STAGE] == SECOND_OVER:
            clock[NOW] = _next_time(replay)
            if clock[NOW] >= FOREVER:
                return False
            clock[STAGE], clock[IS_QUIET] = EVENTS, 1
            drop_impatient(replay, clock[NOW])
        now = clock[NOW]
        if clock[STAGE] == EVENTS:
            if _take_turn(replay, now):
                clock[IS_QUIET] = 0
                return True
            clock[STAGE] = RELEASES
        if clock[STAGE] == RELEASES:
            clock[STAGE] = IDLE
            if clock[HELD] > 0 and release_jobs(replay, now) > 0:
                clock[IS_QUIET] = 0
                return True
        if clock[IS_QUIET] > 0 and _is_pass_due(replay, now):
            clock[IS_QUIET] = 0
            return True
        leave_windows(replay.engine.site, now)
        clock[STAGE] = SECOND_OVER


@referring
def _take_turn(replay, now):
    """Takes the next events of this second that have one pass. Returns whether there were some."""
    while True:
        turn = _next_turn(replay, now)
        if _is_end_next(replay, now):
            _end_next(replay)
            release_jobs(replay, now)
        elif change_reservation(replay, now):
            turn = UNSET
        else:
            joined = submit_next(replay, now)
            if joined < 0:
                return False
            if joined == 0:
                continue
        if turn == UNSET or turn != _next_turn(replay, now):
            return True


@referring
def _is_pass_due(replay, now):
    """Whether hours begin, or no pass has come for long."""
    clock, engine = replay.clock, replay.engine
    opens = len(engine.site.windows) > 0 and next_opening(engine.site, clock[LAST_PASS], now + 1) <= now
    return opens or now >= clock[LAST_PASS] + engine.settings.iteration


@referring
def _next_time(replay):
    """The next second in which something happens, or a pass is due because none has come for long."""
    clock, engine = replay.clock, replay.engine
    now = FOREVER
    if clock[NEXT_SUBMIT] < len(replay.order):
        now = replay.arrival[replay.order[clock[NEXT_SUBMIT]]]
    if clock[ENDING] > 0:
        now = min(now, _true_end(replay, replay.ending[clock[ENDING] - 1]))
    for k in range(engine.site.reservation_first[0], len(replay.reservation_due)):
        now = min(now, replay.reservation_due[k])
    now = min(now, next_impatient(replay))
    if engine.waiting.length[0] > 0:
        now = next_opening(engine.site, clock[LAST_PASS], now)
    counts_usage = engine.settings.fair_share > 0 and clock[ENDING] > 0
    if now < FOREVER and (engine.waiting.length[0] > 0 or counts_usage):
        now = min(now, clock[LAST_PASS] + engine.settings.iteration)
    return now


@referring
def _true_end(replay, job):
    return replay.engine.running.start[job] + replay.runtime[job]


@referring
def _is_end_next(replay, now):
    """Whether the next event of this second is the end of a job, and not a submission that has an earlier turn."""
    clock = replay.clock
    if clock[ENDING] == 0:
        return False
    job = replay.ending[clock[ENDING] - 1]
    if _true_end(replay, job) > now:
        return False
    if clock[NEXT_SUBMIT] == len(replay.order):
        return True
    coming = replay.order[clock[NEXT_SUBMIT]]
    return replay.arrival[coming] > now or replay.end_turn[job] <= replay.submit_turn[coming]


@referring
def _next_turn(replay, now):
    """The turn of the next end or submission of this second, UNSET where none is to come. Those of the same turn have one pass."""
    clock = replay.clock
    if _is_end_next(replay, now):
        return replay.end_turn[replay.ending[clock[ENDING] - 1]]
    if clock[NEXT_SUBMIT] < len(replay.order) and replay.arrival[replay.order[clock[NEXT_SUBMIT]]] <= now:
        return replay.submit_turn[replay.order[clock[NEXT_SUBMIT]]]
    return UNSET


@referring
def _end_next(replay):
    """The next job whose time is over ends."""
    clock = replay.clock
    clock[ENDING] -= 1
    job = replay.ending[clock[ENDING]]
    replay.finished[job] = _true_end(replay, job)
    end_pbs_job(replay.engine, job)
    call_followers_of(replay, job, replay.finished[job])


@referring
def change_reservation(replay, now):
    """The next reservation that is announced, begins or ends in this second is. Its jobs end with it, and its nodes are free some time
    later.

    Returns whether there was one."""
    engine = replay.engine
    times, state, due = engine.site.reservation_times, replay.reservation_state, replay.reservation_due
    first = engine.site.reservation_first
    while first[0] < len(state) and state[first[0]] > 2 and due[first[0]] == FOREVER:
        first[0] += 1
    for k in range(first[0], len(state)):
        if due[k] > now:
            continue
        state[k] += 1
        if state[k] == 1:
            due[k] = times[k, BEGINS]
        elif state[k] == 2:
            due[k] = times[k, OVER]
        elif state[k] == 3:
            _forget_jobs_of(replay, k, now)
            due[k] = now + KEPT_S if _end_jobs_of(replay, k, now) > 0 else FOREVER
            times[k, KEPT] = due[k] if due[k] < FOREVER else 0
        else:
            due[k] = FOREVER
        return True
    return False


@referring
def _forget_jobs_of(replay, reservation, now):
    """Jobs that wait for a reservation that is over are deleted, unless it comes again."""
    engine, queue, kept = replay.engine, replay.engine.waiting, 0
    group = engine.site.reservation_group
    for later in range(reservation + 1, len(group)):
        if group[later] == group[reservation]:
            return
    for k in range(queue.length[0]):
        job = queue.pending[k]
        if engine.asks.reservation[engine.jobs.ask[job]] != group[reservation]:
            queue.pending[kept] = job
            kept += 1
        else:
            replay.giving.patience[job] = NEVER
            call_followers_of(replay, job, now)
    queue.length[0] = kept


@referring
def _end_jobs_of(replay, reservation, now):
    """Jobs of a reservation that is over end now. Returns how many."""
    engine, clock = replay.engine, replay.clock
    count = 0
    for k in range(clock[ENDING]):
        job = replay.ending[k]
        own = engine.asks.reservation[engine.jobs.ask[job]]
        if own >= 0 and own == engine.site.reservation_group[reservation] and _true_end(replay, job) > now:
            replay.runtime[job] = now - engine.running.start[job]
            count += 1
    if count > 0:
        _sort_ending(replay)
    return count


@referring
def _pass(replay, now):
    """A pass, after which those that it has started are on the list of ends."""
    engine, clock = replay.engine, replay.clock
    clock[LAST_PASS] = now
    if engine.waiting.length[0] == 0:
        if engine.settings.fair_share > 0:
            count_running(engine, now)
        return
    if run_pass(engine, now) > 0:
        if engine.victims.length[0] > 0:
            _stop_victims(replay)
        note_starts(replay)


@referring
def note_starts(replay):
    """Jobs that have started in this pass join the list of ends."""
    running = replay.engine.running
    k = 0
    while k < running.length[0]:
        job = running.job[k]
        if replay.first_start[job] == UNSET:
            replay.first_start[job] = running.start[job]
            expect_end(running, job, running.end[job] + replay.late[job])
        else:
            k += 1
    for k in range(running.length[0]):
        job = running.job[k]
        if replay.finished[job] == UNSET:
            replay.finished[job] = STILL_RUNS
            note_pbs_end(replay, job)


@referring
def _stop_victims(replay):
    """Jobs that were preempted in this pass leave the list of ends. What they have run is behind them, unless they begin again. Those that
    were deleted are over."""
    victims, clock = replay.engine.victims, replay.clock
    is_gone = replay.engine.settings.preempt_way == DELETED
    for k in range(victims.length[0]):
        job = victims.job[k]
        if replay.finished[job] != STILL_RUNS:
            continue
        place = 0
        while replay.ending[place] != job:
            place += 1
        for other in range(place, clock[ENDING] - 1):
            replay.ending[other] = replay.ending[other + 1]
        clock[ENDING] -= 1
        replay.preempted[job] += 1
        replay.finished[job] = clock[LAST_PASS] if is_gone else UNSET
        replay.ran_before[job] += victims.ran[job]
        replay.runtime[job] = 0 if is_gone else max(replay.runtime[job] - victims.ran[job], 0)
        if is_gone:
            call_followers_of(replay, job, clock[LAST_PASS])


@referring
def note_pbs_end(replay, job):
    """The job joins the list of ends."""
    clock, end = replay.clock, _true_end(replay, job)
    place = clock[ENDING]
    while place > 0 and _ends_before(replay, replay.ending[place - 1], job, end):
        replay.ending[place] = replay.ending[place - 1]
        place -= 1
    replay.ending[place] = job
    clock[ENDING] += 1


@referring
def _ends_before(replay, other, job, end):
    """Whether a running job ends before another one, which ends at `end`."""
    theirs = _true_end(replay, other)
    return theirs < end or (theirs == end and replay.end_turn[other] <= replay.end_turn[job])


@referring
def _sort_ending(replay):
    """Sorts the list of ends after some have changed."""
    clock = replay.clock
    count = clock[ENDING]
    clock[ENDING] = 0
    for k in range(count):
        note_pbs_end(replay, replay.ending[k])
