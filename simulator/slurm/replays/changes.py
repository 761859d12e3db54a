"""Changes that make the backfill scheduler run. Rules: docs/reference/slurm.md, "When they run".

A cycle runs only if something has changed since the last one. Jobs are submitted, begin and end. Nodes, reservations and priorities
change. The controller drops the record of a job that ended long ago. A cycle also counts as a change itself if a job starts in it, if it
plans a job for idle nodes, or if it plans one for later than the limits of running jobs allow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import referring
from simulator.jobs.cluster import FOREVER
from simulator.slurm.clockwork import (
    ASLEEP,
    CYCLE_DUE,
    CYCLE_US,
    ENDED,
    FULL_DUE,
    LAST_CHANGE,
    MILLION,
    NEXT_EDGE,
    PURGED,
)
from simulator.slurm.state import Site


def edges_of(site: Site) -> NDArray[np.int64]:
    """Seconds at which reservations begin, with a one, or end and nodes come back, with a zero. Rows are in order."""
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
