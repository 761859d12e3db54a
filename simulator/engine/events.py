"""Steps of the general engine up to a pass: the next event, what happens at it, and whether a pass could start anything.

All take the tuples of one replay: `Tasks`, `Rules`, `Scoring`, `Episode`. Rules: docs/reference/semantics.md, "Events".
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.engine.episode import RESERVE
from simulator.engine.plan import begin_plan, change_plan, forget_past
from simulator.engine.running import correct_first, corrected_end, end_first, enter_running
from simulator.jobs.cluster import FOREVER
from simulator.jobs.coming import call_followers, note_cancellation, task_to_come
from simulator.jobs.followers import NO_JOB
from simulator.jobs.schedule import CANCELLED
from simulator.policies.moment import change_rate
from simulator.policies.scoring import FIXED


@inlined
def begin_replay(tasks, rules, scoring, episode):
    """The first call: the clock stands at the first submission, and the jobs that run already hold their processors."""
    counters = episode.counters
    begin = tasks.submit[tasks.first] if tasks.last > tasks.first else 0
    counters[at.BEGUN] = 1
    counters[at.NEXT_DUE] = FOREVER
    counters[at.ARRIVED], counters[at.OUTAGE], counters[at.FREE] = tasks.first, tasks.last, rules.cluster_procs
    counters[at.LAST] = tasks.last
    begin_coming(tasks, episode)
    for k in range(len(episode.since)):
        episode.since[k] = begin
    counters[at.PLAN_STEPS] = begin_plan(episode.plan_time, episode.plan_room, begin, rules.cluster_procs)
    for job in range(tasks.first):
        start, hold = tasks.submit[job], tasks.hold[job]
        end = start + hold
        if end <= begin:
            end = corrected_end(start, hold, tasks.limit[job], begin, rules.correction)
        enter_running(tasks, episode, job, start, end)
        if rules.backfill == RESERVE:
            change_plan(episode, begin, end, -tasks.procs[job])
        if scoring.half_life_s > 0.0:
            change_usage(tasks, scoring, episode, job, begin, tasks.procs[job])


@inlined
def begin_coming(tasks, episode):
    """In a closed replay, the first jobs of the orders of coming and of cancellation stand behind room for those that are yet to join."""
    counters, order = episode.counters, tasks.coming.order
    while counters[at.ARRIVED] < len(order) and order[counters[at.ARRIVED]] == NO_JOB:
        counters[at.ARRIVED] += 1
    counters[at.CANCELLATION] = len(tasks.coming.cancel_order)


@inlined
def nothing_comes(tasks, episode):
    """Whether no job is to come, also none that follows a job which runs. Those that wait are not asked."""
    counters = episode.counters
    return counters[at.ARRIVED] >= counters[at.LAST] and (len(tasks.coming.order) == 0 or counters[at.RUNNING] == 0)


@inlined
def comes_now(tasks, episode):
    """Whether a job is submitted in this second because another one has just left the queue."""
    counters, is_closed = episode.counters, len(tasks.coming.order) > 0
    arrived = counters[at.ARRIVED]
    return is_closed and arrived < counters[at.LAST] and tasks.submit[tasks.coming.order[arrived]] == counters[at.NOW]


@inlined
def job_leaves(tasks, episode, job):
    """The jobs that follow a job which leaves now are to come."""
    counters, coming = episode.counters, tasks.coming
    if len(coming.order) > 0 and job < tasks.last:
        counters[at.ARRIVED] = call_followers(
            coming.chain, coming.order, counters[at.ARRIVED], coming.submit, job, counters[at.NOW]
        )


@inlined
def change_usage(tasks, scoring, episode, job, now, procs):
    """From `now` on, the job's user holds `procs` processors more (or fewer)."""
    change_rate(episode.usage, episode.rate, episode.since, tasks.user[job], now, procs, scoring.half_life_s)


@inlined
def time_of_next_event(tasks, rules, episode):
    """Seconds, FOREVER when there is none."""
    counters, cancel_order = episode.counters, tasks.cancel_order
    cancelled = counters[at.CANCELLATION]
    while cancelled < len(cancel_order) and episode.start[cancel_order[cancelled]] != CANCELLED:
        cancelled += 1  # it has started
    counters[at.CANCELLATION] = cancelled
    now = np.int64(FOREVER)
    if counters[at.ARRIVED] < counters[at.LAST]:
        now = tasks.submit[task_to_come(tasks.coming, counters[at.ARRIVED])]
    if counters[at.RUNNING] > 0:
        now = min(now, episode.heap_end[0])
    if counters[at.OUTAGE] < len(tasks.submit):
        now = min(now, tasks.submit[counters[at.OUTAGE]])
    if counters[at.ANNOUNCED] < len(tasks.announced):
        now = min(now, tasks.announced[counters[at.ANNOUNCED]])
    if cancelled < len(cancel_order):
        now = min(now, tasks.cancel[cancel_order[cancelled]])
    if rules.backfill == RESERVE:
        now = min(now, counters[at.NEXT_DUE])
    if counters[at.WAKE] > 0:
        now = min(now, counters[at.WAKE])
    return now


@inlined
def next_event(tasks, rules, episode):
    """Moves the clock to the next event. False when there is none: what waits can never start."""
    counters = episode.counters
    now = time_of_next_event(tasks, rules, episode)
    counters[at.NOW] = now
    if now == FOREVER:
        return False
    if rules.backfill == RESERVE:
        counters[at.PLAN_STEPS] = forget_past(episode.plan_time, episode.plan_room, counters[at.PLAN_STEPS], now)
    return True


@inlined
def end_jobs(tasks, rules, scoring, episode):
    """What ends now gives its processors back."""
    counters = episode.counters
    now = counters[at.NOW]
    while counters[at.RUNNING] > 0 and episode.heap_end[0] == now:
        job = end_first(tasks, episode)
        if rules.live:
            episode.ended[counters[at.ENDED]] = job
            counters[at.ENDED] += 1
        if rules.backfill == RESERVE and episode.believed[job] > now:
            change_plan(episode, now, episode.believed[job], tasks.procs[job])
            plan_grew(episode, episode.believed[job])
        if scoring.half_life_s > 0.0 and job < tasks.last:
            change_usage(tasks, scoring, episode, job, now, -tasks.procs[job])
        job_leaves(tasks, episode, job)


@inlined
def plan_grew(episode, until):
    """Notes that the plan has more room than when reservations were made, before `until`."""
    counters = episode.counters
    counters[at.GREW] = 1
    counters[at.HORIZON] = max(counters[at.HORIZON], until)


@inlined
def announce_outages(tasks, rules, episode):
    """The plan learns of the outages that are announced now."""
    counters = episode.counters
    announced = counters[at.ANNOUNCED]
    while announced < len(tasks.announced) and tasks.announced[announced] == counters[at.NOW]:
        if rules.backfill == RESERVE:
            task = tasks.announced_task[announced]
            begin = tasks.submit[task]
            change_plan(episode, begin, begin + tasks.runtime[task], -tasks.procs[task])
            counters[at.SHRUNK] = 1
        announced += 1
    counters[at.ANNOUNCED] = announced


@inlined
def start_outages(tasks, rules, episode):
    """Outages that start now take their processors."""
    counters = episode.counters
    now = counters[at.NOW]
    while counters[at.OUTAGE] < len(tasks.submit) and tasks.submit[counters[at.OUTAGE]] == now:
        outage = counters[at.OUTAGE]
        end = now + tasks.runtime[outage]
        enter_running(tasks, episode, outage, now, end)
        if rules.backfill == RESERVE:
            was_announced = False
            for k in range(counters[at.ANNOUNCED]):
                was_announced = was_announced or tasks.announced_task[k] == outage
            if not was_announced:
                change_plan(episode, now, end, -tasks.procs[outage])
                counters[at.SHRUNK] = 1
        counters[at.OUTAGE] = outage + 1


@inlined
def submit_jobs(tasks, rules, scoring, episode):
    """Jobs that are submitted now join the queue: behind all others, or by their score if that is fixed. Where every event is asked
    for they come one by one."""
    counters, queue, score, coming = episode.counters, episode.queue, episode.score, tasks.coming
    now, arrived, queued = counters[at.NOW], counters[at.ARRIVED], counters[at.QUEUED]
    while arrived < counters[at.LAST] and tasks.submit[task_to_come(coming, arrived)] == now:
        job = task_to_come(coming, arrived)
        k = queued
        value = np.nan
        if scoring.kind == FIXED:
            value = scoring.fixed[job]
            if scoring.steady:
                value += tasks.submit[job]
            while k > 0 and score[k - 1] > value:
                k -= 1
        while k > 0 and queue[k - 1] > job and ties_with(tasks, scoring, score[k - 1], value, queue[k - 1], now):
            k -= 1  # it came in this second, at an earlier event of a closed replay
        for i in range(queued, k, -1):
            score[i] = score[i - 1]
            queue[i] = queue[i - 1]
        if scoring.kind == FIXED or scoring.steady:
            score[k] = value
        queue[k] = job
        counters[at.NARROWEST] = min(counters[at.NARROWEST], tasks.procs[job])
        if len(coming.order) > 0:
            counters[at.CANCELLATION] = note_cancellation(coming, counters[at.CANCELLATION], job)
        queued += 1
        arrived += 1
        if rules.picking.every_event:
            break
    counters[at.ARRIVED], counters[at.QUEUED] = arrived, queued


@inlined
def ties_with(tasks, scoring, score, value, job, now):
    """Whether a waiting job has the same place in the order as one of this value that comes now, unless the log has them apart."""
    return tasks.submit[job] == now and (scoring.kind != FIXED or score == value)


@inlined
def cancel_jobs(tasks, rules, episode):
    """Jobs that are cancelled now leave the queue, and the plan."""
    counters, cancel_order = episode.counters, tasks.cancel_order
    while (
        counters[at.CANCELLATION] < len(cancel_order)
        and tasks.cancel[cancel_order[counters[at.CANCELLATION]]] == counters[at.NOW]
    ):
        job = cancel_order[counters[at.CANCELLATION]]
        counters[at.CANCELLATION] += 1
        if episode.start[job] != CANCELLED:
            continue
        place = 0
        while episode.queue[place] != job:
            place += 1
        leave_queue(episode, place)
        if rules.backfill == RESERVE and 0 <= episode.reserved[job] < FOREVER:
            end = episode.reserved[job] + tasks.estimate[job]
            change_plan(episode, episode.reserved[job], end, tasks.procs[job])
            plan_grew(episode, end)
        job_leaves(tasks, episode, job)


@inlined
def comes_before(tasks, job, other):
    """Whether a job was submitted before another one, in one second by their places in the log."""
    return tasks.submit[job] < tasks.submit[other] or (tasks.submit[job] == tasks.submit[other] and job < other)


@inlined
def leave_queue(episode, place):
    """The job at this place leaves the queue."""
    close_gap(episode.queue, episode.score, place, episode.counters[at.QUEUED])
    episode.counters[at.QUEUED] -= 1


@lean
def close_gap(queue, score, place, queued):
    """Moves what stands behind a place of the queue up by one."""
    for i in range(np.uint64(place), np.uint64(queued - 1)):  # unsigned: no test for negative indices
        queue[i] = queue[i + np.uint64(1)]
    for i in range(np.uint64(place), np.uint64(queued - 1)):
        score[i] = score[i + np.uint64(1)]


@inlined
def any_fits(tasks, episode):
    """Whether any waiting job needs no more processors than are free."""
    counters, queue, procs = episode.counters, episode.queue, tasks.procs
    queued, free = counters[at.QUEUED], counters[at.FREE]
    fits = False
    if free >= counters[at.NARROWEST]:
        narrowest = np.int64(FOREVER)
        k = 0
        while k < queued and not fits:
            need = procs[queue[k]]
            fits = need <= free
            narrowest = min(narrowest, need)
            k += 1
        if not fits:
            counters[at.NARROWEST] = narrowest
    return fits


@inlined
def needs_pass(tasks, rules, episode):
    """Whether a pass could start anything: where no job fits, none can, whatever the order."""
    if rules.picking.every_event:
        return True
    if episode.counters[at.QUEUED] == 0:
        episode.counters[at.NEXT_DUE] = FOREVER
        return False
    return rules.backfill == RESERVE or any_fits(tasks, episode)


@inlined
def correct_estimates(tasks, rules, episode):
    """Corrects estimated ends that have expired: whoever reads them in the pass must find none in the past."""
    counters = episode.counters
    now = counters[at.NOW]
    while counters[at.RUNNING] > 0 and episode.est_end[0] <= now:
        job = correct_first(tasks, rules, episode)
        if rules.backfill == RESERVE:
            change_plan(episode, now, episode.believed[job], -tasks.procs[job])
            counters[at.SHRUNK] = 1


@inlined
def plan_outages(tasks, episode):
    """A plan of the running jobs and of the announced outages, for rules without reservations, where one is pending."""
    counters = episode.counters
    now = counters[at.NOW]
    counters[at.PENDING] = 0
    for k in range(counters[at.ANNOUNCED]):
        if tasks.submit[tasks.announced_task[k]] > now:
            counters[at.PENDING] = 1
    if counters[at.PENDING] == 0:
        return
    counters[at.PLAN_STEPS] = begin_plan(episode.plan_time, episode.plan_room, now, counters[at.FREE])
    for k in range(counters[at.RUNNING]):
        if episode.est_end[k] < FOREVER:
            change_plan(episode, episode.est_end[k], FOREVER, tasks.procs[episode.est_job[k]])
    for k in range(counters[at.ANNOUNCED]):
        task = tasks.announced_task[k]
        if tasks.submit[task] > now:
            change_plan(episode, tasks.submit[task], tasks.submit[task] + tasks.runtime[task], -tasks.procs[task])
