"""Follows a schedule that is given, of the log or of a replay, and says what kept every job until it started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import ClusterArrays
from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.compiled import referring
from simulator.jobs.cluster import FOREVER
from simulator.replayer import watched
from simulator.slurm.clockwork import (
    ENDING,
    EPILOGS,
    KEPT,
    LAST_EVENT,
    NEXT_ABSENCE,
    NEXT_SUBMIT,
    PENDING,
    PERIOD_DUE,
    Replay,
)
from simulator.slurm.limits import OUTSTANDING, USED, count_elapsed, count_submitted
from simulator.slurm.loop import end_finished, renew_priorities, take_started
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.queue import eligible_from
from simulator.slurm.replaying import Phases, new_replay
from simulator.slurm.starting import begin_job
from simulator.slurm.state import Limits
from simulator.slurm.submission import queue_up
from simulator.slurm.waiting.held import begin_to_wait, cease_to_wait, judge_changed, kept_now, settle_all
from simulator.slurm.waiting.kept import Waits, no_waits
from simulator.slurm.waiting.looking import look_at_waiting
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
_GATE, _BOUND = range(2)
"""What changes at a second: whether a gate is closed, or the bound of a limit."""


class GivenSchedule(NamedTuple):
    """When jobs left the queue and where they ran. start, end: (jobs,), NOT_GIVEN for a job that never started. left: (jobs,), when a job
    stopped to wait, by its start or because it was cancelled, FOREVER for one that still waits. partition: (jobs,), that it started in.
    The nodes of job j are the rows first[j] to first[j + 1] of node; a job that has none there gets nodes that fit."""

    start: IntArray
    end: IntArray
    left: IntArray
    partition: IntArray
    first: IntArray  # (jobs + 1,)
    node: IntArray  # (rows,)


class GivenLimits(NamedTuple):
    """Limits in place of those that Slurm would have. changes: (changes, 3), a second, a slot and its bound from then on."""

    limits: Limits
    changes: IntArray


@dataclass(frozen=True)
class KeptWaits:
    """waits: what kept each job. patience_s: for how long a job that fits waits for the scheduler's pace. odd_layouts: jobs that did not
    fit where the schedule has them, by the rules that we know."""

    waits: Waits
    replay: Replay
    patience_s: int
    odd_layouts: int
    at_moments: NDArray[np.int8]  # (moments, jobs), what kept each job then, NOT_GIVEN where it did not wait


def follow_schedule(
    description: ClusterDescription,
    arrays: ClusterArrays,
    requests: Requests,
    given: GivenSchedule,
    moments: IntArray | None = None,
    hours: Sequence[IntArray] = (),
    limits: GivenLimits | None = None,
) -> KeptWaits:
    """What kept the jobs of a schedule, second by second: the seconds of a job add up to its wait. moments: ascending, at which all that is
    kept is written down. hours: of each gate of the cluster, when it closes and opens in turns; gates without them stay open. limits: of
    the jobs, None for those that Slurm makes of the description."""
    requests = requests._replace(submit=np.minimum(requests.submit, given.left))  # no job starts before it is there
    runtime = np.where(given.start >= 0, np.maximum(given.end - given.start, 0), 0)
    replay = new_replay(description, arrays, requests, runtime, Phases())
    if limits is not None:
        replay = replay._replace(engine=replay.engine._replace(limits=limits.limits))
    settings = replay.engine.site.settings
    patience = max(settings.full_interval, 2 * settings.interval) + settings.batch_delay
    num_reservations = len(arrays.reservation_times)
    stops, of_partition, changes = _gates(description, requests, hours)
    if limits is not None:
        bounds = np.insert(limits.changes, 1, _BOUND, axis=1)
        changes = np.concatenate([changes, bounds])
    changes = changes[np.argsort(changes[:, 0], kind="stable")]
    sizes = (len(arrays.max_time), num_reservations, arrays.num_nodes)
    waits = no_waits(replay.engine.jobs, replay.engine.limits, *sizes)
    waits = waits._replace(gate_stops=stops, gate_partition=of_partition, gate_shut=np.zeros_like(of_partition))
    order = np.argsort(given.left, kind="stable")
    # with priorities that stay, no period counts what running jobs have used by now
    elapses = settings.basic > 0 and np.isin(replay.engine.limits.counts, (USED, OUTSTANDING)).any()
    counts = np.array([0, elapses], dtype=np.int64)
    moments = np.zeros(0, dtype=np.int64) if moments is None else moments
    written = np.full((len(moments), len(given.start)), NOT_GIVEN, dtype=np.int8)
    with watched("jobs followed from their submission to their start", replay.engine.running.start):
        _follow(replay, waits, given, (order, counts, moments, written, changes), patience)
    return KeptWaits(waits, replay, patience, int(counts[0]), written)


def _gates(
    description: ClusterDescription, requests: Requests, hours: Sequence[IntArray]
) -> tuple[NDArray[np.bool_], IntArray, IntArray]:
    """Of a cluster's gates the jobs that each holds (gates, jobs), its partition, NOT_GIVEN for all, and when they close and open. Each of
    these changes has a second, _GATE, the gate, and 1 where it closes or -1 where it opens."""
    place = {partition.name: k for k, partition in enumerate(description.queues)}
    gates = [
        (gate, seconds)
        for gate, seconds in zip(description.gates, hours, strict=False)
        if not gate.partition or gate.partition in place
    ]
    cpus = requests.tasks * requests.cpus_per_task
    stops = np.ones((len(gates), len(requests.submit)), dtype=np.bool_)
    changes = []
    for k, (gate, seconds) in enumerate(gates):
        if gate.over_time_s is not None:
            stops[k] &= requests.limit > gate.over_time_s
        if gate.over_cpus is not None:
            stops[k] &= cpus > gate.over_cpus
        changes += [(second, _GATE, k, 1 - 2 * (turn % 2)) for turn, second in enumerate(seconds.tolist())]
    of_partition = np.array([place.get(gate.partition, NOT_GIVEN) for gate, _ in gates], dtype=np.int64)
    return stops, of_partition, np.array(changes, dtype=np.int64).reshape(-1, 4)


@referring
def _follow(replay, waits, given, leaving, patience):
    """Runs until the last job has left the queue. leaving: jobs in the order in which they do, the number of odd layouts with whether
    limits count what has been used, moments, what keeps every job at them, and when gates close and open and bounds change."""
    clock, jobs = replay.clock, replay.engine.jobs
    order, counts, moments, written, changes = leaving
    place, number, moment, change, last, drops = 0, 0, 0, 0, np.int64(0), False
    while True:
        now = _next_change(replay, given, order, place)
        if now < FOREVER and clock[PENDING] > 0 and change < len(changes) and changes[change, 0] < now:
            now = changes[change, 0]
            clock[LAST_EVENT] = now
        while moment < len(moments) and moments[moment] < now:
            for k in range(clock[PENDING]):
                written[moment, replay.pending[k, 0]] = kept_now(replay, waits, replay.pending[k, 0])
            moment += 1
        if now >= FOREVER:
            settle_all(replay, waits, last, patience)
            return
        last = now
        end_finished(replay, now)
        clock[EPILOGS] = 0  # they take no time here, and a list of all would grow with the log
        _note_absences(replay, now)
        if clock[PERIOD_DUE] <= now:
            settle_all(replay, waits, now, patience)
            renew_priorities(replay, now)
        while clock[NEXT_SUBMIT] < len(replay.order):
            job = replay.order[clock[NEXT_SUBMIT]]
            if jobs.submit[job] > now:
                break
            clock[NEXT_SUBMIT] += 1
            count_submitted(replay.engine, job, 1)
            replay.eligible[job] = eligible_from(replay, job, now)
            queue_up(replay, job, now)
            begin_to_wait(replay, waits, job, now)
        before = place
        while place < len(order) and given.left[order[place]] <= now:
            cease_to_wait(replay, waits, order[place], now, patience)
            drops = drops or given.start[order[place]] < 0
            _leave(replay, given, order[place], counts)
            place += 1
        if place > before:
            take_started(replay, now, False)
            if drops:
                _drop_cancelled(replay, waits, given, now, patience)
                drops = False
        number += 1
        if counts[1] > 0 and clock[PENDING] > 0:
            count_elapsed(replay.engine, now)
        gates_changed = False
        while change < len(changes) and changes[change, 0] <= now:
            if changes[change, 1] == _GATE:
                waits.gate_shut[changes[change, 2]] += changes[change, 3]
                gates_changed = True
            else:
                replay.engine.limits.bound[changes[change, 2]] = changes[change, 3]
            change += 1
        judge_changed(replay, waits, number, gates_changed, now, patience)
        look_at_waiting(replay, waits, number, now, patience)


@referring
def _next_change(replay, given, order, place):
    """The next second in which a job comes, starts, ends or may start, or priorities are renewed."""
    clock, site, jobs = replay.clock, replay.engine.site, replay.engine.jobs
    now = np.int64(FOREVER)
    if clock[NEXT_SUBMIT] < len(replay.order):
        now = jobs.submit[replay.order[clock[NEXT_SUBMIT]]]
    if place < len(order):
        now = min(now, given.left[order[place]])
    if now >= FOREVER:
        return now
    if clock[ENDING] > 0:
        job = replay.ending[clock[ENDING] - 1]
        now = min(now, replay.engine.running.start[job] + replay.runtime[job])
    if clock[NEXT_ABSENCE] < len(site.absences):
        now = min(now, site.absences[clock[NEXT_ABSENCE], 0])
    if clock[PENDING] > 0:
        now = min(now, clock[PERIOD_DUE])
        for k in range(clock[KEPT]):
            job = replay.kept[k]
            if replay.eligible[job] < 0 and jobs.begin[job] > clock[LAST_EVENT]:
                now = min(now, jobs.begin[job])
        for k in range(len(site.reservation_times)):
            for column in range(2):
                if site.reservation_times[k, column] > clock[LAST_EVENT]:
                    now = min(now, site.reservation_times[k, column])
    clock[LAST_EVENT] = max(now, clock[LAST_EVENT])
    return now


@referring
def _note_absences(replay, now):
    """Nodes that are away from now on. Their jobs end when the schedule says so."""
    clock, away, absences = replay.clock, replay.engine.scratch.away, replay.engine.site.absences
    while clock[NEXT_ABSENCE] < len(absences) and absences[clock[NEXT_ABSENCE], 0] <= now:
        row = absences[clock[NEXT_ABSENCE]]
        away[row[2]] = max(away[row[2]], row[1])
        clock[NEXT_ABSENCE] += 1


@referring
def _leave(replay, given, job, counts):
    """A job stops to wait. One that starts takes its nodes, as the engine lays it out there."""
    if given.start[job] < 0:
        return
    engine, scratch = replay.engine, replay.engine.scratch
    partition, first = given.partition[job], given.first[job]
    nodes = given.first[job + 1] - first
    if nodes > 0:
        for node in range(len(scratch.allowed)):
            scratch.allowed[node] = False
        for row in range(first, first + nodes):
            scratch.allowed[given.node[row]] = True
    else:
        for node in range(len(scratch.allowed)):
            scratch.allowed[node] = engine.site.partition_nodes[partition, node]
    chosen = choose_nodes(engine, engine.free, job, partition)
    room = engine.running.first[job + 1] - engine.running.first[job]
    if chosen == 0 or (nodes > 0 and chosen != nodes):
        counts[0] += 1
        chosen = min(nodes, room)
        wanted = max(engine.jobs.tasks[job] * engine.jobs.cpus_per_task[job], chosen)
        for k in range(chosen):
            scratch.chosen[k] = given.node[first + k]
            scratch.cpus[k] = wanted // chosen + (k < wanted % chosen)
    begin_job(engine, job, partition, chosen, given.start[job])


@referring
def _drop_cancelled(replay, waits, given, now, patience):
    """Jobs that were cancelled while they waited leave the queue."""
    clock, pending = replay.clock, replay.pending
    kept = 0
    for k in range(clock[PENDING]):
        job = pending[k, 0]
        if given.left[job] <= now:
            if waits.kept[job] != NOT_GIVEN:
                cease_to_wait(replay, waits, job, now, patience)
            if replay.finished[job] < 0:
                replay.finished[job] = now
                count_submitted(replay.engine, job, -1)
            continue
        for column in range(pending.shape[1]):
            pending[kept, column] = pending[k, column]
        kept += 1
    clock[PENDING] = kept
