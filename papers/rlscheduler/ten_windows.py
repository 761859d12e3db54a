"""The ten windows of RLScheduler's tables, and what is left to learn from."""

import numpy as np

from models.scheduling.arena import Windows
from models.scheduling.learning.training_run import Split

PUBLISHED_WINDOWS = (1981, 2714, 2756, 3316, 4022, 4299, 5228, 7085, 7762, 8850)
PUBLISHED_JOBS, PUBLISHED_LENGTH = 10_000, 1024
"""The ten windows of RLScheduler's tables: seed 1 of its own random numbers, of the first 10,000 jobs of a trace."""
CHOOSING_WINDOWS = 100
PUBLISHED_HEURISTICS = ("FCFS", "WFP3", "UNICEP", "SJF", "F1", "SAF")


def published_split(trace_jobs: int, window_jobs: int, seen: bool = False) -> Split:
    """Everything but the ten windows, which judge.

    Policies learn from what lies before and between them, and from later jobs where there are any. Windows of the same parts, at
    other places, choose. seen: all of the first 10,000 jobs instead, for both.
    """
    ten = Windows(np.array(PUBLISHED_WINDOWS, dtype=np.int64), PUBLISHED_LENGTH)
    if seen:
        learn = Windows(np.arange(0, PUBLISHED_JOBS - window_jobs + 1, dtype=np.int64), window_jobs)
        return Split(learn, learn.thinned(CHOOSING_WINDOWS), None, ten, PUBLISHED_JOBS)

    first = np.arange(0, trace_jobs - window_jobs + 1, dtype=np.int64)
    taken = np.zeros(trace_jobs, dtype=np.bool_)
    for start in PUBLISHED_WINDOWS:
        taken[start : start + PUBLISHED_LENGTH] = True
    before = np.concatenate(([0], np.cumsum(taken)))
    free = first[before[first + window_jobs] == before[first]]
    blocks = (free // (2 * window_jobs)) % 4 == 3  # every fourth block chooses
    inside = ((free + window_jobs - 1) // (2 * window_jobs)) == free // (2 * window_jobs)
    choose, learn = free[blocks & inside], free[~blocks & inside]
    return Split(
        Windows(learn, window_jobs), Windows(choose, window_jobs).thinned(CHOOSING_WINDOWS), None, ten, trace_jobs
    )
