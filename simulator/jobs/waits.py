"""How long jobs wait for what keeps them, counted along a log under Slurm or PBS (`tracehouse why`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import referring

IntArray = NDArray[np.int64]
NOT_KEPT = np.int64(-1)
"""What keeps a job that does not wait, whom it is behind where it is behind nobody, and a second that has not come."""


class KeptCodes(NamedTuple):
    """Numbers of what keeps jobs, as a scheduler counts them. pace, unknown: nothing keeps the job, for a while, and longer than the
    scheduler takes."""

    limit: int
    pace: int
    unknown: int


_SevenColumns = tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]


def kept_columns(jobs: int, kinds: int) -> _SevenColumns:
    """Before anybody waits: seconds (jobs, kinds), kept, since, fits_since (jobs,), other, longest (jobs, 2) and slot (jobs,).

    kept: what keeps a job now. since: the second up to which its wait is counted. fits_since: from which nothing keeps it. other: the job
    that it is behind, with the seconds so far. longest: the one that it was behind longest at one go, and how long. slot: the limit that
    kept it last."""
    none = np.full(jobs, NOT_KEPT)
    behind_nobody = np.stack([none, np.zeros_like(none)], axis=1)
    seconds = np.zeros((jobs, kinds), dtype=np.int64)
    return seconds, none.copy(), none.copy(), none.copy(), behind_nobody, behind_nobody.copy(), none.copy()


@referring
def settle_wait(waits, job, now, patience, codes):
    """Counts a job's wait up to `now` for what keeps it. patience: seconds for which a job that fits waits for the scheduler's pace."""
    kept, since = waits.kept[job], waits.since[job]
    waits.since[job] = now
    if kept == codes.pace:
        until = min(max(waits.fits_since[job] + patience, since), now)
        waits.seconds[job, codes.pace] += until - since
        waits.seconds[job, codes.unknown] += now - until
    elif kept >= 0:
        waits.seconds[job, kept] += now - since
    if waits.other[job, 0] >= 0:
        waits.other[job, 1] += now - since
        if waits.other[job, 1] > waits.longest[job, 1]:
            waits.longest[job, 0] = waits.other[job, 0]
            waits.longest[job, 1] = waits.other[job, 1]


@referring
def keep_waiting(waits, job, kept, other, since, codes):
    """From now on this keeps the job. other: the job that it is behind, or the slot of the limit. since: from which second it fits, if
    nothing keeps it and did not before."""
    waits.kept[job] = kept
    if kept != codes.pace:
        waits.fits_since[job] = NOT_KEPT
    elif waits.fits_since[job] < 0:
        waits.fits_since[job] = since
    if kept == codes.limit:
        waits.slot[job] = other
        other = NOT_KEPT
    if waits.other[job, 0] != other:
        waits.other[job, 0] = other
        waits.other[job, 1] = 0
