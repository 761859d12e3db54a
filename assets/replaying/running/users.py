"""Users who keep their pace: which jobs of a log follow another one of their user, for replays in which they are submitted after its end.

Rules: docs/reference/semantics/followers.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import Jobs

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class UsersPace:
    """job: job_index, ascending. after: job_index of the one that it follows, NO_JOB for none. think_s: seconds after its end. All int64
    (jobs,). users: how many there are."""

    job: IntArray
    after: IntArray
    think_s: IntArray
    users: int

    @property
    def share(self) -> float:
        """The share of the jobs that follow another."""
        return float((self.after != NO_JOB).mean()) if len(self.job) else 0.0

    def closed(self, jobs: Jobs, rows: pl.DataFrame) -> Jobs:
        """The jobs of some rows of the trace, of which those follow another that do so in the log. rows: of the jobs, in their order. A job
        whose predecessor is not among them comes at its own time."""
        index = rows["job_index"].to_numpy()
        places = dict(zip(index.tolist(), range(len(index)), strict=True))
        row_of = np.searchsorted(self.job, index)
        row_of[row_of == len(self.job)] = 0
        is_row_of = self.job[row_of] == index
        after = np.array(
            [
                places.get(other, NO_JOB) if is_in and other != NO_JOB else NO_JOB
                for other, is_in in zip(self.after[row_of].tolist(), is_row_of.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        return replace(jobs, after=after, think=np.where(after != NO_JOB, self.think_s[row_of], 0))
