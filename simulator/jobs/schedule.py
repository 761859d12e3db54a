"""A schedule: the outcome of a replay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CANCELLED = -1
"""`start` of a job that was cancelled while it waited."""


@dataclass(frozen=True)
class Schedule:
    """start: start time of each job, seconds in the log's clock, or CANCELLED, int64 (num_jobs,).

    backfilled: True where the job started while one ahead of it in the queue stayed waiting, bool (num_jobs,).
    """

    start: NDArray[np.int64]
    backfilled: NDArray[np.bool_]

    @property
    def started(self) -> NDArray[np.bool_]:
        """True for every job that was not cancelled, bool (num_jobs,)."""
        return self.start != CANCELLED
