"""How much of the waiting passed while enough processors for the job were idle. What held these jobs back, no count of processors tells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def waited_with_room_s(
    submit: IntArray, start: IntArray, runtime: IntArray, procs: IntArray, cluster_procs: int
) -> IntArray:
    """Seconds of each job's wait in which at least as many processors were idle as the job takes, int64 (jobs,).

    All arrays are int64 (jobs,), times in seconds. cluster_procs: processors of the cluster. Those that none of these jobs uses are idle.
    A job that does not wait has 0.
    """
    moments = np.concatenate([start, start + runtime])
    order = np.argsort(moments, kind="stable")
    moments = moments[order]
    idle = cluster_procs - np.cumsum(np.concatenate([procs, -procs])[order])
    lasts = np.diff(moments, append=moments[-1:])
    seconds = np.zeros(len(submit), dtype=np.int64)
    for width in np.unique(procs[start > submit]).tolist():
        has_room = idle >= width
        before = np.concatenate([[0], np.cumsum(np.where(has_room, lasts, 0))])  # seconds with room before each moment
        of_width = (procs == width) & (start > submit)
        ends = [
            _until(moment[of_width], moments, has_room, before, width <= cluster_procs) for moment in (submit, start)
        ]
        seconds[of_width] = ends[1] - ends[0]
    return seconds


def _until(
    when: IntArray, moments: IntArray, has_room: NDArray[np.bool_], before: IntArray, has_room_at_first: bool
) -> IntArray:
    """Seconds with room from the first of the moments until `when`; negative before it, where all processors are idle."""
    last = np.searchsorted(moments, when, side="right") - 1
    since = when - moments[np.maximum(last, 0)]
    return np.where(
        last < 0, since * has_room_at_first, before[np.maximum(last, 0)] + since * has_room[np.maximum(last, 0)]
    )
