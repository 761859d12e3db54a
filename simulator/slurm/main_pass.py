"""The main scheduler: down the queue, until a job of each partition does not fit. Rules: docs/reference/slurm.md, "Main scheduler"."""

from __future__ import annotations

from simulator.compiled import referring, referring_apart
from simulator.slurm.limits import is_over_anywhere, lacks_licences, over_limit, too_many_jobs
from simulator.slurm.nodes.plans import covers_all
from simulator.slurm.nodes.selection import choose_above, reset_weights
from simulator.slurm.preemption import preempt_for
from simulator.slurm.rows import HAS_LEFT, LETS_ALL_PASS, ROW, STARTS, TESTS
from simulator.slurm.starting import begin_job, job_limit

STARTS_NOW, PASSED_OVER, BLOCKS = range(3)
"""What becomes of a job: it starts, it is passed over, or it blocks its partition for the rest of the pass."""


@referring_apart
def main_pass(engine, waiting, depth, now):
    """Runs one pass over all rows at second `now`, down to `depth` jobs. Returns how many started. `scratch.open_nodes` and
    `scratch.failed` say what is closed."""
    begin_pass(engine, waiting)
    pass_down(engine, waiting, depth, now)
    return waiting.walk[STARTS]


@referring
def begin_pass(engine, waiting):
    """A pass begins at the head of the queue."""
    scratch = engine.scratch
    waiting.partition_tests[:] = 0
    waiting.walk[:] = 0
    scratch.open_nodes[:] = True
    scratch.failed[:] = False
    scratch.failed_reservation[:] = False


@referring_apart
def pass_down(engine, waiting, depth, now):
    """The pass goes down the rows that it has not looked at. Returns whether it may start something further down."""
    scratch, jobs, settings, walk = engine.scratch, engine.jobs, engine.site.settings, waiting.walk
    for row in range(walk[ROW], waiting.length[0]):
        if waiting.goes_on[row] and walk[HAS_LEFT] > 0:
            continue
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
            walk[TESTS] += 1
            if walk[TESTS] > depth:
                return False
            limit = jobs.array_limit[job]
            if limit > 0 and engine.running.array_running[jobs.array[job]] >= limit:
                break
            outcome = _try_to_start(engine, job, partition, now)
            if outcome == STARTS_NOW:
                walk[STARTS] += 1
                if 0 < settings.pass_starts <= walk[STARTS]:
                    return False
                job = waiting.next_task[job]
                continue
            if outcome == BLOCKS and waiting.reserves[row] != LETS_ALL_PASS:
                close_partition(engine, own, partition)
            break
        walk[HAS_LEFT] = job >= 0
    walk[ROW] = waiting.length[0]
    return _is_open_behind(scratch, waiting.behind)


@referring
def _is_open_behind(scratch, behind):
    """Whether a job further down is of a partition or a reservation that is not closed."""
    is_open = False
    for place in range(len(behind)):
        is_open = is_open or (behind[place] > 0 and not is_place_closed(scratch, place))
    return is_open


@referring
def is_place_closed(scratch, place):
    """Whether a partition, or behind those a reservation, is closed."""
    partitions = len(scratch.failed)
    return scratch.failed[place] if place < partitions else scratch.failed_reservation[place - partitions]


@referring
def close_partition(engine, reservation, partition):
    """Closes a reservation, or a partition with all its nodes, also for other partitions that share them."""
    scratch = engine.scratch
    if reservation >= 0:
        scratch.failed_reservation[reservation] = True
        return
    scratch.failed[partition] = True
    nodes, is_open = engine.site.partition_nodes[partition], scratch.open_nodes
    for node in range(len(is_open)):
        is_open[node] &= not nodes[node]


@referring
def _try_to_start(engine, job, partition, now):
    site, scratch = engine.site, engine.scratch
    if too_many_jobs(engine, job) or lacks_licences(engine, job):
        return PASSED_OVER
    is_over = is_over_anywhere(engine, job)
    if not is_over or len(site.reservation_times) > 0:
        _allow(engine, job, partition, now)
        if not reservations_allow(engine, job, now, job_limit(engine, job, partition)):
            return PASSED_OVER if engine.jobs.reservation[job] < 0 else BLOCKS
    reset_weights(engine, partition)
    scratch.tested[job] = True
    chosen = 0 if is_over else choose_above(engine, job, partition)
    if over_limit(engine, job, chosen):
        return BLOCKS if site.settings.stops_at_limit > 0 else PASSED_OVER
    if chosen == 0:
        preempt_for(engine, job, partition, now)
        return BLOCKS
    begin_job(engine, job, partition, chosen, now)
    return STARTS_NOW


@referring
def _allow(engine, job, partition, now):
    """Allows the nodes of the partition that have the job's features, are open, and neither complete nor are away."""
    site, scratch = engine.site, engine.scratch
    nodes, featured = site.partition_nodes[partition], site.feature_nodes[engine.jobs.features[job]]
    # a loop that reads fields of the state would read them for each node
    allowed, is_open, completing, away = scratch.allowed, scratch.open_nodes, scratch.completing, scratch.away
    for node in range(len(allowed)):
        allowed[node] = nodes[node] & featured[node] & is_open[node] & (completing[node] <= now) & (away[node] <= now)


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
