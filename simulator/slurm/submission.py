"""Jobs join the queue, at the log's times or some time after the job that they follow has left, and leave it where their users give up.

Rules: docs/reference/slurm.md, "Priority" and "Jobs that follow others", and docs/reference/semantics/followers.md.
"""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.jobs.coming import call_followers, next_giving_up, note_patience, take_impatient
from simulator.slurm.changes import note_ended, wake
from simulator.slurm.clockwork import (
    BATCH_DUE,
    BEGIN,
    CAME,
    KEPT,
    LAST_BATCH,
    LAST_EVENT,
    NEXT_SUBMIT,
    PENDING,
    STOPS,
    STOPS_TO_SCORE,
    UNSCORED,
)
from simulator.slurm.limits import count_submitted, may_be_submitted
from simulator.slurm.priority import FIRST_BASIC, job_priority
from simulator.slurm.queue import count_queued, eligible_from, enqueue


@referring
def take_submissions(replay, now):
    """Jobs of this second join the queue."""
    clock, jobs = replay.clock, replay.engine.jobs
    while clock[NEXT_SUBMIT] < len(replay.order):
        job = replay.order[clock[NEXT_SUBMIT]]
        if jobs.submit[job] > now:
            return
        clock[NEXT_SUBMIT] += 1
        replay.engine.running.number[job] = clock[CAME]
        replay.came[clock[CAME]] = job
        clock[CAME] += 1
        waits_already = jobs.submit[job] < clock[BEGIN]
        if not waits_already and not may_be_submitted(replay.engine, job):
            replay.refused[job] = True
            leave_for_good(replay, job, now)
            continue
        count_submitted(replay.engine, job, 1)
        replay.eligible[job] = eligible_from(replay, job, now)
        if waits_already and replay.eligible[job] >= 0:
            replay.eligible[job] = max(jobs.submit[job], jobs.begin[job])
        queue_up(replay, job, now)
        note_patience(replay.giving, jobs.submit[job], job, now)
        if clock[STOPS] == STOPS_TO_SCORE and jobs.priority[job] < 0:
            clock[UNSCORED] += 1
        clock[LAST_EVENT] = now
        wake(replay, now)
        due = max(now, clock[LAST_BATCH] + replay.engine.site.settings.batch_delay)
        clock[BATCH_DUE] = min(clock[BATCH_DUE], due)


@referring
def time_to_give_up(replay):
    """The second in which the next waiting job leaves the queue without a start, FOREVER for none."""
    return next_giving_up(replay.giving, replay.engine.running.start)


@referring
def give_up(replay, now):
    """Waiting jobs whose users give up leave the queue. That is a change, but no reason for the main scheduler to run."""
    if len(replay.giving.order) > 0 and time_to_give_up(replay) <= now:
        _give_up(replay, now)


@referring_apart
def _give_up(replay, now):
    giving, clock, pending = replay.giving, replay.clock, replay.pending
    while time_to_give_up(replay) <= now:
        job = take_impatient(giving)
        replay.finished[job] = now
        count_submitted(replay.engine, job, -1)
        note_ended(replay, now)
        leave_for_good(replay, job, now)
    kept = 0
    for k in range(clock[PENDING]):
        if giving.gave_up[pending[k, 0]]:
            count_queued(replay, pending[k, 0], pending[k, 1], -1)
            continue
        for column in range(pending.shape[1]):
            pending[kept, column] = pending[k, column]
        kept += 1
    clock[PENDING] = kept
    clock[LAST_EVENT] = now
    wake(replay, now)


@referring_apart
def leave_for_good(replay, job, left):
    """A job has ended, was refused, or has left the queue: those that follow it are to come."""
    if len(replay.chain.first) > 0 and replay.chain.first[job] >= 0:
        clock = replay.clock
        clock[NEXT_SUBMIT] = call_followers(
            replay.chain, replay.order, clock[NEXT_SUBMIT], replay.engine.jobs.submit, job, left
        )


@referring
def priority_in(replay, job, partition, now):
    """The priority of a waiting job in a partition: one that was given, or the scheduler's own."""
    if replay.engine.jobs.priority[job] >= 0:
        return replay.engine.jobs.priority[job]
    if replay.engine.site.settings.basic > 0:
        return FIRST_BASIC - replay.engine.running.number[job]
    since = replay.engine.jobs.submit[job] if replay.rules.accrues_always > 0 else replay.eligible[job]
    seconds = now - since if since >= 0 else 0
    return job_priority(replay.engine, replay.rules, replay.statics, replay.fair, (job, partition), seconds)


@referring
def queue_up(replay, job, now):
    """The job takes its place in the queue for each of its partitions."""
    partitions = replay.engine.jobs.partitions
    if replay.eligible[job] < 0 and replay.engine.jobs.held[job] == 0:
        replay.kept[replay.clock[KEPT]] = job
        replay.clock[KEPT] += 1
    for k in range(partitions.shape[1]):
        if partitions[job, k] >= 0:
            priority = priority_in(replay, job, partitions[job, k], now)
            enqueue(replay.engine, replay.pending, replay.clock[PENDING], job, partitions[job, k], priority)
            replay.clock[PENDING] += 1
            count_queued(replay, job, partitions[job, k], 1)
