"""The event loop for priorities that are known at submission, without backfilling or with EASY: the fast one.

Rules: docs/semantics.md. It gives exactly what the general engine gives (simulator/engine/general.py; tested), but because every
job's rank is known in advance, the queue is a tree (simulator/engine/queue_tree.py) in which the next job to start is found without
a scan, and a job that arrives behind a head that stays blocked is decided alone.
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import compiled
from simulator.engine.queue_tree import (
    BACK,
    NOTHING,
    SHORT,
    enter_list,
    enter_tree,
    leave_list,
    leave_tree,
    list_to_tree,
    next_in_list,
    next_in_tree,
    tree_to_list,
)
from simulator.engine.running import add_running, corrected_end, heap_pop, insert_running, remove_running, reservation
from simulator.jobs.cluster import FOREVER
from simulator.jobs.schedule import CANCELLED

DONE, STUCK = 0, 1


@compiled
def run_static(tasks, cluster_procs, easy, correction, queue, fill_queue, shortest_first, start, backfilled):
    """Replays all jobs; fills `start` and `backfilled`, (num_tasks,); start is given for the jobs that run already.

    queue: empty, by (score, task). fill_queue: empty, by (estimate, task), used if jobs behind the head are taken
    shortest first; else the same as `queue`.
    Returns DONE, or STUCK when outages leave a job that can never start.
    """
    submit, runtime, procs, estimate, limit = tasks.submit, tasks.runtime, tasks.procs, tasks.estimate, tasks.limit
    hold = tasks.hold
    cancel, cancel_order, last = tasks.cancel, tasks.cancel_order, tasks.last
    rank, job_at, rows = queue.rank, queue.job_at, queue.rows
    fill_rank, fill_job_at, fill_rows = fill_queue.rank, fill_queue.job_at, fill_queue.rows
    num_tasks = len(submit)
    num_jobs = len(job_at)
    most_running = min(num_tasks, cluster_procs + num_tasks - last)
    heap_end = np.empty(most_running, dtype=np.int64)
    heap_job = np.empty(most_running, dtype=np.int64)
    est_end = np.empty(most_running, dtype=np.int64)
    est_job = np.empty(most_running, dtype=np.int64)
    believed = np.empty(num_tasks, dtype=np.int64)  # by task: where it stands in est_end
    running = 0
    free = cluster_procs
    for job in range(tasks.first):
        believed[job] = start[job] + hold[job]
        add_running(heap_end, heap_job, est_end, est_job, running, start[job] + runtime[job], believed[job], job)
        running += 1
        free -= procs[job]
    arrived = tasks.first
    outage = last
    cancelled = 0
    queued = 0
    deep = False  # the queue is in the tree
    head = np.int64(num_jobs)  # the first rank that waits
    # Once a pass has settled what may start behind a blocked head, new submissions change none of it: shadow time and
    # extra processors stay, and who was refused is refused again with less time to the shadow time.
    settled = False
    reserved = False  # shadow and extra are known
    shadow = np.int64(0)
    extra = np.int64(0)

    while arrived < last or queued > 0:
        while cancelled < len(cancel_order) and start[cancel_order[cancelled]] != CANCELLED:
            cancelled += 1  # it has started
        next_cancel = cancel[cancel_order[cancelled]] if cancelled < len(cancel_order) else np.int64(FOREVER)
        now = next_cancel
        if arrived < last:
            now = min(now, submit[arrived])
        if running > 0:
            now = min(now, heap_end[0])
        if outage < num_tasks:
            now = min(now, submit[outage])
        if now == FOREVER:
            return STUCK

        while running > 0 and heap_end[0] == now:
            job = heap_job[0]
            heap_pop(heap_end, heap_job, running)
            remove_running(est_end, est_job, running, believed[job], job)
            running -= 1
            free += procs[job]
            settled = False
        while outage < num_tasks and submit[outage] == now:
            believed[outage] = now + hold[outage]
            add_running(heap_end, heap_job, est_end, est_job, running, now + runtime[outage], believed[outage], outage)
            running += 1
            free -= procs[outage]
            outage += 1
            settled = False

        # submissions: into the queue, except a lone one that may start at once
        lone = -1
        if arrived < last and submit[arrived] == now:
            alone = (
                (arrived + 1 == last or submit[arrived + 1] != now) and next_cancel != now and cancel[arrived] != now
            )
            if settled and easy and est_end[0] <= now:
                settled = False
            decided = alone and (queued == 0 or (settled and rank[arrived] > head))
            if decided and procs[arrived] <= free:
                if queued == 0:
                    lone = arrived
                elif easy:
                    if not reserved:
                        shadow, extra = reservation(free, procs[job_at[head]], est_end, est_job, running, procs)
                        reserved = True
                    if now + estimate[arrived] <= shadow or procs[arrived] <= extra:
                        lone = arrived
                        backfilled[arrived] = True
            while arrived < last and submit[arrived] == now:
                job = arrived
                arrived += 1
                if job == lone:
                    break
                if not deep and queued == SHORT:
                    list_to_tree(queue)
                    if shortest_first:
                        list_to_tree(fill_queue)
                    deep = True
                if deep:
                    enter_tree(queue, job)
                    if shortest_first:
                        enter_tree(fill_queue, job)
                else:
                    enter_list(rows, queued, rank[job], procs[job], estimate[job])
                    if shortest_first:
                        enter_list(fill_rows, queued, fill_rank[job], procs[job], estimate[job])
                queued += 1
                head = min(head, rank[job])
            if decided and lone < 0:
                if queued == 1:
                    settled = True
                    reserved = False
                continue
        elif next_cancel == now:
            settled = False

        # the pass: the lone job, or jobs from the front of the order while they fit, then jobs behind the blocked head
        front = bool(lone < 0)
        place = np.int64(0)  # where the search behind the head goes on: in the list, or the rank in the tree
        while True:
            leaves = True
            if next_cancel == now:
                job = cancel_order[cancelled]
                cancelled += 1
                next_cancel = cancel[cancel_order[cancelled]] if cancelled < len(cancel_order) else np.int64(FOREVER)
                if start[job] != CANCELLED:
                    continue
                leaves = False
            elif lone >= 0:
                job = lone
            elif front:
                if queued > 0 and procs[job_at[head]] <= free:
                    job = job_at[head]
                else:
                    front = False
                    settled = True
                    reserved = False
                    if not easy or queued <= 1 or free <= 0:
                        break
                    if not deep:
                        fewest = np.int64(NOTHING)
                        for k in range(queued):
                            fewest = min(fewest, rows[k, 1])
                        if fewest > free:
                            break
                    while est_end[0] <= now:
                        job = est_job[0]
                        remove_running(est_end, est_job, running, est_end[0], job)
                        believed[job] = corrected_end(start[job], hold[job], limit[job], now, correction)
                        insert_running(est_end, est_job, running - 1, believed[job], job)
                    shadow, extra = reservation(free, procs[job_at[head]], est_end, est_job, running, procs)
                    reserved = True
                    continue
            elif deep:
                place = next_in_tree(fill_queue, place, min(extra, free), free, shadow - now)
                if place == num_jobs:
                    break
                job = fill_job_at[place]
            else:
                place = next_in_list(fill_rows, queued, place, min(extra, free), free, shadow - now)
                if place == queued:
                    break
                job = fill_job_at[fill_rows[place, 0]]

            if lone < 0:  # out of the queue
                queued -= 1
                if deep:
                    leave_tree(queue, job)
                    if shortest_first:
                        leave_tree(fill_queue, job)
                    if queued == BACK:
                        tree_to_list(queue)
                        if shortest_first:
                            tree_to_list(fill_queue)
                        deep = False
                        place = np.int64(0)
                else:
                    leave_list(rows, queued + 1, rank[job])
                    if shortest_first:
                        leave_list(fill_rows, queued + 1, fill_rank[job])
                if rank[job] == head:
                    head = np.int64(num_jobs)
                    if deep:
                        head = next_in_tree(queue, rank[job], NOTHING, 0, 0)
                    elif queued > 0:
                        head = rows[0, 0]
                if not leaves:
                    continue
            if not front:
                backfilled[job] = queued > 0
                if now + estimate[job] > shadow:
                    extra -= procs[job]
                if (now + hold[job] > shadow) != (now + estimate[job] > shadow):
                    settled = False  # once it runs it is believed to end on the other side of the shadow time

            start[job] = now
            free -= procs[job]
            believed[job] = now + hold[job]
            add_running(heap_end, heap_job, est_end, est_job, running, now + runtime[job], believed[job], job)
            running += 1
            if lone >= 0 or (free == 0 and not front):
                break
    return DONE
