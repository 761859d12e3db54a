"""Changes that make the backfill scheduler run. Rules: docs/reference/slurm.md, "When they run".

A cycle runs only if something has changed since the last one. A job has been submitted, has begun or ended, a node or a reservation has
changed, or priorities have been recomputed. Or the controller has dropped the record of a job that ended long ago. A cycle also counts as a
change itself if a job starts in it, if it plans a job for idle nodes, or if it plans one for later than the limits of running jobs allow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import referring
from simulator.jobs.cluster import FOREVER
from simulator.slurm.clockwork import (
    ASLEEP,
    BATCH_DUE,
    CYCLE_DUE,
    CYCLE_US,
    ENDED,
    ENDING,
    FULL_DUE,
    LAST_CHANGE,
    LAST_EVENT,
    MILLION,
    NEXT_EDGE,
    NEXT_SUBMIT,
    NODES_FREED,
    PENDING,
    PURGED,
)
from simulator.slurm.state import SlurmSite


def edges_of(site: SlurmSite) -> NDArray[np.int64]:
    """Seconds at which reservations begin, marked with 1, or end and nodes come back, int64 (edges, 2), in order."""
    begins, ends = site.reservation_times[:, 0], np.concatenate([site.reservation_times[:, 1], site.absences[:, 1]])
    edges = np.array([*((second, 1) for second in begins), *((second, 0) for second in ends)], dtype=np.int64)
    edges = edges.reshape(-1, 2)
    return np.unique(edges[edges[:, 0] < FOREVER], axis=0)


@referring
def wake(replay, now):
    """Something has changed. If backfill waits for that, its next cycle begins within a second, but not before its interval is over.

    It looks once a second, and the change is taken to be in the middle of its second.
    """
    clock = replay.clock
    clock[LAST_CHANGE] = now
    if clock[ASLEEP] > 0:
        clock[ASLEEP] = 0
        clock[CYCLE_DUE] = max(clock[CYCLE_DUE], now + int(2 * clock[CYCLE_US] < MILLION))


@referring
def note_ended(replay, now):
    """A job has ended, and its record is kept for a while."""
    clock = replay.clock
    replay.ended[clock[ENDED]] = now
    clock[ENDED] += 1


@referring
def whole_steps(late, step):
    """The seconds to add so that a rhythm is not late."""
    return (late + step - 1) // step * step if late > 0 else 0


@referring
def purge_due(replay):
    """The pass over the full queue with which the next records go, FOREVER where none are left."""
    clock, settings = replay.clock, replay.engine.site.settings
    if clock[PURGED] == clock[ENDED]:
        return np.int64(FOREVER)
    late = replay.ended[clock[PURGED]] + settings.min_age - clock[FULL_DUE]
    return clock[FULL_DUE] + whole_steps(late, settings.full_interval)


@referring
def purge_ended(replay, now):
    """Drops the records that have been kept for long enough, which is a change."""
    clock, before = replay.clock, replay.clock[PURGED]
    while clock[PURGED] < clock[ENDED] and replay.ended[clock[PURGED]] + replay.engine.site.settings.min_age <= now:
        clock[PURGED] += 1
    if clock[PURGED] > before:
        wake(replay, now)


@referring
def pass_edges(replay, now):
    """Reservations begin or end, and nodes come back. Returns how many reservations begin, after which the main scheduler runs."""
    clock, begin = replay.clock, 0
    while clock[NEXT_EDGE] < len(replay.edges) and replay.edges[clock[NEXT_EDGE], 0] <= now:
        begin += replay.edges[clock[NEXT_EDGE], 1]
        clock[NEXT_EDGE] += 1
        wake(replay, now)
    return begin


@referring
def runs_scheduler(clock, now):
    """Whether the main scheduler or a backfill cycle runs at this second."""
    is_due = clock[FULL_DUE] <= now or clock[BATCH_DUE] <= now or clock[NODES_FREED] > 0
    return is_due or (clock[CYCLE_DUE] <= now and clock[ASLEEP] == 0)


@referring
def next_run(clock):
    """When the full queue is looked at next, or a cycle begins."""
    return clock[FULL_DUE] if clock[ASLEEP] > 0 else min(clock[FULL_DUE], clock[CYCLE_DUE])


@referring
def may_start_later(replay):
    """When nothing runs and nobody comes: whether a waiting job is kept by a time to come, or the schedulers have yet to run twice."""
    site, jobs, clock = replay.engine.site, replay.engine.jobs, replay.clock
    now = next_run(clock)
    if now < clock[LAST_EVENT] + 2 * max(site.settings.full_interval, site.settings.interval):
        return True
    for times in (site.reservation_times, site.absences):
        for k in range(len(times)):
            if clock[LAST_EVENT] <= times[k, 1] < FOREVER:
                clock[LAST_EVENT] = min(now, times[k, 1] + 1)
                return True
    for k in range(clock[PENDING]):
        if jobs.begin[replay.pending[k, 0]] >= clock[LAST_EVENT]:
            clock[LAST_EVENT] = min(now, jobs.begin[replay.pending[k, 0]] + 1)
            return True
    return False


@referring
def tests_before_break(replay, now):
    """Jobs that a cycle can test. It lets go of its locks at intervals, and without bf_continue it ends there once a job has been submitted
    or has ended."""
    clock, settings = replay.clock, replay.engine.site.settings
    if settings.continues > 0 or replay.test_us <= 0:
        return FOREVER
    change = now + settings.most_seconds
    if clock[NEXT_SUBMIT] < len(replay.order):
        change = min(change, replay.engine.jobs.submit[replay.order[clock[NEXT_SUBMIT]]])
    if clock[ENDING] > 0:
        job = replay.ending[clock[ENDING] - 1]
        change = min(change, replay.engine.running.start[job] + replay.runtime[job])
    spells = (change - now) * MILLION // (settings.yield_us + settings.sleep_us) + 1
    return max(spells * settings.yield_us // replay.test_us, 1)
