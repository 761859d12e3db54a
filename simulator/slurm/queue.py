"""The queue: who goes before whom. Rules: docs/reference/slurm.md, "Priority".

A row of the queue is a job, the partition that it waits in, and its priority there.
"""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
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
    """A job takes its place behind those that go before it. The queue has `length` rows without it."""
    queue[length, 0] = job
    queue[length, 1] = partition
    queue[length, 2] = priority
    place = length
    while place > 0 and goes_before(engine, queue[place], queue[place - 1]):
        _exchange(queue, place, place - 1)
        place -= 1


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
def _exchange(queue, row, other):
    for column in range(3):
        queue[row, column], queue[other, column] = queue[other, column], queue[row, column]


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
def fill_waiting(replay, length, now):
    """The rows that a scheduler looks at: eligible jobs, and of an array its first eligible task, with the others behind it.

    Returns how many rows were not eligible before."""
    waiting, jobs = replay.waiting, replay.engine.jobs
    count, new, task = 0, 0, np.int64(NOT_GIVEN)
    for k in range(length):
        job, partition = replay.pending[k, 0], replay.pending[k, 1]
        if replay.eligible[job] < 0:
            replay.eligible[job] = eligible_from(replay, job, now)
            new += replay.eligible[job] >= 0
        if replay.eligible[job] < 0:
            continue
        if count > 0 and jobs.array[job] >= 0:
            before = waiting.job[count - 1]
            if jobs.array[before] == jobs.array[job] and waiting.partition[count - 1] == partition:
                waiting.next_task[task] = job
                waiting.next_task[job] = NOT_GIVEN
                task = job
                continue
        task = job
        waiting.next_task[job] = NOT_GIVEN
        waiting.reserves[count] = _reserves(replay, k, now)
        waiting.job[count] = job
        waiting.partition[count] = partition
        count += 1
    waiting.length[0] = count
    return new


@referring
def _reserves(replay, place, now):
    """What a row of the queue keeps from others."""
    settings, job = replay.engine.site.settings, replay.pending[place, 0]
    is_low = settings.least_priority > 0 and replay.pending[place, 2] < settings.least_priority
    if is_low or now - replay.eligible[job] < settings.least_age:
        return LETS_ALL_PASS
    quality = replay.engine.jobs.qos[job]
    return HAS_NO_PLAN if quality >= 0 and replay.statics.unplanned[quality] else RESERVES
