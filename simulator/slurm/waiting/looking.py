"""What keeps waiting jobs at a moment, by the rules of Slurm's main scheduler. Rules: docs/reference/slurm.md, "Main scheduler".

A look goes down the queue as a pass of the main scheduler does, but nothing starts. It ends where all partitions are closed: all jobs
further down are behind those that have closed them.
"""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.slurm.limits import slot_exceeded
from simulator.slurm.main_pass import begin_pass, close_partition, is_place_closed, reservations_allow
from simulator.slurm.nodes.selection import choose_now, reset_weights
from simulator.slurm.nodes.usable import holds_whole_nodes, kept_shape, wanted_cpus, wants_gpus
from simulator.slurm.queue import begin_rows, fill_rows, kind_of
from simulator.slurm.starting import job_limit
from simulator.slurm.waiting.ahead import MOST_FIRST, note_first
from simulator.slurm.waiting.held import set_behind, set_kept, settle_all
from simulator.slurm.waiting.kept import (
    BEHIND,
    FIRST_RESOURCE,
    LIMIT,
    NODES_AWAY,
    PACE,
    RESERVATION,
    SHARED_NODES,
)
from simulator.slurm.waiting.missing import CORES, GPUS, missing_resource


@referring_apart
def look_at_waiting(replay, waits, number, now, patience):
    """Says of every waiting job what keeps it at second `now`, after `judge_changed`. number: of this look, from 1. patience: seconds for
    which a job that fits waits for the scheduler's pace."""
    engine, waiting, left = replay.engine, replay.waiting, waits.left
    begin_pass(engine, waiting)
    begin_rows(replay, now)
    for place in range(len(left)):
        left[place] = waits.unheld[place]
    row, kept, other, is_judged = 0, np.int64(BEHIND), np.int64(NOT_GIVEN), False
    waits.seen[1, 0] = 0
    waits.room[:, 0] = -1
    while _is_open(engine, left) and fill_rows(replay, now):
        while row < waiting.length[0]:
            job, partition = waiting.job[row], waiting.partition[row]
            is_judged = is_judged and waiting.goes_on[row]
            while job >= 0:
                if waits.before[job] < 0:
                    left[kind_of(engine, job, partition)] -= 1
                    if not is_judged:
                        kept, other = _keeps_row(replay, waits, job, partition, now, patience)
                        is_judged = True
                    elif kept == PACE:  # the task before has taken room
                        kept, other = _takes_room(replay, waits, job, partition, now, patience)
                    if waits.looked[job] < number:
                        waits.looked[job] = number
                        _note(replay, waits, (job, partition), (kept, other), now, patience)
                job = waiting.next_task[job]
            row += 1
    _leave_behind(replay, waits, number, now, patience)
    for place in range(len(left)):
        if waits.ahead.length[place] == MOST_FIRST:
            settle_all(replay, waits, now, patience)
    for place in range(len(left)):
        if is_place_closed(engine.scratch, place):
            note_first(waits.ahead, place, waits.blocker[place], now)


@referring
def _is_open(engine, left):
    """Whether nobody has closed the place of a job that the look has not come to."""
    is_open = False
    for place in range(len(left)):
        is_open = is_open or (left[place] > 0 and not is_place_closed(engine.scratch, place))
    return is_open


@referring
def _note(replay, waits, row, kept, now, patience):
    """The first thing that a look says of a job counts, as of a job in several partitions. kept: what keeps it, and the other job."""
    job, seen = row[0], waits.seen
    if kept[0] >= 0:
        set_kept(replay, waits, job, kept[0], kept[1], now, patience)
        seen[1, 0] += 1
        seen[1, seen[1, 0]] = job
    else:
        set_behind(replay, waits, job, now, patience)


@referring
def _leave_behind(replay, waits, number, now, patience):
    """Jobs that the last look came to, and this one did not, are behind others now."""
    seen = waits.seen
    for k in range(1, seen[0, 0] + 1):
        job = seen[0, k]
        if waits.looked[job] < number and waits.before[job] < 0:
            set_behind(replay, waits, job, now, patience)
    for k in range(seen[1, 0] + 1):
        seen[0, k] = seen[1, k]


@referring
def _keeps_row(replay, waits, job, partition, now, patience):
    """What keeps the first task of a row that nothing keeps before, and the other job or the slot of the limit. BEHIND where others have
    closed its place."""
    engine, scratch = replay.engine, replay.engine.scratch
    none, place = np.int64(NOT_GIVEN), kind_of(engine, job, partition)
    if is_place_closed(engine.scratch, place):
        return np.int64(BEHIND), none
    if _surely_fits(engine, waits, job, partition, now):
        return _takes_room(replay, waits, job, partition, now, patience)
    _allow(engine, job, partition, now, True, True)
    if not reservations_allow(engine, job, now, job_limit(engine, job, partition)):
        return np.int64(RESERVATION), none
    reset_weights(engine, partition)
    chosen = choose_now(engine, job, partition)
    if chosen > 0:
        slot = slot_exceeded(engine, job, chosen)
        waits.fits_on[waits.request[job]] = scratch.chosen[0]
        if slot >= 0:
            return np.int64(LIMIT), slot
        return _takes_room(replay, waits, job, partition, now, patience)
    kept, other = _keeps_nodes(engine, waits, job, partition, now)
    _close(engine, waits, job, partition)
    return np.int64(kept), other


@referring
def _close(engine, waits, job, partition):
    """The job closes its place, and the nodes of its partition."""
    scratch, own = engine.scratch, engine.jobs.reservation[job]
    waits.blocker[kind_of(engine, job, partition)] = job
    if own < 0:
        for node in range(len(scratch.open_nodes)):
            if engine.site.partition_nodes[partition, node] and scratch.open_nodes[node]:
                waits.closer[node] = job
    close_partition(engine, own, partition)


@referring
def _takes_room(replay, waits, job, partition, now, patience):
    """What keeps a job that fits: only the scheduler's pace, unless those ahead of it in its partition fit, too, and leave too little
    for it. A job that has fitted for longer than any scheduler takes is kept by something else, and takes nothing from others."""
    engine, room, none = replay.engine, waits.room, np.int64(NOT_GIVEN)
    if engine.jobs.reservation[job] >= 0:
        return np.int64(PACE), none
    if room[partition, 0] < 0:
        _measure_room(engine, room, partition, now)
    cpus, gpus = wanted_cpus(engine.jobs, job), wants_gpus(engine.jobs, job) * engine.jobs.min_nodes[job]
    if cpus > room[partition, 0] or gpus > room[partition, 1]:
        _close(engine, waits, job, partition)
        return np.int64(FIRST_RESOURCE + (CORES if cpus > room[partition, 0] else GPUS)), none
    if waits.fits_since[job] < 0 or now - waits.fits_since[job] <= patience:
        room[partition, 0] -= cpus
        room[partition, 1] -= gpus
    return np.int64(PACE), none


@referring
def _measure_room(engine, room, partition, now):
    """CPUs and GPUs that are free on the nodes of a partition that nobody has closed."""
    scratch, free, nodes = engine.scratch, engine.free, engine.site.partition_nodes[partition]
    room[partition, 0] = 0
    room[partition, 1] = 0
    for node in range(len(nodes)):
        if nodes[node] and scratch.open_nodes[node] and scratch.away[node] <= now and free.whole[node] == 0:
            room[partition, 0] += free.cpus[node]
            room[partition, 1] += free.gpus[node, free.gpus.shape[1] - 1]


@referring
def _surely_fits(engine, waits, job, partition, now):
    """Whether a job fits for sure, without a choice of nodes, and takes no more than its limits were judged by. False where that needs a
    closer look."""
    site, jobs = engine.site, engine.jobs
    node, nodes = waits.fits_on[waits.request[job]], jobs.min_nodes[job]
    if node < 0 or len(site.reservation_times) > 0 or holds_whole_nodes(site, jobs, job, partition):
        return False
    shape = kept_shape(engine, job, partition)
    fits = False
    if jobs.max_nodes[job] == 1:  # where another job with the same request fitted
        fits = _counts(engine, job, partition, shape, node, now)
    elif jobs.max_nodes[job] == nodes and jobs.tasks[job] == nodes * jobs.tasks_per_node[job]:
        # each node that it can use has room for its tasks
        count, place = 0, 0
        while count < nodes and place < len(site.cpus) and len(site.switch_level) == 0:
            count += _counts(engine, job, partition, shape, place, now)
            place += 1
        fits = count == nodes
    engine.scratch.tested[job] |= fits
    return fits


@referring
def _counts(engine, job, partition, shape, node, now):
    """Whether the job can use the node, which nobody has closed."""
    site, scratch = engine.site, engine.scratch
    if engine.shapes.usable[shape, node] == 0 or not site.partition_nodes[partition, node]:
        return False
    is_free = scratch.open_nodes[node] and scratch.away[node] <= now and scratch.completing[node] <= now
    return is_free and site.feature_nodes[engine.jobs.features[job], node]


@referring
def _allow(engine, job, partition, now, without_closed, without_away):
    """Allows the nodes of the partition that have the job's features and do not complete."""
    site, scratch = engine.site, engine.scratch
    nodes, featured = site.partition_nodes[partition], site.feature_nodes[engine.jobs.features[job]]
    allowed, is_open, completing, away = scratch.allowed, scratch.open_nodes, scratch.completing, scratch.away
    for node in range(len(allowed)):
        is_here = (away[node] <= now) | (not without_away)
        is_here &= is_open[node] | (not without_closed)
        allowed[node] = nodes[node] & featured[node] & is_here & (completing[node] <= now)


@referring
def _keeps_nodes(engine, waits, job, partition, now):
    """Why the first job of a partition does not find its nodes: others have closed them, reservations hold them, they are away, or a
    resource is missing."""
    none = np.int64(NOT_GIVEN)
    limit = job_limit(engine, job, partition)
    _allow(engine, job, partition, now, False, True)
    allows = reservations_allow(engine, job, now, limit)
    if allows and choose_now(engine, job, partition) > 0:
        closed = none
        for node in range(len(engine.scratch.allowed)):
            if engine.scratch.allowed[node] and not engine.scratch.open_nodes[node]:
                closed = waits.closer[node]
        return SHARED_NODES, closed
    _allow(engine, job, partition, now, False, True)
    if choose_now(engine, job, partition) > 0:
        return RESERVATION, none
    _allow(engine, job, partition, now, False, False)
    if choose_now(engine, job, partition) > 0:
        return NODES_AWAY, none
    _allow(engine, job, partition, now, False, True)
    return FIRST_RESOURCE + missing_resource(engine, job, partition), none
