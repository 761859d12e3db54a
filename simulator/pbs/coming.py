"""Who comes, and who gives up: jobs by their submissions, those that follow others, and those that nothing keeps any more."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.jobs.coming import next_giving_up, note_patience, take_impatient
from simulator.jobs.followers import NO_JOB
from simulator.pbs.planning import has_hours
from simulator.pbs.queueing import join_pbs_queue
from simulator.pbs.state import AFTER_ENDS, CAME, HELD, NEXT_SUBMIT, UNSET

_AFTER, _AFTER_ANY, _AFTER_OK, _AFTER_NOT_OK = range(4)


@referring
def submit_next(replay, now):
    """The next job of this second joins the queue, an array with all its tasks. Returns how many did, -1 where none is to come."""
    clock, jobs = replay.clock, replay.engine.jobs
    array, count, joined = UNSET, 0, 0
    while clock[NEXT_SUBMIT] < len(replay.order):
        job = replay.order[clock[NEXT_SUBMIT]]
        if replay.arrival[job] > now or (count > 0 and (array < 0 or jobs.array[job] != array)):
            break
        array = jobs.array[job]
        count += 1
        take_next(replay)
        if is_eligible(replay, job):
            _join(replay, job, now)
            joined += 1
        else:
            replay.held[clock[HELD]] = job
            clock[HELD] += 1
    return joined if count > 0 else -1


@referring
def _join(replay, job, now):
    queue = replay.engine.waiting
    queue.since[job] = now
    join_pbs_queue(replay.engine, job, 0)


@referring
def is_eligible(replay, job):
    """Whether neither a hold nor another job keeps the job."""
    jobs = replay.engine.jobs
    if jobs.held[job]:
        return False
    for row in range(jobs.first_dependency[job], jobs.first_dependency[job + 1]):
        kind, other = jobs.dependency[row, 0], jobs.dependency[row, 1]
        if kind == _AFTER_NOT_OK:
            return False
        done = replay.engine.running.start[other] if kind == _AFTER else replay.finished[other]
        if done < 0 or (kind == _AFTER_OK and replay.giving.gave_up[other]):
            return False
    return True


@referring
def release_jobs(replay, now):
    """Jobs that nothing keeps any more join the queue. Returns how many."""
    clock, kept, released = replay.clock, 0, 0
    for k in range(clock[HELD]):
        job = replay.held[k]
        if is_eligible(replay, job):
            _join(replay, job, now)
            released += 1
        else:
            replay.held[kept] = job
            kept += 1
    clock[HELD] = kept
    return released


@referring
def take_next(replay):
    """The next job comes. It goes behind those that have come, in front of the room for jobs that follow others."""
    clock, job = replay.clock, replay.order[replay.clock[NEXT_SUBMIT]]
    note_patience(replay.giving, replay.engine.jobs.submit[job], job, replay.arrival[job])
    replay.order[clock[CAME]] = job
    clock[CAME] += 1
    clock[NEXT_SUBMIT] += 1


@referring
def next_impatient(replay):
    """The second in which the next waiting job leaves without a start, FOREVER for none."""
    return next_giving_up(replay.giving, replay.first_start)


@referring
def drop_impatient(replay, now):
    """Waiting jobs whose users give up leave the queue, or those that something keeps. PBS makes no pass for that."""
    if len(replay.giving.order) > 0 and next_impatient(replay) <= now:
        _drop_impatient(replay, now)


@referring_apart
def _drop_impatient(replay, now):
    giving, clock, queue = replay.giving, replay.clock, replay.engine.waiting
    while next_impatient(replay) <= now:
        job = take_impatient(giving)
        replay.finished[job] = now
        call_followers_of(replay, job, now)
    queue.length[0] = _without_those(queue.pending, queue.length[0], giving)
    clock[HELD] = _without_those(replay.held, clock[HELD], giving)


@referring
def _without_those(jobs, length, giving):
    """Takes jobs that were given up out of the first `length`. Returns how many are left."""
    kept = 0
    for k in range(length):
        if not giving.gave_up[jobs[k]]:
            jobs[kept] = jobs[k]
            kept += 1
    return kept


@referring
def call_followers_of(replay, job, left):
    """The jobs that follow one which leaves for good at second `left` are to come."""
    if len(replay.chain.first) > 0:
        _call_followers_of(replay, job, left)


@referring_apart
def _call_followers_of(replay, job, left):
    """Of those that await no further task of an array the submissions are known now."""
    chain = replay.chain
    follower = chain.first[job]
    while follower != NO_JOB:
        chain.awaited[follower] -= 1
        if chain.awaited[follower] == 0:
            _is_to_come(replay, follower, left + chain.think[follower])
        follower = chain.following[follower]


@referring_apart
def _is_to_come(replay, follower, submit):
    """A job follows, and all that goes by its submission is known. It takes its place in the order."""
    clock, order = replay.clock, replay.order
    jobs, queue = replay.engine.jobs, replay.engine.waiting
    jobs.submit[follower] = submit
    jobs.number[follower] = submit * len(replay.arrival) + follower
    queue.hopeless[follower] = queue.hopeless[follower] or not has_hours(replay.engine, follower)
    replay.arrival[follower] = max(submit, replay.begin[follower])
    if replay.end_turn[follower] == UNSET:
        replay.submit_turn[follower] = AFTER_ENDS + jobs.number[follower]
        replay.end_turn[follower] = jobs.number[follower]
    clock[NEXT_SUBMIT] -= 1
    place = clock[NEXT_SUBMIT]
    while place + 1 < len(order) and _comes_before(replay, order[place + 1], follower):
        order[place] = order[place + 1]
        place += 1
    order[place] = follower


@referring
def _comes_before(replay, job, other):
    """Whether a job arrives before another one, or in the same second and was submitted before it."""
    if replay.arrival[job] != replay.arrival[other]:
        return replay.arrival[job] < replay.arrival[other]
    return replay.engine.jobs.number[job] < replay.engine.jobs.number[other]
