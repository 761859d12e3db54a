"""The event loop of replays with limits and gates, for priorities that are known at submission. Rules: docs/reference/limits.md.

Without a limit and without a gate it gives the schedules of the other engines, and tests check that. A group of jobs that a limit holds
is passed over as a whole. So a user's long queue behind a limit costs little.
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.engine.episode import ANY, DONE, FORMULA_FAILED, NO_BACKFILL, STUCK, WANT_ESTIMATES
from simulator.engine.events import (
    announce_outages,
    begin_coming,
    comes_now,
    correct_estimates,
    job_leaves,
    nothing_comes,
    plan_outages,
    start_outages,
    time_of_next_event,
)
from simulator.engine.plan import change_plan, earliest_in_plan, plan_fits_now
from simulator.engine.running import end_first, enter_running, reservation
from simulator.engine.starting import may_start
from simulator.jobs.cluster import FOREVER
from simulator.jobs.coming import task_to_come
from simulator.jobs.schedule import CANCELLED
from simulator.limits.lines import (
    ABSENT,
    ACTIVE,
    CHANGE,
    HAS_STOPPED,
    STOPS,
    STOPS_TO_LEARN,
    count_use,
    join_line,
    leave_line,
    rooms,
    wake_of_group,
)
from simulator.limits.rules import GATE
from simulator.limits.shares import change_use, stands_before, take_standing


@lean
def run_limited(tasks, rules, slots, orders, sharing, episode, wakes):
    """Replays all jobs and fills episode.start and episode.backfilled. wakes: whether a job starts as soon as it is over no limit any
    more, or with the next job that comes or goes. Returns DONE, STUCK where jobs are left that never start, or FORMULA_FAILED.

    Where the counter STOPS says so it also stops before a pass, and returns WANT_ESTIMATES. Then the caller may change the estimates of
    waiting jobs and their order, and calls again."""
    counters = episode.counters
    if counters[at.BEGUN] == 0:
        counters[at.BEGUN] = 1
        counters[at.FREE], counters[at.LAST] = rules.cluster_procs, tasks.last
        counters[at.ARRIVED], counters[at.OUTAGE] = tasks.first, tasks.last
        begin_coming(tasks, episode)
    while counters[at.QUEUED] > 0 or not nothing_comes(tasks, episode):
        has_stopped = counters[STOPS] == HAS_STOPPED
        if not has_stopped:
            now = min(time_of_next_event(tasks, rules, episode), next_change(slots, episode))
            if now >= FOREVER:
                return STUCK if counters[at.QUEUED] > 0 else DONE
            counters[at.NOW] = now
            take_limited_events(tasks, rules, slots, orders, sharing, episode)
            if counters[at.FAILED] > 0:
                return FORMULA_FAILED
        if counters[at.QUEUED] > 0 and counters[at.FREE] > 0:
            if counters[STOPS] == STOPS_TO_LEARN:
                counters[STOPS] = HAS_STOPPED
                return WANT_ESTIMATES
            if has_stopped:
                counters[STOPS] = STOPS_TO_LEARN
            correct_estimates(tasks, rules, episode)
            plan_outages(tasks, episode)
            head = start_allowed(tasks, slots, orders, sharing, episode)
            if head != ABSENT and rules.backfill != NO_BACKFILL and counters[at.FREE] > 0:
                start_past(tasks, rules, slots, orders, sharing, episode, head)
        counters[at.WAKE] = next_wake(slots, orders, episode) if wakes else 0
    return DONE


@lean
def begin_limited(tasks, slots, orders, episode, by_start, begin):
    """Puts an episode at second `begin`: the running tasks run, in the order `by_start`, what limits and gates have become holds, and the
    jobs that were submitted before wait. The first pass is then, also without an event."""
    counters = episode.counters
    counters[at.BEGUN] = 1
    counters[at.LAST], counters[at.OUTAGE] = tasks.last, tasks.last
    for job in by_start:
        start = tasks.submit[job]
        episode.start[job] = start
        enter_running(tasks, episode, job, start, start + tasks.hold[job])
        count_use(tasks, slots, episode.running, episode.level, job, 1, start, start)
    take_changes(slots, episode, begin - 1)
    counters[at.ARRIVED] = tasks.first
    while counters[at.ARRIVED] < tasks.last and tasks.submit[counters[at.ARRIVED]] < begin:
        join_line(tasks, slots, orders, episode, counters[at.ARRIVED])
        counters[at.ARRIVED] += 1
    if counters[at.QUEUED] > 0:
        counters[at.WAKE] = begin


@inlined
def next_change(slots, episode):
    """When a gate opens or closes next, or a bound changes."""
    change = episode.counters[CHANGE]
    return slots.change_time[change] if change < len(slots.change_time) else np.int64(FOREVER)


@inlined
def next_wake(slots, orders, episode):
    """When the next waiting job is no longer over a limit on outstanding time, 0 for never."""
    counters = episode.counters
    wake = np.int64(FOREVER)
    for k in range(counters[ACTIVE]):
        wake = min(wake, wake_of_group(slots, orders, episode, episode.active[k], counters[at.NOW]))
    return wake if wake < FOREVER else np.int64(0)


@inlined
def take_limited_events(tasks, rules, slots, orders, sharing, episode):
    """All that happens at this second, in the order of docs/reference/limits.md."""
    counters = episode.counters
    now = counters[at.NOW]
    while counters[at.RUNNING] > 0 and episode.heap_end[0] == now:
        job = end_first(tasks, episode)
        if job < tasks.last:
            count_use(tasks, slots, episode.running, episode.level, job, -1, episode.start[job], now)
            change_use(sharing, slots.group[job], now, -tasks.procs[job])
            job_leaves(tasks, episode, job)
    announce_outages(tasks, rules, episode)
    start_outages(tasks, rules, episode)
    take_changes(slots, episode, now)
    while True:
        come_and_go(tasks, slots, orders, episode)
        if not comes_now(tasks, episode):
            break


@inlined
def come_and_go(tasks, slots, orders, episode):
    """Jobs that are submitted now join the lines, and those that are cancelled now leave them."""
    counters = episode.counters
    now = counters[at.NOW]
    while counters[at.ARRIVED] < tasks.last and tasks.submit[task_to_come(tasks.coming, counters[at.ARRIVED])] == now:
        join_line(tasks, slots, orders, episode, task_to_come(tasks.coming, counters[at.ARRIVED]))
        counters[at.ARRIVED] += 1
    while (
        counters[at.CANCELLATION] < len(tasks.cancel_order)
        and tasks.cancel[tasks.cancel_order[counters[at.CANCELLATION]]] == now
    ):
        job = tasks.cancel_order[counters[at.CANCELLATION]]
        counters[at.CANCELLATION] += 1
        if episode.start[job] == CANCELLED:
            group = slots.group[job]
            index = episode.low[group]
            while episode.line[index] != orders.rank[job]:
                index += 1
            leave_line(slots, episode, group, index, job)
            job_leaves(tasks, episode, job)


@inlined
def take_changes(slots, episode, now):
    """Gates that have closed or opened by now, and bounds that have changed, are so."""
    counters = episode.counters
    while counters[CHANGE] < len(slots.change_time) and slots.change_time[counters[CHANGE]] <= now:
        slot, becomes = slots.change_slot[counters[CHANGE]], slots.becomes[counters[CHANGE]]
        if slots.kind[slot] == GATE:
            episode.running[slot] = becomes
        else:
            slots.bound[slot] = becomes
        counters[CHANGE] += 1


@inlined
def start_limited(tasks, slots, sharing, episode, job):
    """The job starts now, and counts for its limits."""
    counters = episode.counters
    now = counters[at.NOW]
    episode.start[job] = now
    enter_running(tasks, episode, job, now, now + tasks.hold[job])
    if counters[at.PENDING] == 1:
        change_plan(episode, now, now + tasks.hold[job], -tasks.procs[job])
    count_use(tasks, slots, episode.running, episode.level, job, 1, now, now)
    change_use(sharing, slots.group[job], now, tasks.procs[job])


@inlined
def is_allowed(tasks, slots, episode, group, job):
    """Whether no limit and no gate holds the job."""
    procs, amount = rooms(slots, episode.running, episode.level, group, episode.counters[at.NOW])
    return tasks.procs[job] <= procs and slots.amount[job] <= amount


@inlined
def first_allowed(tasks, slots, orders, episode, group, index):
    """The place, from `index` on, of the group's first waiting job that nothing holds. ABSENT for none."""
    procs, amount = rooms(slots, episode.running, episode.level, group, episode.counters[at.NOW])
    if episode.narrow[group] > procs or episode.light[group] > amount:
        return np.int64(ABSENT)
    k = index
    while k < episode.high[group]:
        job = orders.job_at[episode.line[k]]
        if tasks.procs[job] <= procs and slots.amount[job] <= amount:
            return k
        k += 1
    return np.int64(ABSENT)


@inlined
def start_allowed(tasks, slots, orders, sharing, episode):
    """Starts jobs that nothing holds while they fit. Returns the first in the order that does not, the head, or ABSENT."""
    counters, peek, line = episode.counters, episode.peek, episode.line
    for k in range(counters[ACTIVE]):
        group = episode.active[k]
        peek[group] = first_allowed(tasks, slots, orders, episode, group, episode.low[group])
        take_standing(sharing, group, counters[at.NOW])
    while True:
        best, rank = np.int64(ABSENT), np.int64(FOREVER)
        for k in range(counters[ACTIVE]):
            group = episode.active[k]
            if peek[group] >= 0 and (best == ABSENT or stands_before(sharing, group, line[peek[group]], best, rank)):
                best, rank = group, line[peek[group]]
        if best == ABSENT:
            return np.int64(ABSENT)
        job, index = orders.job_at[rank], peek[best]
        if not is_allowed(tasks, slots, episode, best, job):  # since others have started
            peek[best] = first_allowed(tasks, slots, orders, episode, best, index + 1)
            continue
        fits = tasks.procs[job] <= counters[at.FREE]
        if fits and counters[at.PENDING] == 1:
            fits = plan_fits_now(tasks, episode, job)
        if not fits:
            return job
        start_limited(tasks, slots, sharing, episode, job)
        following = leave_line(slots, episode, best, index, job)
        peek[best] = first_allowed(tasks, slots, orders, episode, best, following)


@inlined
def kept_for(tasks, rules, episode, head):
    """When the blocked head is to start, and how many processors it leaves free then. FOREVER where nothing is kept for it."""
    counters = episode.counters
    shadow, extra = np.int64(FOREVER), np.int64(0)
    if rules.backfill == ANY:
        pass
    elif counters[at.PENDING] == 1:
        shadow = earliest_in_plan(tasks, episode, head)
        if shadow < FOREVER:
            change_plan(episode, shadow, shadow + tasks.estimate[head], -tasks.procs[head])
    else:
        free, need, running = counters[at.FREE], tasks.procs[head], counters[at.RUNNING]
        shadow, extra = reservation(free, need, episode.est_end, episode.est_job, running, tasks.procs)
    return shadow, extra


@inlined
def next_past(tasks, slots, orders, episode, group, index, kept):
    """The place of the group's next job that nothing holds and that may start past the head, from `index` on. Where the shortest goes
    first, the place of the shortest such job. ABSENT for none. kept: the head, its shadow time and the extra processors."""
    head, shadow, extra = kept
    counters = episode.counters
    procs, amount = rooms(slots, episode.running, episode.level, group, counters[at.NOW])
    procs = min(procs, counters[at.FREE])
    best = np.int64(ABSENT)
    if episode.narrow[group] > procs or episode.light[group] > amount:
        return best
    narrow, k = np.int64(FOREVER), index
    while k < episode.high[group]:
        job = orders.job_at[episode.line[k]]
        narrow = min(narrow, tasks.procs[job])
        if (
            job != head
            and tasks.procs[job] <= procs
            and slots.amount[job] <= amount
            and (best < 0 or orders.fill[job] < orders.fill[orders.job_at[episode.line[best]]])
            and may_start(tasks, episode, job, shadow, extra)
        ):
            best = k
            if not orders.shortest_first:
                break
        k += 1
    if best < 0 and index == episode.low[group]:
        episode.narrow[group] = narrow
    return best


@inlined
def start_past(tasks, rules, slots, orders, sharing, episode, head):
    """Starts jobs that nothing holds past the blocked head as long as they do not delay it."""
    counters, peek, line = episode.counters, episode.peek, episode.line
    shadow, extra = kept_for(tasks, rules, episode, head)
    for k in range(counters[ACTIVE]):
        group, low = episode.active[k], episode.low[episode.active[k]]
        peek[group] = next_past(tasks, slots, orders, episode, group, low, (head, shadow, extra))
    while counters[at.FREE] > 0:
        best, rank = np.int64(ABSENT), np.int64(FOREVER)
        for k in range(counters[ACTIVE]):
            group = episode.active[k]
            if peek[group] < 0:
                continue
            key = orders.fill[orders.job_at[line[peek[group]]]]
            first = (
                key < rank
                if orders.shortest_first
                else best == ABSENT or stands_before(sharing, group, key, best, rank)
            )
            if first:
                best, rank = group, key
        if best == ABSENT:
            break
        index = peek[best]
        job = orders.job_at[line[index]]
        is_in = is_allowed(tasks, slots, episode, best, job) and may_start(tasks, episode, job, shadow, extra)
        if is_in:
            episode.backfilled[job] = True
            if counters[at.NOW] + tasks.admit[job] > shadow:
                extra -= tasks.procs[job]
            start_limited(tasks, slots, sharing, episode, job)
            index = leave_line(slots, episode, best, index, job)
        if orders.shortest_first:
            index = episode.low[best]
        peek[best] = next_past(tasks, slots, orders, episode, best, index, (head, shadow, extra))
