"""Follows a schedule that is given, of a log, and says what kept every job until it started, by the rules of its PBS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import referring
from simulator.jobs.cluster import FOREVER
from simulator.jobs.waits import kept_columns, settle_wait
from simulator.pbs.cycle import move_ends
from simulator.pbs.loop import note_pbs_end
from simulator.pbs.occurrences import leave_windows, next_opening
from simulator.pbs.queueing import join_pbs_queue
from simulator.pbs.replaying import new_pbs_replay
from simulator.pbs.requests import PbsJob, resources_of
from simulator.pbs.settings import PbsPhases
from simulator.pbs.starting import end_pbs_job, find_known_nodes, start_pbs_job
from simulator.pbs.state import BEGINS, ENDING, KEPT, KEPT_S, LAST_PASS, NEXT_SUBMIT, OVER, UNSET
from simulator.pbs.waiting.looking import (
    BEGIN_TIME,
    CORES,
    GPUS,
    MEMORY,
    OTHER_RESOURCE,
    PBS_CODES,
    PBS_KEPT,
    PbsWaits,
    look_at_pbs_queue,
)
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
ENDED = 3
"""State of a reservation that is over."""


class GivenStarts(NamedTuple):
    """When jobs left the queue and where they ran. start, end: (jobs,), UNSET for a job that never started. left: (jobs,), when a job
    stopped to wait. The nodes of job j are the rows first[j] to first[j + 1] of node, places in the description, and of cpus, processors
    that it held there, UNSET where that is not known. A job without nodes there gets nodes that fit."""

    start: IntArray
    end: IntArray
    left: IntArray
    first: IntArray  # (jobs + 1,)
    node: IntArray  # (rows,)
    cpus: IntArray  # (rows,)


def follow_pbs(
    description: ClusterDescription,
    asked: Sequence[PbsJob],
    given: GivenStarts,
    patience_s: int,
    moments: IntArray | None = None,
) -> tuple[PbsWaits, NDArray[np.int8]]:
    """What kept the jobs of a schedule, and what keeps each at some moments, int8 (moments, jobs). The seconds of a job add up to its wait.

    asked: the jobs, with times in seconds of the description's clock. patience_s: for how long a job that fits waits for PBS's pace.
    moments: ascending. Raises ValueError as a replay does, for jobs that the cluster cannot have."""
    submit = np.array([one.submit_s for one in asked], dtype=np.int64)
    runtime = np.where(given.start >= 0, np.maximum(given.end - given.start, 0), 0)
    replay = new_pbs_replay(description, asked, (submit, runtime), PbsPhases())
    arrival = np.maximum(np.minimum(replay.arrival, given.left), submit)
    replay = replay._replace(arrival=arrival, order=np.argsort(arrival, kind="stable"))
    engine, count = replay.engine, len(asked)
    # where a node of the description is in PBS's order
    weights = np.array([node.weight for node in description.nodes])
    given = given._replace(node=np.argsort(np.argsort(weights, kind="stable"))[given.node].astype(np.int64))
    asks = len(engine.asks.chunks)
    waits = PbsWaits(
        *kept_columns(count, len(PBS_KEPT)),
        of_ask=np.zeros(asks, dtype=np.int64),
        ask_other=np.zeros(asks, dtype=np.int64),
        of_array=np.zeros(len(engine.running.of_array), dtype=np.int64),
        resource=_lacks_of(asked, engine.site.amounts.shape[1]),
        counts=np.zeros(1, dtype=np.int64),
    )
    waits.seconds[:, BEGIN_TIME] = np.maximum(np.minimum(given.left, arrival) - submit, 0)
    moments = np.zeros(0, dtype=np.int64) if moments is None else moments
    written = np.full((len(moments), count), UNSET, dtype=np.int8)
    _follow(replay, waits, given, (np.argsort(given.left, kind="stable"), moments, written), patience_s)
    return waits, written


def _lacks_of(asked: Sequence[PbsJob], count: int) -> IntArray:
    """Which of PBS_KEPT the lack of each resource is, in the order of the engine's columns, of which processors are the first."""
    codes = {"ncpus": CORES, "mem": MEMORY, "ngpus": GPUS}
    return np.array([codes.get(name, OTHER_RESOURCE) for name in resources_of(asked)[:count]], dtype=np.int64)


@referring
def _follow(replay, waits, given, leaving, patience):
    """Runs until the last job has left the queue. leaving: jobs in the order in which they do, moments, what keeps every job at them."""
    clock, engine = replay.clock, replay.engine
    queue, site = engine.waiting, engine.site
    order, moments, written = leaving
    place, moment = 0, 0
    while True:
        now = _next_change(replay, given, order, place)
        while moment < len(moments) and moments[moment] < now:
            for k in range(queue.length[0]):
                written[moment, queue.pending[k]] = waits.kept[queue.pending[k]]
            moment += 1
        if now >= FOREVER:
            return
        for k in range(queue.length[0]):
            settle_wait(waits, queue.pending[k], now, patience, PBS_CODES)
        _end_reservations(replay, given, now)
        while clock[ENDING] > 0 and given.end[replay.ending[clock[ENDING] - 1]] <= now:
            clock[ENDING] -= 1
            job = replay.ending[clock[ENDING]]
            replay.finished[job] = now
            end_pbs_job(engine, job)
        while clock[NEXT_SUBMIT] < len(replay.order):
            job = replay.order[clock[NEXT_SUBMIT]]
            if replay.arrival[job] > now:
                break
            clock[NEXT_SUBMIT] += 1
            queue.since[job] = now
            waits.since[job] = now
            join_pbs_queue(engine, job, 0)
        engine.tops.length[0] = 0
        engine.scratch.search[2] = now
        left = 0
        while place < len(order) and given.left[order[place]] <= now:
            _leave(replay, waits, given, order[place], now)
            left += 1
            place += 1
        if left > 0:
            _drop_left(queue, given, now)
        leave_windows(site, now)
        clock[LAST_PASS] = now
        if queue.length[0] > 0:
            look_at_pbs_queue(engine, waits, now)


@referring
def _end_reservations(replay, given, now):
    """Nodes of a reservation that is over stay with it for a while where a job was in it, and else are free."""
    clock, site, engine = replay.clock, replay.engine.site, replay.engine
    first, times = site.reservation_first, site.reservation_times
    for k in range(first[0], len(times)):
        if times[k, OVER] > now or replay.reservation_state[k] == ENDED:
            continue
        replay.reservation_state[k] = ENDED
        times[k, KEPT] = 0
        for entry in range(clock[ENDING]):
            job = replay.ending[entry]
            own = engine.asks.reservation[engine.jobs.ask[job]]
            if own == site.reservation_group[k] and given.end[job] >= times[k, OVER]:
                times[k, KEPT] = times[k, OVER] + KEPT_S
    while first[0] < len(times) and max(times[first[0], OVER], times[first[0], KEPT]) <= now:
        first[0] += 1
    move_ends(times, first[0], now)


@referring
def _next_change(replay, given, order, place):
    """The next second in which a job comes, starts or ends, hours or reservations begin or end, or PBS would look again."""
    clock, engine = replay.clock, replay.engine
    site, queue, settings = engine.site, engine.waiting, engine.settings
    now = FOREVER
    if clock[NEXT_SUBMIT] < len(replay.order):
        now = replay.arrival[replay.order[clock[NEXT_SUBMIT]]]
    if place < len(order):
        now = min(now, given.left[order[place]])
    if now >= FOREVER:
        return now
    if clock[ENDING] > 0:
        now = min(now, given.end[replay.ending[clock[ENDING] - 1]])
    if queue.length[0] == 0:
        return now
    last = clock[LAST_PASS]
    now = next_opening(site, last, now)
    for group in range(len(site.window_next)):
        row = site.window_next[group]
        if row < site.window_first[group + 1] and last < site.windows[row, 1] < now:
            now = site.windows[row, 1]
    for row in range(site.reservation_first[0], len(site.reservation_times)):
        times = site.reservation_times[row]
        if times[BEGINS] >= now:
            break
        if times[BEGINS] > last:
            now = times[BEGINS]
        for end in (times[OVER], times[KEPT]):
            if last < end < now:
                now = end
    if settings.fair_share > 0 or len(engine.formula.ops) > 0:
        now = min(now, max(last + settings.iteration, last + 1))
    return now


@referring
def _drop_left(queue, given, now):
    """Jobs that have started or were deleted leave the queue."""
    kept = 0
    for k in range(queue.length[0]):
        job = queue.pending[k]
        if given.left[job] > now:
            queue.pending[kept] = job
            kept += 1
    queue.length[0] = kept


@referring
def _leave(replay, waits, given, job, now):
    """A job stops to wait. One that starts takes its nodes, as PBS would lay it out there."""
    waits.kept[job] = UNSET
    if given.start[job] < 0:
        return
    engine = replay.engine
    asks, scratch = engine.asks, engine.scratch
    ask, first, last = engine.jobs.ask[job], given.first[job], given.first[job + 1]
    rows = find_known_nodes(engine, given, job, now)
    if rows == 0:
        waits.counts[0] += 1
        for row in range(asks.first[ask], asks.first[ask + 1]):
            for _ in range(asks.count[row]):
                scratch.node[rows] = given.node[first + rows % (last - first)] if last > first else 0
                scratch.chunk[rows] = row
                rows += 1
    start_pbs_job(engine, job, rows, now)
    note_pbs_end(replay, job)
