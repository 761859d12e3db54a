"""The queue: who goes before whom. Rules: docs/reference/slurm.md, "Priority".

A row of the queue is a job, the partition that it waits in, and its priority there.
"""

from __future__ import annotations

from simulator.compiled import referring, referring_apart


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
