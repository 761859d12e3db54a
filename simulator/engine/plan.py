"""The plan of conservative and selective backfilling: how many processors will be free by the estimates, as a step function.

Step i has `room[i]` free processors from `time[i]` until `time[i + 1]`, and the last step has no end. Neighbours differ. All
functions take the arrays (int64, longer than any plan) and the number of steps, and return that number where they change it. The
functions at the end do the same to the plan of an episode.
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.jobs.cluster import FOREVER


@lean
def begin_plan(time, room, now, free):
    """A plan in which `free` processors are free for ever."""
    time[0] = now
    room[0] = free
    return np.int64(1)


@lean
def forget_past(time, room, count, now):
    """The plan from `now` on."""
    gone = 0
    while gone + 1 < count and time[gone + 1] <= now:
        gone += 1
    if gone > 0:
        for i in range(count - gone):
            time[i] = time[i + gone]
            room[i] = room[i + gone]
    time[0] = now
    return count - gone


@lean
def change(time, room, count, start, end, procs):
    """Adds `procs` (may be negative) to the room from `start` until `end`. start < end, start >= time[0]."""
    first, count = _split(time, room, count, start)
    after = count
    if end < FOREVER:
        after, count = _split(time, room, count, end)
    for i in range(first, after):
        room[i] += procs
    # only at its two ends can the change have made neighbours equal
    if end < FOREVER and room[after - 1] == room[after]:
        count = _drop(time, room, count, after)
    if first > 0 and room[first - 1] == room[first]:
        count = _drop(time, room, count, first)
    return count


@lean
def _split(time, room, count, at):
    """The step that begins at `at`, which is inserted if there is none, and the number of steps."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if time[middle] < at:
            low = middle + 1
        else:
            high = middle
    if low < count and time[low] == at:
        return low, count
    for i in range(count, low, -1):
        time[i] = time[i - 1]
        room[i] = room[i - 1]
    time[low] = at
    room[low] = room[low - 1]
    return low, count + 1


@lean
def _drop(time, room, count, step):
    for i in range(step, count - 1):
        time[i] = time[i + 1]
        room[i] = room[i + 1]
    return count - 1


@lean
def earliest_start(time, room, count, procs, length):
    """The first time at which `procs` processors are free for `length` seconds. FOREVER when there is none."""
    since = np.int64(-1)
    for i in range(count):
        if room[i] < procs:
            since = np.int64(-1)
            continue
        if since < 0:
            since = time[i]
        if i + 1 == count or time[i + 1] - since >= length:
            return since
    return np.int64(FOREVER)


@lean
def earlier_start(time, room, count, procs, length, reserved, horizon):
    """The first time at which a job could start that holds the reservation `reserved` in this plan. Its own room counts
    as free. Only times before `horizon` are considered. Returns `reserved` when the job could start at none of them.

    A start before `reserved` overlaps the job's own reservation until its end, so only the time before counts.
    """
    since = np.int64(-1)
    for i in range(count):
        if time[i] >= reserved:
            break
        if room[i] < procs:
            since = np.int64(-1)
            if i + 1 < count and time[i + 1] >= horizon:
                break
            continue
        if since < 0:
            since = time[i]
        if i + 1 == count or time[i + 1] >= reserved or time[i + 1] - since >= length:
            return since
    return reserved


@lean
def fits_now(time, room, count, procs, length):
    """Whether `procs` processors are free for `length` seconds from the beginning of the plan on."""
    for i in range(count):
        if time[i] - time[0] >= length:
            return True
        if room[i] < procs:
            return False
    return True


@inlined
def change_plan(episode, start, end, procs):
    """Adds `procs` (may be negative) to the room of the episode's plan from `start` until `end`."""
    counters = episode.counters
    counters[at.PLAN_STEPS] = change(episode.plan_time, episode.plan_room, counters[at.PLAN_STEPS], start, end, procs)


@inlined
def plan_fits_now(tasks, episode, job):
    """Whether the job can start now by the episode's plan."""
    steps = episode.counters[at.PLAN_STEPS]
    return fits_now(episode.plan_time, episode.plan_room, steps, tasks.procs[job], tasks.estimate[job])


@inlined
def earliest_in_plan(tasks, episode, job):
    """The first time at which the job can start by the episode's plan. FOREVER when there is none."""
    steps = episode.counters[at.PLAN_STEPS]
    return earliest_start(episode.plan_time, episode.plan_room, steps, tasks.procs[job], tasks.estimate[job])
