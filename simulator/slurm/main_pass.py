"""The main scheduler: down the queue, until a job of each partition does not fit. Rules: docs/reference/slurm.md, "Main scheduler"."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.slurm.limits import lacks_licences, over_limit, too_many_jobs
from simulator.slurm.nodes.plans import covers_all
from simulator.slurm.nodes.selection import choose_above, reset_weights
from simulator.slurm.preemption import preempt_for
from simulator.slurm.rows import LETS_ALL_PASS
from simulator.slurm.starting import begin_job, job_limit

STARTS, PASSED_OVER, BLOCKS = range(3)
"""What becomes of a job: it starts, it is passed over, or it blocks its partition for the rest of the pass."""


@referring_apart
def main_pass(engine, waiting, depth, now):
    """Runs one pass over the queue at second `now`, down to `depth` jobs. Returns how many started. `scratch.open_nodes` and
    `scratch.failed` say what is closed."""
    scratch, jobs, settings = engine.scratch, engine.jobs, engine.site.settings
    waiting.partition_tests[:] = 0
    scratch.open_nodes[:] = True
    scratch.failed[:] = False
    scratch.failed_reservation[:] = False
    started = 0
    looked_at = 0
    for row in range(waiting.length[0]):
        job, partition = waiting.job[row], waiting.partition[row]
        while job >= 0:
            own = jobs.reservation[job]
            blocked = scratch.failed[partition] if own < 0 else scratch.failed_reservation[own]
            if blocked:
                break
            if engine.running.start[job] >= 0:  # in another of its partitions
                job = waiting.next_task[job]
                continue
            waiting.partition_tests[partition] += 1
            if 0 < settings.partition_depth < waiting.partition_tests[partition]:
                break
            looked_at += 1
            if looked_at > depth:
                return started
            limit = jobs.array_limit[job]
            if limit > 0 and engine.running.array_running[jobs.array[job]] >= limit:
                break
            outcome = _try_to_start(engine, job, partition, now)
            if outcome == STARTS:
                started += 1
                if 0 < settings.pass_starts <= started:
                    return started
                job = waiting.next_task[job]
                continue
            if outcome == BLOCKS and waiting.reserves[row] != LETS_ALL_PASS:
                close_partition(engine, own, partition)
            break
    return started


@referring
def close_partition(engine, reservation, partition):
    """Closes a reservation, or a partition with all its nodes, also for other partitions that share them."""
    scratch = engine.scratch
    if reservation >= 0:
        scratch.failed_reservation[reservation] = True
        return
    scratch.failed[partition] = True
    for node in range(len(scratch.open_nodes)):
        if engine.site.partition_nodes[partition, node]:
            scratch.open_nodes[node] = False


@referring
def _try_to_start(engine, job, partition, now):
    site, scratch = engine.site, engine.scratch
    if too_many_jobs(engine, job) or lacks_licences(engine, job):
        return PASSED_OVER
    nodes = site.partition_nodes[partition]
    featured = site.feature_nodes[engine.jobs.features[job]]
    for node in range(len(scratch.allowed)):
        scratch.allowed[node] = (
            nodes[node]
            & featured[node]
            & scratch.open_nodes[node]
            & (scratch.completing[node] <= now)
            & (scratch.away[node] <= now)
        )
    if not reservations_allow(engine, job, now, job_limit(engine, job, partition)):
        return PASSED_OVER if engine.jobs.reservation[job] < 0 else BLOCKS
    reset_weights(engine, partition)
    chosen = choose_above(engine, job, partition)
    if over_limit(engine, job, chosen):
        return BLOCKS if site.settings.stops_at_limit > 0 else PASSED_OVER
    if chosen == 0:
        preempt_for(engine, job, partition, now)
        return BLOCKS
    begin_job(engine, job, partition, chosen, now)
    return STARTS


@referring
def reservations_allow(engine, job, now, limit):
    """Whether reservations let the job start now. Takes nodes of other ones out of `scratch.allowed`."""
    site, allowed = engine.site, engine.scratch.allowed
    own = engine.jobs.reservation[job]
    if own >= 0:
        if not site.reservation_times[own, 0] <= now < site.reservation_times[own, 1]:
            return False
        for node in range(len(allowed)):
            allowed[node] = allowed[node] and site.reservation_nodes[own, node]
    for other in range(len(site.reservation_times)):
        if other == own or site.reservation_times[other, 2] > now:
            continue
        if site.reservation_times[other, 0] < now + limit and now < site.reservation_times[other, 1]:
            if covers_all(site, other):
                return False
            for node in range(len(allowed)):
                allowed[node] = allowed[node] and not site.reservation_nodes[other, node]
    return True
