"""The jobs that ran and the jobs that waited at any moment of a log.

A source in the form that questions about waits need: its history, its users and job numbers, and its clock.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.predictor import LEVELS, QUANTILE_COLUMNS, FloatArray
from models.waits.clock import LogClock

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

    def only(self, which: IntArray | NDArray[np.bool_]) -> JobSet:
        """Some of the jobs, in their order."""
        return JobSet(*(getattr(self, each.name)[which] for each in fields(self)))

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

    def with_job(self, procs: int, request: int, user: int, number: int = -1) -> State:
        """The state with a hypothetical job submitted now, the last to wait. Its own run time delays no job before it."""
        quantiles = np.full(len(LEVELS), float(max(request, 1)))
        waiting = self.waiting.with_job(self.now, procs, request, user, number, quantiles)
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


def history_of(rows: pl.DataFrame, cluster_procs: int, whole: bool = True) -> History:
    """The history of these jobs. A job whose start the log does not have is left out, because its wait is unknown, unless the rows are not
    whole, but of jobs that run or wait still.

    rows: in order of submission, job_index, submit_s, start_s, cancel_s, runtime_s, procs, requested_walltime_s, user_number and
    QUANTILE_COLUMNS."""
    if whole:
        rows = rows.filter(pl.col("start_s").is_not_null() | pl.col("cancel_s").is_not_null())
    start = rows["start_s"].fill_null(NEVER_STARTED).to_numpy()
    cancel = rows["cancel_s"].fill_null(NEVER_STARTED).to_numpy()
    leaves = np.minimum(start, cancel)
    end = (
        np.where(start < NEVER_STARTED, start + rows["runtime_s"].to_numpy(), leaves)
        if whole
        else np.full(len(start), NEVER_STARTED)
    )
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


def joined_histories(first: History, second: History) -> tuple[History, IntArray]:
    """The jobs of both in order of submission, and of each its place among those of the first and then of the second."""
    columns = [
        np.concatenate([getattr(first, each.name), getattr(second, each.name)])
        for each in fields(History)
        if each.name != "cluster_procs"
    ]
    order = np.argsort(columns[1], kind="stable")
    return History(first.cluster_procs, *(column[order] for column in columns)), order


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


# --- source


USERS_NAMED = 5
"""Users that an error names."""
GROWING = timedelta(days=2)
"""A log whose last submission is not older than this still grows, and its end is now."""


@dataclass(frozen=True)
class WaitSource:
    """rows: jobs in order of submission, with job_index, job_id, user_name and user_number. clock: how its times are written. basis: where
    run times come from, in words, None for those of a model."""

    name: str
    rows: pl.DataFrame
    history: History
    clock: LogClock
    basis: str | None = None

    def user_number(self, user: str) -> int:
        """The number of a user in the history. Raises ValueError for one that never submitted a job that ran."""
        return user_number_in(self.rows, self.name, user)

    def job_number(self, job_id: str, moment: int) -> int:
        """The number of the job of this id that waits at a moment. If ids repeat, of the last one submitted. Raises ValueError."""
        rows = self.rows.filter(pl.col("job_id") == job_id)
        numbers = np.flatnonzero(np.isin(self.history.job_index, rows["job_index"].to_numpy()))
        numbers = numbers[self.history.submit[numbers] <= moment]
        if not len(numbers):
            raise ValueError(f"source {self.name!r}: no job {job_id!r} had been submitted by {self.clock.full(moment)}")
        number = int(numbers[-1])
        if self.history.leaves[number] <= moment:
            left = int(self.history.leaves[number])
            how = "started" if self.history.start[number] <= moment else "was cancelled"
            raise ValueError(
                f"source {self.name!r}: job {job_id!r} does not wait at {self.clock.text(moment)}, because it {how} at "
                f"{self.clock.full(left)}. Give an earlier --at, or leave --job out for a new job"
            )
        return number

    @property
    def span(self) -> tuple[int, int]:
        """First submission and last end in the log, seconds of its clock."""
        return int(self.history.submit[0]), int(self.history.latest_end[-1])

    def usual_moment(self, now: datetime, seed: int) -> tuple[int, str]:
        """The second of the log's clock that a question is about where the user names none, and why, in words.

        For a log that grows, it is the last submission: the latest moment at which the log says who runs and who waits. The end of another
        log is not a typical moment, so a submission of its second half that met a queue is drawn. now: the present, with its zone.
        """
        submit = self.history.submit
        last = int(submit[-1])
        if self.clock.has_dates:
            age = now.astimezone(UTC).replace(tzinfo=None) - self.clock.zero - timedelta(seconds=last)
            if timedelta(0) <= age <= GROWING:
                return last, "the last submission in the warehouse"
        waiting = np.arange(len(submit)) - np.searchsorted(np.sort(self.history.leaves), submit, side="right")
        busy = np.flatnonzero(waiting > 0)
        if not len(busy):
            return last, "the last submission: nobody waits in this log"
        later = busy[busy >= len(submit) // 2]
        drawn = np.random.default_rng(seed).choice(later if len(later) else busy)
        return int(submit[drawn]), f"a busy moment, drawn with seed {seed}"

    def moment_of_job(self, job_id: str) -> tuple[int, str]:
        """The moment that a question about a job is about where the user names none, and why. It is the last submission if the job waits
        then, else the job's own submission. Raises ValueError for a job that is not in the log."""
        last = int(self.history.submit[-1])
        rows = self.rows.filter(pl.col("job_id") == job_id)
        numbers = np.flatnonzero(np.isin(self.history.job_index, rows["job_index"].to_numpy()))
        if not len(numbers) or self.history.leaves[numbers[-1]] > last:
            return last, "the last submission in the warehouse"
        return int(self.history.submit[numbers[-1]]), "its submission"

    def moment(self, text: str) -> int:
        """The second of the log's clock that a user means: a second, or local time of the cluster in ISO form. Raises ValueError outside
        the log."""
        first, last = self.span
        is_second = text.strip().isdigit()
        moment = int(text) if is_second else self._second_of(text)
        if not first <= moment <= last:
            span = self.clock.span(first, last, in_seconds=is_second)
            raise ValueError(f"time {text!r} is outside the log of {self.name!r}, which has {span}")
        return moment

    def _second_of(self, text: str) -> int:
        """The second of the log's clock of a local time in ISO form. Raises ValueError."""
        try:
            local = datetime.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(
                f"time {text!r}: expected local time of the cluster such as 2004-03-01 or '2004-03-01 08:00', or a second of "
                "the log's own clock"
            ) from None
        second = self.clock.second_of(local)
        if second is None:
            first, last = self.span
            raise ValueError(
                f"time {text!r}: the log of {self.name!r} does not say which day it began: give a second of its own "
                f"clock, {first} to {last}"
            )
        return second


def user_number_in(rows: pl.DataFrame, source: str, user: str) -> int:
    """The user_number of a user_name among jobs. Raises ValueError, with users that are there, for a name that is not."""
    numbers = rows.filter(pl.col("user_name") == user)["user_number"]
    if numbers.is_empty():
        names = rows["user_name"].drop_nulls().value_counts(sort=True)["user_name"].head(USERS_NAMED).to_list()
        if not names:
            raise ValueError(
                f"source {source!r}: the log does not name the users of its jobs, so there is no user {user!r}"
            )
        raise ValueError(
            f"source {source!r} has no job of user {user!r} that ran: most are of {', '.join(names)}. `tracehouse who {source} --by user` "
            "lists users, and `tracehouse pseudonym user NAME` prints what a name has become"
        )
    return int(numbers[0])
