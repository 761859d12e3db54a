"""Logs of people who wait for their jobs, whatever user names these have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.followers import LATER_S, NO_JOB

IntArray = NDArray[np.int64]


def log_of_people(
    seed: int, people: int = 20, jobs: int = 60, share: float = 1.0, days: int = 20
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Submissions, ends, the person of each job, and the job that it follows. Each day a person submits jobs, one some minutes after the
    end of the other, or at any time of the day."""
    random = np.random.default_rng(seed)
    rows: list[tuple[int, int, int, int]] = []
    for person in range(people):
        last = NO_JOB
        for _ in range(jobs):
            follows = last != NO_JOB and random.random() < share and rows[last][1] % LATER_S < 15 * 3600
            own = random.integers(1, days) * LATER_S + random.integers(7 * 3600, 12 * 3600)
            submit = rows[last][1] + random.integers(1, 900) if follows else own
            rows.append((int(submit), int(submit + random.integers(600, 7200)), person, last if follows else NO_JOB))
            last = len(rows) - 1
    submit, end, person, after = np.array(rows).T
    order = np.argsort(submit, kind="stable")
    place = np.argsort(order)
    after = np.where(after == NO_JOB, NO_JOB, place[after])[order]
    return submit[order], end[order], person[order], after


def arrays_before(after: np.ndarray, is_task: np.ndarray) -> np.ndarray:
    """Numbers of arrays of up to three neighbours, -1 for other jobs. is_task: whether each job may be one. No job follows an array of
    which it is a part, or which has later tasks."""
    group = np.arange(len(after)) // 3
    own = group[(after >= 0) & (after // 3 == group)]
    return np.where(is_task & ~np.isin(group, own), group, -1)
