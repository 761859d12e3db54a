"""The waiting jobs of a replay with limits: a line for each group of jobs that have the same limits, in the order of the policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.jobs.cluster import FOREVER
from simulator.jobs.coming import note_cancellation
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import Tasks
from simulator.limits.ranks import Ranks, open_ranks, take_rank
from simulator.limits.rules import GATE, OUTSTANDING, RUNNING_JOBS, RUNNING_PROCS, USED, LimitSlots

IntArray = NDArray[np.int64]

CHANGE, ACTIVE, STOPS, NEXT_RANK = range(at.NUM_COUNTERS, at.NUM_COUNTERS + 4)
"""Counters beside those of the engine. CHANGE is the next change of a gate. ACTIVE groups have a job that waits. STOPS: one of
NEVER_STOPS, ... NEXT_RANK: of the next job that comes, where somebody else puts waiting jobs in order, ABSENT where ranks are given."""
NEVER_STOPS, STOPS_TO_LEARN, HAS_STOPPED = range(3)
"""Whether the loop stops before passes, so that somebody else learns from the jobs that have ended. HAS_STOPPED: the pass is to come."""
ABSENT = -1


class LimitedEpisode(NamedTuple):
    """The state of one replay. Fields before `line` are as in simulator.engine.episode.Episode."""

    counters: IntArray  # (NEXT_RANK + 1,)
    heap_end: IntArray
    heap_job: IntArray
    est_end: IntArray
    est_job: IntArray
    believed: IntArray
    start: IntArray
    backfilled: NDArray[np.bool_]
    plan_time: IntArray
    plan_room: IntArray
    line: IntArray  # (jobs,), ranks of the waiting jobs of each group, ascending, from low to before high
    low: IntArray  # (groups,)
    high: IntArray  # (groups,)
    narrow: IntArray  # (groups,), no waiting job of the group has fewer processors
    light: IntArray  # (groups,), the least amount of its waiting jobs, where it is not stale
    stale: IntArray  # (groups,), 1 where the job with the least amount has left
    active: IntArray  # (groups,), those with a waiting job
    place: IntArray  # (groups,), where an active group is in `active`
    peek: IntArray  # (groups,), scratch: a place in the line, ABSENT for none
    running: IntArray  # (slots,), running jobs or processors. Of a gate 1 while it is closed
    level: IntArray  # (slots,), see `amount_in_slot`
    ranks: Ranks


def new_limited_episode(
    tasks: Tasks, slots: LimitSlots, cluster_procs: int, ranks: Ranks | None = None
) -> LimitedEpisode:
    """The state before the first event. ranks: of a closed replay."""
    num_tasks, num_jobs, groups = len(tasks.submit), tasks.last - tasks.first, len(slots.begin)
    most_running = min(num_tasks, cluster_procs + num_tasks - tasks.last) + 1
    steps = 2 * (most_running + num_tasks - tasks.last) + 6 if len(tasks.announced) else 1
    of_running = np.empty((4, most_running), dtype=np.int64)
    of_groups = np.zeros((8, groups), dtype=np.int64)
    of_groups[:2] = slots.begin
    counters = np.zeros(NEXT_RANK + 1, dtype=np.int64)
    counters[NEXT_RANK] = ABSENT
    return LimitedEpisode(
        counters=counters,
        heap_end=of_running[0],
        heap_job=of_running[1],
        est_end=of_running[2],
        est_job=of_running[3],
        believed=np.empty(num_tasks, dtype=np.int64),
        start=np.full(num_tasks, CANCELLED, dtype=np.int64),
        backfilled=np.zeros(num_tasks, dtype=np.bool_),
        plan_time=np.empty(steps, dtype=np.int64),
        plan_room=np.empty(steps, dtype=np.int64),
        line=np.empty(num_jobs, dtype=np.int64),
        low=of_groups[0],
        high=of_groups[1],
        narrow=of_groups[2],
        light=of_groups[3],
        stale=of_groups[4],
        active=of_groups[5],
        place=of_groups[6],
        peek=of_groups[7],
        running=np.zeros(len(slots.kind), dtype=np.int64),
        level=np.zeros(len(slots.kind), dtype=np.int64),
        ranks=ranks or open_ranks(),
    )


@inlined
def join_line(tasks, slots, orders, episode, job):
    """The job waits in the line of its group."""
    counters, line, low, high = episode.counters, episode.line, episode.low, episode.high
    if counters[NEXT_RANK] >= 0:
        orders.rank[job] = counters[NEXT_RANK]
        orders.job_at[counters[NEXT_RANK]] = job
        counters[NEXT_RANK] += 1
    if len(episode.ranks.come) > 0:
        counters[at.CANCELLATION] = note_cancellation(tasks.coming, counters[at.CANCELLATION], job)
        take_rank(tasks, slots, orders, episode, counters[ACTIVE], job)
    group, rank = slots.group[job], orders.rank[job]
    if low[group] == high[group]:
        episode.active[counters[ACTIVE]] = group
        episode.place[group] = counters[ACTIVE]
        counters[ACTIVE] += 1
        episode.narrow[group], episode.light[group], episode.stale[group] = FOREVER, FOREVER, 0
    k = high[group]
    while k > low[group] and line[k - 1] > rank:
        line[k] = line[k - 1]
        k -= 1
    line[k] = rank
    high[group] += 1
    episode.narrow[group] = min(episode.narrow[group], tasks.procs[job])
    episode.light[group] = min(episode.light[group], slots.amount[job])
    counters[at.QUEUED] += 1


@inlined
def leave_line(slots, episode, group, index, job):
    """The job at a place of its group's line leaves it. Returns the place at which the next one is."""
    counters, line, low, high = episode.counters, episode.line, episode.low, episode.high
    counters[at.QUEUED] -= 1
    if slots.amount[job] == episode.light[group]:
        episode.stale[group] = 1
    following = index
    if index == low[group]:
        low[group] += 1
        following += 1
    else:
        for k in range(np.uint64(index), np.uint64(high[group] - 1)):  # unsigned: no test for negative indices
            line[k] = line[k + np.uint64(1)]
        high[group] -= 1
    if low[group] == high[group]:
        counters[ACTIVE] -= 1
        last = episode.active[counters[ACTIVE]]
        episode.active[episode.place[group]] = last
        episode.place[last] = episode.place[group]
    return following


@lean
def rooms(slots, running, level, group, now):
    """Processors, and processor-seconds until its requested end, that a job of the group may have to start now. -1 for both where none of
    them may."""
    procs, amount = np.int64(FOREVER), np.int64(FOREVER)
    for entry in range(slots.first[group], slots.first[group + 1]):
        slot = slots.slot[entry]
        kind, bound, held = slots.kind[slot], slots.bound[slot], running[slot]
        if kind == GATE:
            if held > 0:
                return np.int64(-1), np.int64(-1)
        elif kind == RUNNING_JOBS:
            if held >= bound:
                return np.int64(-1), np.int64(-1)
        elif kind == RUNNING_PROCS:
            if held > 0 or bound == 0:
                procs = min(procs, bound - held)
        elif kind == USED:
            if level[slot] + held * now >= bound:
                return np.int64(-1), np.int64(-1)
        elif held > 0 or bound == 0:
            amount = min(amount, bound - (level[slot] - held * now))
    return procs, amount


@lean
def wake_of_group(slots, orders, episode, group, now):
    """The first second after `now` at which a waiting job of the group that is over a limit on outstanding time is over none any more, if
    nothing starts or ends before. FOREVER for none."""
    least = np.int64(FOREVER)
    for entry in range(slots.first[group], slots.first[group + 1]):
        slot = slots.slot[entry]
        if slots.kind[slot] == OUTSTANDING:
            if slots.bound[slot] == 0:
                return np.int64(FOREVER)
            if episode.running[slot] > 0:
                least = min(least, slots.bound[slot] - (episode.level[slot] - episode.running[slot] * now))
    if least == FOREVER:
        return np.int64(FOREVER)
    amount = next_amount(slots, orders, episode, group, least)
    if amount == FOREVER:
        return np.int64(FOREVER)
    wake = np.int64(0)
    for entry in range(slots.first[group], slots.first[group + 1]):
        slot = slots.slot[entry]
        if slots.kind[slot] == OUTSTANDING and episode.running[slot] > 0:
            over = episode.level[slot] + amount - slots.bound[slot]
            wake = max(wake, -(-over // episode.running[slot]))
    return wake


@lean
def next_amount(slots, orders, episode, group, room):
    """The least amount above `room` of the group's waiting jobs. FOREVER for none."""
    if episode.stale[group] == 0 and episode.light[group] > room:
        return episode.light[group]
    least, above = np.int64(FOREVER), np.int64(FOREVER)
    for k in range(episode.low[group], episode.high[group]):
        amount = slots.amount[orders.job_at[episode.line[k]]]
        least = min(least, amount)
        if amount > room:
            above = min(above, amount)
    episode.light[group], episode.stale[group] = least, 0
    return above


@lean
def count_use(tasks, slots, running, level, job, sign, start, now):
    """The job, which started at `start`, counts in its slots from now on (sign 1), or no longer (-1). What it used stays in slots that
    count that."""
    group, procs = slots.group[job], sign * tasks.procs[job]
    for entry in range(slots.first[group], slots.first[group + 1]):
        slot = slots.slot[entry]
        kind = slots.kind[slot]
        if kind == RUNNING_JOBS:
            running[slot] += sign
        elif kind != GATE:
            running[slot] += procs
        if kind == OUTSTANDING:
            level[slot] += sign * slots.amount[job] + procs * start
        elif kind == USED:
            level[slot] -= procs * now
