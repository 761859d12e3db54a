"""What keeps a waiting job at a moment, by the rules of Slurm's main scheduler. Rules: docs/reference/slurm.md, "Main scheduler".

A look goes down the queue as a pass of the main scheduler does, but nothing starts. Of every job it says the first thing that keeps it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.jobs.waits import KeptCodes, keep_waiting, kept_columns
from simulator.slurm.clockwork import PENDING
from simulator.slurm.limits import lacks_licences, slot_before_nodes, slot_exceeded
from simulator.slurm.main_pass import close_partition, reservations_allow
from simulator.slurm.nodes.selection import choose_now, reset_weights
from simulator.slurm.queue import fill_waiting
from simulator.slurm.starting import job_limit
from simulator.slurm.waiting.missing import CORES, EARLIER, leading_factor, missing_resource

IntArray = NDArray[np.int64]
(
    DEPENDENCY,
    BEGIN_TIME,
    HELD,
    ARRAY_LIMIT,
    LIMIT,
    LICENCES,
    RESERVATION,
    NODES_AWAY,
    SHARED_NODES,
    CLOSED_HOURS,
    PACE,
    UNKNOWN,
) = range(12)
"""What keeps a job. Behind them are the resources of simulator/slurm/waiting/words.py, and behind these the factors of ahead.py, by which
jobs of higher priority are ahead. PACE and UNKNOWN: nothing keeps the job, for a while, and longer than any scheduler takes."""
SLURM_CODES = KeptCodes(LIMIT, PACE, UNKNOWN)
FIRST_RESOURCE = UNKNOWN + 1
FIRST_FACTOR = FIRST_RESOURCE + CORES + 1
NUM_KEPT = FIRST_FACTOR + EARLIER + 1


class Waits(NamedTuple):
    """What kept each job, with the columns of simulator.jobs.waits. `other` may also be the job that has closed its nodes. looked: the
    number of the look that has seen it. blocker: of each partition, the job that has closed it. closer: of each node. gate_stops,
    gate_partition (NOT_GIVEN for all): which jobs each gate holds. gate_shut: above 0 in its hours."""

    seconds: IntArray  # (jobs, NUM_KEPT)
    kept: IntArray  # (jobs,)
    since: IntArray  # (jobs,)
    fits_since: IntArray  # (jobs,)
    other: IntArray  # (jobs, 2)
    longest: IntArray  # (jobs, 2)
    slot: IntArray  # (jobs,)
    looked: IntArray  # (jobs,)
    blocker: IntArray  # (partitions + reservations,)
    closer: IntArray  # (nodes,)
    gate_stops: NDArray[np.bool_]  # (gates, jobs)
    gate_partition: IntArray  # (gates,)
    gate_shut: IntArray  # (gates,)


def no_waits(num_jobs: int, num_partitions: int, num_reservations: int, num_nodes: int) -> Waits:
    """Nobody waits, nothing is counted, and there are no gates."""
    return Waits(
        *kept_columns(num_jobs, NUM_KEPT),
        looked=np.zeros(num_jobs, dtype=np.int64),
        blocker=np.full(num_partitions + num_reservations, NOT_GIVEN, dtype=np.int64),
        closer=np.full(num_nodes, NOT_GIVEN, dtype=np.int64),
        gate_stops=np.zeros((0, num_jobs), dtype=np.bool_),
        gate_partition=np.zeros(0, dtype=np.int64),
        gate_shut=np.zeros(0, dtype=np.int64),
    )


@referring_apart
def look_at_waiting(replay, waits, number, now):
    """Says of every waiting job what keeps it at second `now`. number: of this look, from 1."""
    engine, waiting = replay.engine, replay.waiting
    scratch, jobs = engine.scratch, engine.jobs
    scratch.open_nodes[:] = True
    scratch.failed[:] = False
    scratch.failed_reservation[:] = False
    fill_waiting(replay, replay.clock[PENDING], now)
    for row in range(waiting.length[0]):
        job, partition = waiting.job[row], waiting.partition[row]
        kept, other = _keeps(replay, waits, job, partition, now)
        while job >= 0:
            _note(waits, job, kept, other, number, now)
            job = waiting.next_task[job]
    for k in range(replay.clock[PENDING]):
        job = replay.pending[k, 0]
        kept = DEPENDENCY
        if jobs.held[job] > 0:
            kept = HELD
        elif jobs.begin[job] > now:
            kept = BEGIN_TIME
        _note(waits, job, kept, np.int64(NOT_GIVEN), number, now)


@referring
def _note(waits, job, kept, other, number, now):
    """The first thing that a look says of a job counts, as of a job in several partitions."""
    if waits.looked[job] == number:
        return
    waits.looked[job] = number
    keep_waiting(waits, job, kept, other, now, SLURM_CODES)


@referring
def _keeps(replay, waits, job, partition, now):
    """What keeps the first waiting task of a row, and the other job or the slot of the limit."""
    engine = replay.engine
    scratch, own = engine.scratch, engine.jobs.reservation[job]
    none = np.int64(NOT_GIVEN)
    for gate in range(len(waits.gate_shut)):
        is_here = waits.gate_partition[gate] < 0 or waits.gate_partition[gate] == partition
        if is_here and waits.gate_shut[gate] > 0 and waits.gate_stops[gate, job]:
            return CLOSED_HOURS, none
    limit = engine.jobs.array_limit[job]
    if limit > 0 and engine.running.array_running[engine.jobs.array[job]] >= limit:
        return ARRAY_LIMIT, none
    slot = slot_before_nodes(engine, job)
    if slot >= 0:
        return LIMIT, slot
    if lacks_licences(engine, job):
        return LICENCES, none
    slot = slot_exceeded(engine, job, 0)
    if slot >= 0:
        return LIMIT, slot
    place = partition if own < 0 else len(scratch.failed) + own
    if scratch.failed[partition] if own < 0 else scratch.failed_reservation[own]:
        other = waits.blocker[place]
        return FIRST_FACTOR + leading_factor(replay, other, job, partition, now), other
    _allow(engine, job, partition, now, True, True)
    if not reservations_allow(engine, job, now, job_limit(engine, job, partition)):
        return RESERVATION, none
    reset_weights(engine, partition)
    chosen = choose_now(engine, job, partition)
    if chosen > 0:
        slot = slot_exceeded(engine, job, chosen)
        return (LIMIT, slot) if slot >= 0 else (PACE, none)
    kept, other = _keeps_nodes(engine, waits, job, partition, now)
    waits.blocker[place] = job
    if own < 0:
        for node in range(len(scratch.open_nodes)):
            if engine.site.partition_nodes[partition, node] and scratch.open_nodes[node]:
                waits.closer[node] = job
    close_partition(engine, own, partition)
    return kept, other


@referring
def _allow(engine, job, partition, now, without_closed, without_away):
    """Allows the nodes of the partition that have the job's features and do not complete."""
    site, scratch = engine.site, engine.scratch
    nodes, featured = site.partition_nodes[partition], site.feature_nodes[engine.jobs.features[job]]
    for node in range(len(scratch.allowed)):
        is_open = scratch.open_nodes[node] or not without_closed
        is_here = scratch.away[node] <= now or not without_away
        scratch.allowed[node] = nodes[node] & featured[node] & is_open & is_here & (scratch.completing[node] <= now)


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
