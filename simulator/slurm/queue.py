"""The queue: who goes before whom. Rules: docs/reference/slurm.md, "Priority".

A row of the queue is a job, the partition that it waits in, and its priority there.
"""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.slurm.clockwork import KEPT, PENDING
from simulator.slurm.rows import HAS_NO_PLAN, LETS_ALL_PASS, RESERVES

_AFTER, _AFTER_ANY, _AFTER_OK, _AFTER_NOT_OK = range(4)


@referring
def goes_before(engine, row, other):
    """Jobs of a reservation, then the tier of the partition, then priority, then the time of submission, then the number."""
    site, jobs = engine.site, engine.jobs
    mine, theirs = jobs.reservation[row[0]] >= 0, jobs.reservation[other[0]] >= 0
    if mine != theirs:
        return mine
    if site.partition_tier[row[1]] != site.partition_tier[other[1]]:
        return site.partition_tier[row[1]] > site.partition_tier[other[1]]
    if row[2] != other[2]:
        return row[2] > other[2]
    if jobs.submit[row[0]] != jobs.submit[other[0]]:
        return jobs.submit[row[0]] < jobs.submit[other[0]]
    return row[0] < other[0]


@referring_apart
def enqueue(engine, queue, length, job, partition, priority):
    """A job takes its place behind those that go before it. The queue has `length` rows without it, in order."""
    queue[length, 0] = job
    queue[length, 1] = partition
    queue[length, 2] = priority
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if goes_before(engine, queue[length], queue[middle]):
            high = middle
        else:
            low = middle + 1
    for place in range(length, low, -1):
        _copy(queue, place - 1, queue, place)
    queue[low, 0] = job
    queue[low, 1] = partition
    queue[low, 2] = priority


@referring
def count_queued(replay, job, partition, sign):
    """A row joins the queue (sign 1), or leaves it (-1)."""
    replay.queued[kind_of(replay.engine, job, partition)] += sign


@referring
def kind_of(engine, job, partition):
    """The place of the row's partition, or behind those of all partitions that of its reservation."""
    own = engine.jobs.reservation[job]
    return partition if own < 0 else len(engine.scratch.failed) + own


@referring
def drop_rows(replay, place, kept):
    """Closes the gap between the first `kept` rows of the queue and those from `place` on."""
    clock, pending = replay.clock, replay.pending
    if kept < place:
        for row in range(place, clock[PENDING]):
            _copy(pending, row, pending, row - place + kept)
    clock[PENDING] += kept - place


@referring_apart
def sort_queue(engine, queue, length, room):
    """Puts the first `length` rows in order. Rows that are in order already are merged as one, and equal rows stay as they are."""
    while _run_end(engine, queue, 0, length) < length:
        begin = 0
        while begin < length:
            middle = _run_end(engine, queue, begin, length)
            end = _run_end(engine, queue, middle, length)
            if end > middle:
                _merge(engine, queue, room, begin, middle, end)
            begin = end


@referring
def _run_end(engine, queue, begin, length):
    """The place behind the rows from `begin` on that are in order."""
    end = min(begin + 1, length)
    while end < length and not goes_before(engine, queue[end], queue[end - 1]):
        end += 1
    return end


@referring
def _merge(engine, queue, room, begin, middle, end):
    """Merges two runs of rows that follow each other."""
    for k in range(begin, middle):
        _copy(queue, k, room, k)
    left, right, place = begin, middle, begin
    while left < middle and right < end:
        if goes_before(engine, queue[right], room[left]):
            _copy(queue, right, queue, place)
            right += 1
        else:
            _copy(room, left, queue, place)
            left += 1
        place += 1
    while left < middle:
        _copy(room, left, queue, place)
        left += 1
        place += 1


@referring
def _copy(source, row, target, place):
    for column in range(3):
        target[place, column] = source[row, column]


@referring
def eligible_from(replay, job, now):
    """The second from which nothing keeps the job, NOT_GIVEN if something does."""
    jobs = replay.engine.jobs
    if jobs.held[job] > 0 or jobs.begin[job] > now:
        return np.int64(NOT_GIVEN)
    for row in range(jobs.first_dependency[job], jobs.first_dependency[job + 1]):
        kind, other = jobs.dependency[row, 0], jobs.dependency[row, 1]
        if kind == _AFTER_NOT_OK:
            return np.int64(NOT_GIVEN)
        done = replay.engine.running.start[other] if kind == _AFTER else replay.finished[other]
        if done < 0 or (kind == _AFTER_OK and replay.giving.gave_up[other]):
            return np.int64(NOT_GIVEN)
    return max(now, jobs.submit[job])


@referring
def begin_rows(replay, now):
    """A scheduler begins at the head of the queue: no rows yet. Returns how many jobs may start from now on that something has kept."""
    waiting = replay.waiting
    waiting.length[0] = 0
    waiting.place[0] = 0
    for kind in range(len(waiting.behind)):
        waiting.behind[kind] = replay.queued[kind]
    return _note_eligible(replay, now)


@referring
def _note_eligible(replay, now):
    clock, running = replay.clock, replay.engine.running
    new, left = 0, 0
    for k in range(clock[KEPT]):
        job = replay.kept[k]
        if replay.eligible[job] >= 0 or replay.finished[job] >= 0 or running.start[job] >= 0:
            continue
        replay.eligible[job] = eligible_from(replay, job, now)
        if replay.eligible[job] >= 0:
            new += 1
        else:
            replay.kept[left] = job
            left += 1
    clock[KEPT] = left
    return new


@referring
def fill_rows(replay, now):
    """Adds the rows that a scheduler looks at next: eligible jobs, and of an array its first eligible task, with the others behind it. Most
    passes end near the head of the queue, so it is taken in parts, each as long as those before. Returns whether there was a part."""
    waiting, jobs, pending = replay.waiting, replay.engine.jobs, replay.pending
    count, task = waiting.length[0], np.int64(NOT_GIVEN)
    begin = waiting.place[0]
    end = min(max(waiting.part[0], 2 * begin), replay.clock[PENDING])
    for place in range(begin, end):
        job, partition = pending[place, 0], pending[place, 1]
        waiting.behind[kind_of(replay.engine, job, partition)] -= 1
        if replay.eligible[job] < 0:
            continue
        goes_on = False
        if count > 0 and jobs.array[job] >= 0:
            before = waiting.job[count - 1]
            goes_on = jobs.array[before] == jobs.array[job] and waiting.partition[count - 1] == partition
        waiting.next_task[job] = NOT_GIVEN
        if goes_on and task >= 0:
            waiting.next_task[task] = job
        else:
            waiting.goes_on[count] = goes_on
            waiting.reserves[count] = waiting.reserves[count - 1] if goes_on else _reserves(replay, place, now)
            waiting.job[count] = job
            waiting.partition[count] = partition
            count += 1
        task = job
    waiting.length[0] = count
    waiting.place[0] = end
    return end > begin


@referring
def _reserves(replay, place, now):
    """What a row of the queue keeps from others."""
    settings, job = replay.engine.site.settings, replay.pending[place, 0]
    is_low = settings.least_priority > 0 and replay.pending[place, 2] < settings.least_priority
    if is_low or now - replay.eligible[job] < settings.least_age:
        return LETS_ALL_PASS
    quality = replay.engine.jobs.qos[job]
    return HAS_NO_PLAN if quality >= 0 and replay.statics.unplanned[quality] else RESERVES
