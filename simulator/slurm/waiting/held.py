"""What keeps waiting jobs before anybody looks for nodes: a time, a dependency, hours, limits and licences.

None of that depends on the queue. So a job is judged again only when something has changed that it depends on.
"""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.jobs.waits import keep_waiting, settle_wait
from simulator.slurm.clockwork import KEPT, PENDING
from simulator.slurm.limits import SUBMITTED, lacks_licences, slot_before_nodes, slot_exceeded
from simulator.slurm.queue import eligible_from, kind_of
from simulator.slurm.submission import priority_in
from simulator.slurm.waiting.ahead import count_behind, first_of, forget_first, leading_factor
from simulator.slurm.waiting.kept import (
    ARRAY_LIMIT,
    BEGIN_TIME,
    BEHIND,
    CLOSED_HOURS,
    DEPENDENCY,
    FIRST_FACTOR,
    HELD,
    LICENCES,
    LIMIT,
    SLURM_CODES,
)


@referring
def settle(replay, waits, job, now, patience):
    """Counts a job's wait up to `now` for what keeps it."""
    if waits.kept[job] == BEHIND:
        count_behind(replay, waits, job, now, FIRST_FACTOR)
    else:
        settle_wait(waits, job, now, patience, SLURM_CODES)


@referring
def set_kept(replay, waits, job, kept, other, now, patience):
    """From now on this keeps the job, the job `other`, or the limit of this slot."""
    is_same = kept == waits.kept[job] and other == (waits.slot[job] if kept == LIMIT else waits.other[job, 0])
    if not is_same:
        settle(replay, waits, job, now, patience)
        keep_waiting(waits, job, kept, other, now, SLURM_CODES)


@referring
def set_behind(replay, waits, job, now, patience):
    """From now on the first job of its partition keeps the job."""
    if waits.kept[job] != BEHIND:
        settle(replay, waits, job, now, patience)
        waits.kept[job] = BEHIND
        waits.fits_since[job] = NOT_GIVEN
        waits.ahead.begun[job] = max(waits.ahead.length[waits.ahead.place[job]] - 1, 0)


@referring
def kept_now(replay, waits, job):
    """What keeps a job, NOT_GIVEN if it does not wait."""
    if waits.kept[job] != BEHIND:
        return waits.kept[job]
    return FIRST_FACTOR + leading_factor(replay, waits.ahead, first_of(waits.ahead, job), job)


@referring_apart
def settle_all(replay, waits, now, patience):
    """Counts the wait of all jobs up to `now`, after which nobody needs to know who was ahead of them before."""
    for k in range(replay.clock[PENDING]):
        settle(replay, waits, replay.pending[k, 0], now, patience)
    forget_first(waits.ahead)


@referring
def begin_to_wait(replay, waits, job, now):
    """The job has joined the queue. The next look judges it."""
    chains, chain = waits.chains, waits.chains.of_job[job]
    waits.since[job] = now
    waits.kept[job] = HELD
    waits.ahead.partition[job] = _first_partition(replay, job, now)
    waits.ahead.place[job] = kind_of(replay.engine, job, waits.ahead.partition[job])
    chains.older[job] = chains.newest[chain]
    chains.newest[chain] = job
    waits.often[0] += 1
    waits.often[waits.often[0]] = job


@referring
def _first_partition(replay, job, now):
    """Of the job's partitions the one in which it comes first in the queue."""
    partitions, tier = replay.engine.jobs.partitions, replay.engine.site.partition_tier
    first = partitions[job, 0]
    for k in range(1, partitions.shape[1]):
        other = partitions[job, k]
        if other < 0 or tier[other] < tier[first]:
            continue
        if tier[other] > tier[first] or priority_in(replay, job, other, now) > priority_in(replay, job, first, now):
            first = other
    return first


@referring
def cease_to_wait(replay, waits, job, now, patience):
    """The job leaves the queue."""
    settle(replay, waits, job, now, patience)
    waits.kept[job] = NOT_GIVEN
    _note_before(replay, waits, job, np.int64(HELD))


@referring_apart
def judge_before(replay, waits, job, now, patience):
    """What keeps the job before anybody looks for nodes. If that is nothing, it is behind others until a look at the queue says more."""
    old = waits.before[job]
    kept, other = _keeps_before(replay, waits, job, now)
    _note_before(replay, waits, job, kept)
    if kept >= 0:
        set_kept(replay, waits, job, kept, other, now, patience)
    elif old >= 0:
        set_behind(replay, waits, job, now, patience)


@referring
def _note_before(replay, waits, job, kept):
    """Counts the rows of the queue whose jobs nothing keeps."""
    jobs = replay.engine.jobs
    sign = int(kept < 0) - int(waits.before[job] < 0)
    waits.before[job] = kept
    if sign == 0:
        return
    for k in range(jobs.partitions.shape[1]):
        if jobs.partitions[job, k] >= 0:
            waits.unheld[kind_of(replay.engine, job, jobs.partitions[job, k])] += sign


@referring
def _keeps_before(replay, waits, job, now):
    engine, jobs = replay.engine, replay.engine.jobs
    none, partition = np.int64(NOT_GIVEN), waits.ahead.partition[job]
    if replay.eligible[job] < 0:
        if jobs.held[job] > 0:
            return np.int64(HELD), none
        return np.int64(BEGIN_TIME if jobs.begin[job] > now else DEPENDENCY), none
    for gate in range(len(waits.gate_shut)):
        is_here = waits.gate_partition[gate] < 0 or waits.gate_partition[gate] == partition
        if is_here and waits.gate_shut[gate] > 0 and waits.gate_stops[gate, job]:
            return np.int64(CLOSED_HOURS), none
    limit = jobs.array_limit[job]
    if limit > 0 and engine.running.array_running[jobs.array[job]] >= limit:
        return np.int64(ARRAY_LIMIT), none
    slot = slot_before_nodes(engine, job)
    if slot >= 0:
        return np.int64(LIMIT), slot
    if lacks_licences(engine, job):
        return np.int64(LICENCES), none
    slot = slot_exceeded(engine, job, 0)
    return (np.int64(LIMIT), slot) if slot >= 0 else (none, none)


@referring
def judge_changed(replay, waits, number, all_changed, now, patience):
    """Judges the jobs again for which something may have changed. number: of this look. all_changed: whether hours have begun or ended."""
    clock = replay.clock
    for k in range(clock[KEPT]):
        job = replay.kept[k]
        if waits.kept[job] >= 0:
            replay.eligible[job] = eligible_from(replay, job, now)
            judge_before(replay, waits, job, now, patience)
    if all_changed:
        for k in range(clock[PENDING]):
            judge_before(replay, waits, replay.pending[k, 0], now, patience)
    _judge_chains(replay, waits, number, now, patience)
    left = 0
    for k in range(1, waits.often[0] + 1):
        job = waits.often[k]
        if waits.kept[job] == NOT_GIVEN:
            continue
        judge_before(replay, waits, job, now, patience)
        if _is_licensed(replay.engine.jobs, job):
            left += 1
            waits.often[left] = job
    waits.often[0] = left


@referring
def _is_licensed(jobs, job):
    """Whether what keeps the job may change with every job that starts."""
    is_licensed = jobs.array_limit[job] > 0
    for kind in range(jobs.licences.shape[1]):
        is_licensed = is_licensed or jobs.licences[job, kind] > 0
    return is_licensed


@referring_apart
def _judge_chains(replay, waits, number, now, patience):
    """Judges the jobs again whose limits have changed."""
    limits, chains = replay.engine.limits, waits.chains
    used, past, elapsed, bound = limits.used, limits.past, limits.elapsed, limits.bound
    for slot in range(len(bound)):
        is_same = (used[slot] == chains.used[slot]) & (past[slot] == chains.past[slot])
        is_same &= (elapsed[slot] == chains.elapsed[slot]) & (bound[slot] == chains.bound[slot])
        if is_same or limits.counts[slot] == SUBMITTED:
            continue
        chains.used[slot] = used[slot]
        chains.past[slot] = past[slot]
        chains.elapsed[slot] = elapsed[slot]
        chains.bound[slot] = bound[slot]
        for entry in range(chains.first[slot], chains.first[slot + 1]):
            chain = chains.chain[entry]
            if chains.number[chain] < number:
                chains.number[chain] = number
                _judge_chain(replay, waits, chain, now, patience)


@referring
def _judge_chain(replay, waits, chain, now, patience):
    """Judges the jobs of a chain again, and forgets those that wait no more."""
    chains = waits.chains
    job, newer = chains.newest[chain], np.int64(NOT_GIVEN)
    while job >= 0:
        if waits.kept[job] != NOT_GIVEN:
            judge_before(replay, waits, job, now, patience)
            newer = job
        elif newer >= 0:
            chains.older[newer] = chains.older[job]
        else:
            chains.newest[chain] = chains.older[job]
        job = chains.older[job]
