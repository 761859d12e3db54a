"""The order of the queue. Rules: docs/reference/pbs.md, "The order"."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.formula.machine import CLUSTER, ESTIMATE, PROCS, QUEUED, USER_SHARE, WAIT, evaluate
from simulator.pbs.sharing import goes_first_by_share


@referring
def is_ahead(jobs, queue, shares, has_shares, job, other):
    """Whether a waiting job comes before another one."""
    if jobs.level[job] != jobs.level[other]:
        return jobs.level[job] < jobs.level[other]
    if queue.preempted[job] != queue.preempted[other]:
        mine, theirs = queue.preempted[job], queue.preempted[other]
        return theirs < 0 or 0 <= mine < theirs
    if jobs.turn[job] != jobs.turn[other]:
        return jobs.turn[job] < jobs.turn[other]
    if queue.score[job] != queue.score[other]:
        return queue.score[job] > queue.score[other]
    if has_shares:
        first = goes_first_by_share(shares, jobs.entity[job], jobs.entity[other])
        if first != 0:
            return first > 0
    return jobs.static[job] < jobs.static[other]


@referring_apart
def join_pbs_queue(engine, job, low):
    """The job takes its place in the queue, behind the first `low` of it."""
    jobs, queue, shares = engine.jobs, engine.waiting, engine.shares
    has_shares = engine.settings.fair_share > 0
    place = queue.length[0]
    while place > low and is_ahead(jobs, queue, shares, has_shares, job, queue.pending[place - 1]):
        queue.pending[place] = queue.pending[place - 1]
        place -= 1
    queue.pending[place] = job
    queue.length[0] += 1


@referring_apart
def sort_pbs_queue(engine, begin):
    """Sorts the queue from a place on. It is nearly sorted when it comes."""
    jobs, queue, shares = engine.jobs, engine.waiting, engine.shares
    has_shares, pending = engine.settings.fair_share > 0, queue.pending
    for k in range(begin + 1, queue.length[0]):
        job = pending[k]
        place = k
        while place > begin and is_ahead(jobs, queue, shares, has_shares, job, pending[place - 1]):
            pending[place] = pending[place - 1]
            place -= 1
        pending[place] = job


@referring
def eligible_time(queue, job, now):
    """Seconds that the job has waited while nothing but resources kept it."""
    return queue.eligible[job] + (now - queue.since[job] if queue.since[job] >= 0 else 0)


@referring
def keep_eligible_time(queue, job, is_limited, now):
    """A limit stops the clock of eligible time, until a pass in which none keeps the job."""
    if is_limited and queue.since[job] >= 0:
        queue.eligible[job] += now - queue.since[job]
        queue.since[job] = -1
    elif not is_limited and queue.since[job] < 0:
        queue.since[job] = now


@referring_apart
def score_queue(engine, now):
    """The formula's value of all jobs that wait. A formula that has none for a job gives 0."""
    queue, jobs, slots = engine.waiting, engine.jobs, engine.scratch.slots
    if len(engine.formula.ops) == 0:
        return
    for k in range(queue.length[0]):
        job = queue.pending[k]
        slots[WAIT] = eligible_time(queue, job, now)
        slots[ESTIMATE] = jobs.walltime[job]
        slots[PROCS] = jobs.procs[job]
        slots[CLUSTER] = jobs.priorities[job, 0]
        slots[QUEUED] = jobs.priorities[job, 1]
        if engine.formula.uses_usage[0] > 0:
            slots[USER_SHARE] = _usage_of(engine, job)
        value, failed = evaluate(engine.formula.ops, engine.formula.constants, slots, engine.scratch.stack)
        queue.score[job] = value if failed < 0 else 0.0


@referring
def _usage_of(engine, job):
    """The usage of a job's owner as a part of all usage."""
    shares = engine.shares
    entity, total = engine.jobs.entity[job], 0.0
    for other in range(len(shares.path)):
        total += shares.usage[_leaf(shares, other)]
    return shares.usage[_leaf(shares, entity)] / total if total > 0 else 0.0


@referring
def _leaf(shares, entity):
    floor = shares.path.shape[1] - 1
    while shares.path[entity, floor] < 0:
        floor -= 1
    return shares.path[entity, floor]
