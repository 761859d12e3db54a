"""A schedule: the outcome of a replay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Schedule:
    """start: start time of each job, seconds in the log's clock, int64 (num_jobs,).

    backfilled: True where the job started past a blocked head, bool (num_jobs,).
    """

    start: NDArray[np.int64]
    backfilled: NDArray[np.bool_]
