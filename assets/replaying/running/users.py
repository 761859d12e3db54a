"""Users who keep their pace: which jobs of a log follow another one, for replays in which they are submitted after its end, and for how
long each is waited for before it is cancelled.

Rules: docs/reference/semantics/followers.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import NEVER, Jobs

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class UsersPace:
    """job: job_index, ascending. after: job_index of the one that it follows, NO_JOB for none. think_s: seconds after its end. patience_s:
    seconds after its submission at which it is cancelled if it waits then, NEVER for none. All int64 (jobs,). lines: how many lines of
    jobs there are, within which jobs follow each other: of users, or of their accounts or executables. array: number of the array that a
    task is of, NO_JOB for other jobs."""

    job: IntArray
    after: IntArray
    think_s: IntArray
    patience_s: IntArray
    lines: int
    array: IntArray

    @property
    def share(self) -> float:
        """The share of the jobs that follow another."""
        return float((self.after != NO_JOB).mean()) if len(self.job) else 0.0

    @property
    def reacting(self) -> float:
        """The share of the jobs that follow another, or would be cancelled after some wait."""
        return float(((self.after != NO_JOB) | (self.patience_s < NEVER)).mean()) if len(self.job) else 0.0

    def closed(self, jobs: Jobs, rows: pl.DataFrame) -> Jobs:
        """The jobs of some rows of the trace, of which those follow another that do so in the log, and which are cancelled when patience is
        over. rows: of the jobs, in their order. A job whose predecessor is not among them comes at its own time. One that was cancelled in
        the log has its own patience."""
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
        patience = np.where(is_row_of, self.patience_s[row_of], NEVER)
        gives_up = (jobs.cancel == NEVER) & (patience < NEVER)
        return replace(
            jobs,
            after=after,
            think=np.where(after != NO_JOB, self.think_s[row_of], 0),
            array=np.where(is_row_of, self.array[row_of], NO_JOB),
            cancel=np.where(gives_up, jobs.submit + patience, jobs.cancel),
        )
