"""The jobs that ran and the jobs that waited at any moment of a log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.predictor import LEVELS, QUANTILE_COLUMNS, FloatArray

IntArray = NDArray[np.int64]

NEVER_STARTED = 1 << 60
"""The start of a job that was cancelled while it waited, and the cancellation of one that was not."""


@dataclass(frozen=True)
class JobSet:
    """Jobs that run or wait, in order. All but the quantiles are int64 (jobs,).

    since: start or submission, second of the log's clock. request: requested time in seconds, below 1 where there is none. number: of
    the job in its `History`, -1 for one that is not in it. quantiles: of the predicted run time at LEVELS, seconds, float64 (jobs, 8).
    """

    since: IntArray
    procs: IntArray
    request: IntArray
    user: IntArray
    number: IntArray
    quantiles: FloatArray

    def __len__(self) -> int:
        return len(self.since)

    def with_job(self, since: int, procs: int, request: int, user: int, number: int, quantiles: FloatArray) -> JobSet:
        """The set with one more job at the end."""
        return JobSet(
            np.append(self.since, since),
            np.append(self.procs, procs),
            np.append(self.request, request),
            np.append(self.user, user),
            np.append(self.number, number),
            np.concatenate([self.quantiles, quantiles[None]]),
        )


@dataclass(frozen=True)
class State:
    """The machine at second `now` of the log's clock. waiting: in the order of submission."""

    now: int
    cluster_procs: int
    running: JobSet
    waiting: JobSet

    @property
    def busy_procs(self) -> int:
        """Processors in use."""
        return int(self.running.procs.sum())

    def with_job(self, procs: int, request: int, user: int) -> State:
        """The state with a hypothetical job submitted now, the last to wait. Its own run time delays no job before it."""
        quantiles = np.full(len(LEVELS), float(max(request, 1)))
        waiting = self.waiting.with_job(self.now, procs, request, user, -1, quantiles)
        return State(self.now, self.cluster_procs, self.running, waiting)


@dataclass(frozen=True)
class History:
    """All jobs of a source in order of submission, int64 (jobs,), times in seconds of the log's clock.

    start: NEVER_STARTED for a job that was cancelled while it waited. leaves: when the job left the queue. end: when it left the
    machine."""

    cluster_procs: int
    job_index: IntArray
    submit: IntArray
    start: IntArray
    leaves: IntArray
    end: IntArray
    procs: IntArray
    request: IntArray
    user: IntArray
    quantiles: FloatArray

    def __len__(self) -> int:
        return len(self.submit)

    def wait(self, numbers: IntArray) -> IntArray:
        """Seconds from submission to start of jobs that started, int64 (numbers,)."""
        return self.start[numbers] - self.submit[numbers]

    def class_of(self, procs: int | IntArray, request: int | IntArray) -> IntArray:
        """Class of size (serial, up to a sixteenth of the cluster, up to a quarter, larger) and of requested time (none, up to 10
        minutes, an hour, eight hours, more)."""
        size = np.searchsorted([1, max(1, self.cluster_procs / 16), max(1, self.cluster_procs / 4)], procs)
        return 5 * size + np.searchsorted([1, 600, 3600, 28_800], request, side="right")

    @cached_property
    def latest_end(self) -> IntArray:
        """The latest end of this job and all before it."""
        return np.maximum.accumulate(self.end)

    @cached_property
    def starts_by_class(self) -> dict[int, IntArray]:
        """Numbers of the jobs of each class (see `class_of`) that started, by start."""
        return self._by(self.class_of(self.procs, self.request))

    @cached_property
    def starts_by_user(self) -> dict[int, IntArray]:
        """Numbers of the jobs of each user that started, by start."""
        return self._by(self.user)

    @cached_property
    def starts(self) -> IntArray:
        """Numbers of the jobs that started, by start."""
        return self._by(np.zeros(len(self), dtype=np.int64))[0]

    def _by(self, group: IntArray) -> dict[int, IntArray]:
        order = np.lexsort((np.arange(len(self)), self.start, group))
        order = order[self.start[order] < NEVER_STARTED]
        keys, first = np.unique(group[order], return_index=True)
        return dict(zip(keys.tolist(), np.split(order, first[1:]), strict=True))

    def last_started(self, among: IntArray | None, moment: int, most: int) -> IntArray:
        """The last `most` of jobs (numbers by start) that had started by a moment."""
        if among is None:
            return np.zeros(0, dtype=np.int64)
        count = int(np.searchsorted(self.start[among], moment, side="right"))
        return among[max(0, count - most) : count]

    def job_set(self, numbers: IntArray, since: IntArray) -> JobSet:
        """These jobs as they run or wait. since: start or submission, int64 (numbers,)."""
        return JobSet(
            since, self.procs[numbers], self.request[numbers], self.user[numbers], numbers, self.quantiles[numbers]
        )


def history_of(rows: pl.DataFrame, cluster_procs: int) -> History:
    """The history of these jobs. A job whose start the log does not have is left out, because its wait is unknown.

    rows: in order of submission, job_index, submit_s, start_s, cancel_s, runtime_s, procs, requested_walltime_s, user_number and
    QUANTILE_COLUMNS."""
    rows = rows.filter(pl.col("start_s").is_not_null() | pl.col("cancel_s").is_not_null())
    start = rows["start_s"].fill_null(NEVER_STARTED).to_numpy()
    cancel = rows["cancel_s"].fill_null(NEVER_STARTED).to_numpy()
    leaves = np.minimum(start, cancel)
    end = np.where(start < NEVER_STARTED, start + rows["runtime_s"].to_numpy(), leaves)
    return History(
        cluster_procs,
        rows["job_index"].to_numpy(),
        rows["submit_s"].to_numpy(),
        start,
        leaves,
        end,
        rows["procs"].to_numpy(),
        rows["requested_walltime_s"].to_numpy(),
        rows["user_number"].to_numpy(),
        rows.select(QUANTILE_COLUMNS).to_numpy().astype(np.float64),
    )


def state_at(history: History, moment: int, before: int | None = None) -> State:
    """Who runs and who waits at a moment. before: only jobs with a smaller number. By default all jobs submitted by then."""
    last = int(np.searchsorted(history.submit, moment, side="right")) if before is None else before
    first = min(int(np.searchsorted(history.latest_end[:last], moment, side="right")), last)
    numbers = np.arange(first, last)
    waits = numbers[history.leaves[numbers] > moment]
    runs = numbers[(history.start[numbers] <= moment) & (history.end[numbers] > moment)]
    running = history.job_set(runs, history.start[runs])
    return State(moment, history.cluster_procs, running, history.job_set(waits, history.submit[waits]))


def submission_state(history: History, number: int) -> State:
    """The state in which a job of the log was submitted, with this job the last that waits."""
    state = state_at(history, int(history.submit[number]), before=number)
    job = history.job_set(np.array([number]), history.submit[[number]])
    waiting = state.waiting.with_job(
        int(job.since[0]), int(job.procs[0]), int(job.request[0]), int(job.user[0]), number, job.quantiles[0]
    )
    return State(state.now, state.cluster_procs, state.running, waiting)
